package lane

import "github.com/laneway-go/laneway/dedupe"

// MayForget says whether a mark, which the driver has read in the idempotency partition, may be removed there and here: it is
// older than before (Unix milliseconds), and no uncommitted copy can ask for it any more (R36). A chunk goes as a whole, by its
// newest record.
func (m *Machine) MayForget(k Mark, before int64) bool {
	if m.phase != Running || k.At >= before {
		return false
	}
	if k.Kind == ChunkMark {
		return m.mayForgetChunk(k.Chunk, before)
	}
	if !m.isCommitted(k.ID.Gen, k.ID.Offset) || m.runOf(k.ID.Gen, k.ID.Offset, k.ID.Offset+1) {
		return false
	}
	if k.HasX {
		_, waits := m.xwait[k.X]
		_, busy := m.xbusy[k.X]
		return !waits && !busy && !m.hasEntryOfX(k.X)
	}
	return true
}

func (m *Machine) mayForgetChunk(id ChunkID, before int64) bool {
	n, ok := m.marks.chunkOf[id]
	if ok && (m.marks.chunks[n].at >= before || m.marks.chunks[n].write != nil) {
		return false
	}
	first := id.Index * dedupe.ChunkSize
	return m.isCommitted(id.Gen, first+dedupe.ChunkSize-1) && !m.runOf(id.Gen, first, first+dedupe.ChunkSize)
}

// isCommitted says whether the source is committed beyond an offset, or has another log than the offset's by now.
func (m *Machine) isCommitted(g Gen, offset int64) bool {
	return !m.gens[g].present || offset < m.commit.stored
}

// runOf says whether any entry has an origin in the range.
func (m *Machine) runOf(g Gen, first, end int64) bool {
	for i := range m.entries {
		if e := &m.entries[i]; e.state != free && e.gen == g && e.origin >= first && e.origin < end {
			return true
		}
	}
	return false
}

func (m *Machine) hasEntryOfX(x dedupe.Hash) bool {
	for i := range m.entries {
		if e := &m.entries[i]; e.state != free && e.has(hasX) && m.x[i] == x {
			return true
		}
	}
	return false
}

// Forget removes a mark from the machine's memory. The driver writes the tombstone of its exact key.
func (m *Machine) Forget(k Mark) {
	switch k.Kind {
	case DoneMark:
		if k.HasX {
			m.marks.table.Remove(k.X)
		}
		delete(m.marks.runs, doneKey{k.ID.Offset, k.ID.Gen})
		delete(m.marks.own, k.ID)
	case TerminalMark:
		delete(m.marks.dead, k.ID)
	case ClaimMark, ClaimRelease:
		m.dropClaim(m.xKey(k.ID, k.X, k.HasX), claim{id: k.ID, tries: k.Tries, tenure: k.Tenure})
	case ChunkMark:
		m.marks.forgetChunk(k.Chunk)
	case Forward, DeadLetter:
	}
}

// forgetChunk leaves the chunk's slot empty: references to chunks are numbers.
func (k *marks) forgetChunk(id ChunkID) {
	n, ok := k.chunkOf[id]
	if !ok {
		return
	}
	delete(k.chunkOf, id)
	k.chunks[n] = chunk{id: ChunkID{Index: -1}}
	k.free = append(k.free, n)
	k.last, k.lastSet = none, none
}
