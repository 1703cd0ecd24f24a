package lane

import "github.com/laneway-go/laneway/dedupe"

// marks is what the lane knows of finished work: the idempotency partition as it was scanned, and what was acknowledged since.
type marks struct {
	mode    Mode
	chunks  []chunk
	chunkOf map[ChunkID]int32
	last    int32   // the chunk that was asked for last, of records that are read
	lastSet int32   // the same of records that are done, which lie some chunks behind
	dirty   []int32 // chunks with waiting bits, in the order in which they got them
	spare   []*chunkWrite
	free    []int32 // chunks that were forgotten

	table  *dedupe.Table     // done marks of user-given keys
	runs   map[doneKey]int64 // done marks of replays with the default key, by origin: ms
	own    map[ID]struct{}   // identities with run ≥ 1 that have a done mark of their own
	dead   map[ID]Reason     // terminal marks
	claims map[dedupe.Hash][]claim
	later  map[doneKey]uint32 // greatest run of an origin that was seen
}

type doneKey struct {
	offset int64
	gen    Gen
}

func (k *marks) init(cfg Config) {
	k.mode = cfg.Mode
	k.chunkOf = map[ChunkID]int32{}
	k.last, k.lastSet = none, none
	k.runs, k.own, k.dead, k.later = map[doneKey]int64{}, map[ID]struct{}{}, map[ID]Reason{}, map[doneKey]uint32{}
	k.claims = map[dedupe.Hash][]claim{}
	if cfg.UserKeys && cfg.Mode != Off {
		k.table = &dedupe.Table{}
	}
}

type verdict uint8

const (
	isFresh verdict = iota
	isGhost
	isDuplicate
)

// verdict says what the marks say of an identity (R2, R3).
func (k *marks) verdict(m *Machine, id ID, x dedupe.Hash, userKey, force bool) verdict {
	if len(k.dead) > 0 {
		if _, ok := k.dead[id]; ok {
			return isGhost
		}
	}
	if k.mode == Off || !k.isDone(id, x, userKey) {
		return isFresh
	}
	if force {
		if _, ok := k.own[id]; !ok {
			return isFresh // R3: force overrides the marks of other identities
		}
	}
	if m.finished.has(id) {
		return isGhost
	}
	return isDuplicate
}

// isDone says whether an idempotency key has a durable done mark of any identity.
func (k *marks) isDone(id ID, x dedupe.Hash, userKey bool) bool {
	if userKey {
		return k.table.Has(x)
	}
	if n := k.findChunk(ChunkID{Index: id.Offset / dedupe.ChunkSize, Gen: id.Gen}); n != none &&
		k.chunks[n].bits.Has(int(id.Offset%dedupe.ChunkSize)) {
		return true
	}
	if len(k.runs) == 0 {
		return false
	}
	_, ok := k.runs[doneKey{id.Offset, id.Gen}]
	return ok
}

func (k *marks) findChunk(id ChunkID) int32 {
	if k.last != none && k.chunks[k.last].id == id {
		return k.last
	}
	n, ok := k.chunkOf[id]
	if !ok {
		return none
	}
	k.last = n
	return n
}

// chunkFor returns the chunk of an id, a new one if there is none.
func (k *marks) chunkFor(id ChunkID) int32 {
	if k.lastSet != none && k.chunks[k.lastSet].id == id {
		return k.lastSet
	}
	if n, ok := k.chunkOf[id]; ok {
		k.lastSet = n
		return n
	}
	n := int32(len(k.chunks))
	if last := len(k.free) - 1; last >= 0 {
		n, k.free = k.free[last], k.free[:last]
		k.chunks[n] = chunk{id: id}
	} else {
		k.chunks = append(k.chunks, chunk{id: id})
	}
	k.chunkOf[id] = n
	k.lastSet = n
	return n
}

func (k *marks) markDirty(n int32) {
	if w := k.chunks[n].write; !w.dirty {
		w.dirty = true
		k.dirty = append(k.dirty, n)
	}
}

func (k *marks) spareWrite() *chunkWrite {
	if n := len(k.spare); n > 0 {
		w := k.spare[n-1]
		k.spare = k.spare[:n-1]
		return w
	}
	return &chunkWrite{}
}

// retire takes the write state from a chunk that has no news. Its number goes on, so that a late answer is recognized.
func (k *marks) retire(c *chunk) {
	c.write.waiting, c.write.carried = c.write.waiting[:0], c.write.carried[:0]
	k.spare = append(k.spare, c.write)
	c.write = nil
}

// marked ends a record whose done mark was acknowledged (R13).
func (m *Machine) marked(i int32) {
	e := &m.entries[i]
	if e.has(hasX) {
		m.marks.table.Put(m.x[i], m.now)
	} else {
		m.marks.runs[doneKey{e.origin, e.gen}] = m.now
	}
	if e.run > 0 {
		m.marks.own[e.id()] = struct{}{}
	}
	m.count.Done++
	m.forgetClaims(i)
	m.acquit(e.id())
	m.finish(i)
}

// Mark is a record of the idempotency partition, as the scan (or the tail, R27) reads it. Marks are truths: they may come in
// any order and more than once.
type Mark struct {
	Kind   Kind // DoneMark, TerminalMark, ClaimMark, ClaimRelease or ChunkMark
	ID     ID
	X      dedupe.Hash
	HasX   bool
	Tries  uint32
	Tenure int64
	Reason Reason
	At     int64 // ms
	Chunk  ChunkID
	Bits   *dedupe.Bits
}

// Marked takes in a mark.
func (m *Machine) Marked(k Mark) {
	m.number = max(m.number, k.Tenure)
	if m.cfg.Mode == Off {
		return
	}
	if k.ID.Run > 0 {
		m.marks.sawRun(k.ID)
	}
	switch k.Kind {
	case DoneMark:
		if k.HasX && m.marks.table != nil {
			m.marks.table.Put(k.X, k.At)
		} else if !k.HasX {
			m.marks.runs[doneKey{k.ID.Offset, k.ID.Gen}] = k.At
		}
		if k.ID.Run > 0 {
			m.marks.own[k.ID] = struct{}{}
		}
	case TerminalMark:
		m.marks.dead[k.ID] = k.Reason
	case ClaimMark:
		m.addClaim(m.xKey(k.ID, k.X, k.HasX), claim{id: k.ID, tries: k.Tries, tenure: k.Tenure})
	case ClaimRelease:
		m.dropClaim(m.xKey(k.ID, k.X, k.HasX), claim{id: k.ID, tries: k.Tries, tenure: k.Tenure})
	case ChunkMark:
		c := &m.marks.chunks[m.marks.chunkFor(k.Chunk)]
		c.bits.Or(k.Bits)
		c.at = max(c.at, k.At)
	case Forward, DeadLetter:
	}
}

func (k *marks) sawRun(id ID) {
	key := doneKey{id.Offset, id.Gen}
	k.later[key] = max(k.later[key], id.Run)
}
