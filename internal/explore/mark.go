package main

import (
	"cmp"
	"slices"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/lane"
)

// mark is a record of the idempotency topic.
type mark struct {
	kind   lane.Kind
	id     identity
	tries  uint8
	tenure int64
	chunk  uint8 // number of the (topic, epoch) pair and the chunk index, as chunkNumber has it
	bits   idSet // of a chunk: records
	reason lane.Reason
}

// compareKeys compares the keys of two marks: what compaction takes for the same record.
func compareKeys(a, b mark) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id), cmp.Compare(a.tries, b.tries),
		cmp.Compare(a.tenure, b.tenure), cmp.Compare(a.chunk, b.chunk))
}

// land appends a mark to the topic; the one before it with the same key is gone.
func (s *state) land(k mark) {
	tombstone := k.kind == lane.ClaimRelease
	if tombstone {
		k.kind = lane.ClaimMark
	}
	i, found := slices.BinarySearchFunc(s.marks, k, compareKeys)
	switch {
	case found && tombstone:
		s.marks = remove(s.marks, i)
	case found:
		s.marks = slices.Clone(s.marks)
		s.marks[i] = k
	case !tombstone:
		s.marks = slices.Insert(slices.Clone(s.marks), i, k)
	}
}

// done returns the idempotency keys that have a durable done mark.
func (s *state) done() (keys idSet) {
	for _, k := range s.marks {
		keys |= s.w.keysOf(k)
	}
	return keys
}

// keysOf returns the idempotency keys that a mark says are done.
func (w *world) keysOf(k mark) (keys idSet) {
	switch k.kind {
	case lane.DoneMark:
		keys = keys.with(w.xOf(k.id))
	case lane.ChunkMark:
		for r := range w.records {
			if k.bits.has(uint8(r)) {
				keys = keys.with(w.xOf(idOf(r, 0)))
			}
		}
	case lane.Forward, lane.DeadLetter, lane.TerminalMark, lane.ClaimMark, lane.ClaimRelease:
	}
	return keys
}

// ownMark says whether an identity has a done mark of its own.
func (s *state) ownMark(id identity) bool {
	for _, k := range s.marks {
		switch k.kind {
		case lane.DoneMark:
			if k.id == id {
				return true
			}
		case lane.ChunkMark:
			if id.run() == 0 && k.bits.has(uint8(id.record())) {
				return true
			}
		case lane.Forward, lane.DeadLetter, lane.TerminalMark, lane.ClaimMark, lane.ClaimRelease:
		}
	}
	return false
}

// closed returns the identities that have a durable terminal mark.
func (s *state) closed() (ids idSet) {
	for _, k := range s.marks {
		if k.kind == lane.TerminalMark {
			ids = ids.with(uint8(k.id))
		}
	}
	return ids
}

// epochsOf lists the generations of a world's records, each once; a chunk belongs to one of them.
func (w *world) generation(record int) uint8 {
	r := &w.records[record]
	for i := range w.records {
		if w.records[i].epoch == r.epoch && w.records[i].topic == r.topic {
			return uint8(i)
		}
	}
	return uint8(record)
}

// bitsOf returns the records whose bits a chunk has. Offsets of all worlds lie in chunk 0.
func (w *world) bitsOf(m *lane.Machine, id lane.ChunkID, bits *dedupe.Bits) (records idSet, chunk uint8) {
	topic, epoch := m.Generation(id.Gen)
	count := 0
	for i := range w.records {
		r := &w.records[i]
		if topicID(r.topic) != topic || r.epoch != epoch {
			continue
		}
		chunk = w.generation(i)
		if bits.Has(int(r.offset)) {
			count++
			records = records.with(uint8(i))
		}
	}
	if count != bits.Count() || id.Index != 0 {
		panic("a chunk has the bit of a record that does not exist")
	}
	return records, chunk
}

// forMachine returns a mark as the driver hands it in.
func (w *world) forMachine(m *lane.Machine, k mark) lane.Mark {
	if k.kind == lane.ChunkMark {
		r := &w.records[k.chunk]
		out := lane.Mark{
			Kind: lane.ChunkMark, Tenure: k.tenure, Chunk: lane.ChunkID{Gen: m.Gen(topicID(r.topic), r.epoch)}, Bits: &dedupe.Bits{},
		}
		for i := range w.records {
			if k.bits.has(uint8(i)) {
				out.Bits.Set(int(w.records[i].offset))
			}
		}
		return out
	}
	out := lane.Mark{Kind: k.kind, ID: w.laneID(m, k.id), Tries: uint32(k.tries), Tenure: k.tenure, Reason: k.reason}
	if k.kind != lane.TerminalMark {
		out.X, out.HasX = w.userX(k.id)
	}
	return out
}

func (w *world) laneID(m *lane.Machine, id identity) lane.ID {
	r := &w.records[id.record()]
	return lane.ID{Offset: r.offset, Run: uint32(id.run()), Gen: m.Gen(topicID(r.topic), r.epoch)}
}

func (w *world) identityOf(m *lane.Machine, id lane.ID) identity {
	topic, epoch := m.Generation(id.Gen)
	r := w.recordAt(topic, epoch, id.Offset)
	if r < 0 || id.Run >= runs {
		panic("the machine speaks of a record that does not exist")
	}
	return idOf(r, int(id.Run))
}
