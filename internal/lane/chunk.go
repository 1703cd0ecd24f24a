package lane

import "github.com/laneway-go/laneway/dedupe"

// ChunkID names the done bits of [dedupe.ChunkSize] neighbouring offsets of one generation (R39).
type ChunkID struct {
	Index int64 // offset / ChunkSize
	Gen   Gen
}

// chunk is the memory of one chunk: a bit a record.
type chunk struct {
	id    ChunkID
	at    int64       // ms; of the newest mark
	bits  dedupe.Bits // durable: scanned, or acknowledged
	write *chunkWrite // nil while nothing waits
}

// chunkWrite is what happens to a chunk that has news. One write is in flight at a time; what finishes meanwhile goes with the
// next one.
type chunkWrite struct {
	waiting  []int32 // entries whose bit is in no write yet
	carried  []int32 // entries whose bit is in the write in flight
	sent     dedupe.Bits
	seq      uint32
	began    int64 // ms; of the last write
	awaited  int   // waiting records with another one of their key behind them
	fails    int
	inFlight bool
	dirty    bool // listed in marks.dirty
}

// setBit notes that a record is done; its bit goes with the next write of its chunk.
func (m *Machine) setBit(i int32) {
	e := &m.entries[i]
	n := m.marks.chunkFor(ChunkID{Index: e.origin / dedupe.ChunkSize, Gen: e.gen})
	c := &m.marks.chunks[n]
	if c.write == nil {
		c.write = m.marks.spareWrite()
	}
	c.write.waiting = append(c.write.waiting, i)
	if e.next != none {
		c.write.awaited++
	}
	m.marks.markDirty(n)
}

// flushChunks writes every chunk that has waiting bits, no write in flight, and no reason to wait for more bits.
func (m *Machine) flushChunks() {
	if len(m.marks.dirty) == 0 || m.renewal || m.gone {
		return
	}
	kept := m.marks.dirty[:0]
	for _, n := range m.marks.dirty {
		w := m.marks.chunks[n].write
		if at := m.nextWrite(w); !w.inFlight && at > m.now {
			m.timers.push(timer{at: at, what: makeRef(n|chunkBit, w.seq)})
			kept = append(kept, n)
			continue
		}
		w.dirty = false
		if !w.inFlight && len(w.waiting) > 0 {
			m.sendChunk(n)
		}
	}
	m.marks.dirty = kept
}

// nextWrite returns when the next write of a chunk may begin: once in every MarkPause, and all lanes of a process at the same
// instants, so that their writes share requests. Waiting saves the broker work; where records stand behind those that wait for
// their bit, it costs the time of their keys.
func (m *Machine) nextWrite(w *chunkWrite) int64 {
	pause := m.cfg.MarkPause
	if pause == 0 || m.phase != Running || 8*w.awaited >= len(w.waiting) {
		return 0
	}
	return (w.began/pause + 1) * pause
}

// sendChunk issues the write of a chunk: all bits that are durable, and all that wait. The one after a failure carries what
// has finished meanwhile, too.
func (m *Machine) sendChunk(n int32) {
	c := &m.marks.chunks[n]
	w := c.write
	w.sent = c.bits
	w.carried = append(w.carried, w.waiting...)
	w.waiting, w.awaited = w.waiting[:0], 0
	w.began = m.now
	for _, i := range w.carried {
		w.sent.Set(int(m.entries[i].origin % dedupe.ChunkSize))
	}
	w.inFlight = true
	w.seq++
	m.out.Writes = append(m.out.Writes, Write{
		Token: makeRef(n|chunkBit, w.seq), Kind: ChunkMark, Chunk: c.id, Bits: w.sent, Tenure: m.tenure,
	})
}

// chunkAcked settles exactly what the write carried.
func (m *Machine) chunkAcked(n int32, seq uint32) {
	c := &m.marks.chunks[n]
	w := c.write
	if w == nil || !w.inFlight || w.seq != seq {
		return
	}
	w.inFlight, w.fails = false, 0
	c.bits.Or(&w.sent)
	c.at = m.now
	m.touchEntries(w.carried)
	for _, i := range w.carried {
		m.count.Done++
		m.forgetClaims(i)
		m.acquit(m.entries[i].id())
		m.finish(i)
	}
	w.carried = w.carried[:0]
	if len(w.waiting) > 0 {
		m.marks.markDirty(n)
		return
	}
	if !w.dirty {
		m.marks.retire(c)
	}
}

func (m *Machine) chunkFailed(n int32, seq uint32) {
	w := m.marks.chunks[n].write
	if w == nil || !w.inFlight || w.seq != seq {
		return
	}
	w.fails++
	m.timers.push(timer{at: m.now + backoff(w.fails), what: makeRef(n|chunkBit, seq)})
}

// retryHeld repeats a failed write that had to wait for a new tenure number.
func (m *Machine) retryHeld(n int32) {
	if w := m.marks.chunks[n].write; w != nil {
		m.retryChunk(n, w.seq)
	}
}

// retryChunk repeats the write with a number, which failed (R17): nothing else of the chunk was in flight meanwhile. A timer of
// an earlier write changes nothing.
func (m *Machine) retryChunk(n int32, seq uint32) {
	if w := m.marks.chunks[n].write; w == nil || !w.inFlight || w.fails == 0 || w.seq != seq || m.gone {
		return
	}
	if m.renewal {
		m.held = append(m.held, n|chunkBit)
		return
	}
	m.sendChunk(n)
}
