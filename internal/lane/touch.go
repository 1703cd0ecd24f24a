package lane

// A lane that is worked on in turns with others finds its memory cold: a record's entry and the slot of its key are each a wait
// of 100 ns or more for memory, a third of all that a record may cost. The processor can wait for ten such places at once if they
// are asked for one right after the other, so batches are gone through once just to read something of each record, and then once
// more to do the work. The sums mean nothing.

func (m *Machine) touchEntries(list []int32) {
	var sum uint64
	for _, i := range list {
		sum += m.entries[i].key
	}
	if mask := uint32(len(m.queues.slots) - 1); len(m.queues.slots) > 0 {
		for _, i := range list {
			sum += uint64(m.queues.slots[tagOf(m.entries[i].key)&mask].tag)
		}
	}
	m.touched = sum
}

func (m *Machine) touchRefs(refs []Ref) {
	var sum uint64
	for _, r := range refs {
		if i := r.index(); int(i) < len(m.entries) {
			sum += m.entries[i].key
		}
	}
	m.touched = sum
}

// touchCopies reads the slots of the copies' keys, and the entries that they will get.
func (m *Machine) touchCopies(copies []Copy) {
	var sum uint64
	if mask := uint32(len(m.queues.slots) - 1); len(m.queues.slots) > 0 {
		for n := range copies {
			sum += uint64(m.queues.slots[tagOf(copies[n].Key)&mask].tag)
		}
	}
	for n := max(len(m.free)-len(copies), 0); n < len(m.free); n++ {
		sum += uint64(m.entries[m.free[n]].seq)
	}
	m.touched = sum
}
