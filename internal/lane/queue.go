package lane

// queues finds the queue of a key: the records of the key that have not finished, in the order in which they may run. A queue
// is a list of entries; its head keeps the tail in its prev, so that a queue costs eight bytes here. The table is looked up
// twice a record, at random: the less memory it takes, the more of it is in the processor's cache.
//
// Open addressing with linear probing. Keys are hashes already.
type queues struct {
	slots []queueSlot
	used  int
}

// queueSlot names the head of a queue. The tag is what the key's home is made of, so that probing touches no entry that is not
// likely the one that is looked for.
type queueSlot struct {
	head int32 // entry + 1; 0 is free
	tag  uint32
}

func tagOf(key uint64) uint32 { return uint32(key * 0x9E3779B97F4A7C15 >> 32) }

// find returns the slot of the key, or the free one where it belongs.
func (q *queues) find(m *Machine, key uint64) int {
	tag := tagOf(key)
	mask := len(q.slots) - 1
	i := int(tag) & mask
	for s := q.slots[i]; s.head != 0 && (s.tag != tag || m.entries[s.head-1].key != key); s = q.slots[i] {
		i = (i + 1) & mask
	}
	return i
}

// slotOf returns the slot whose head is entry i.
func (q *queues) slotOf(m *Machine, i int32) int {
	mask := len(q.slots) - 1
	n := int(tagOf(m.entries[i].key)) & mask
	for q.slots[n].head != i+1 {
		n = (n + 1) & mask
	}
	return n
}

// reserve makes room for one more queue: at most half of the slots are used.
func (q *queues) reserve() {
	if 2*(q.used+1) <= len(q.slots) {
		return
	}
	old := q.slots
	q.slots = make([]queueSlot, max(4, 2*len(old)))
	mask := len(q.slots) - 1
	for _, s := range old {
		if s.head == 0 {
			continue
		}
		i := int(s.tag) & mask
		for q.slots[i].head != 0 {
			i = (i + 1) & mask
		}
		q.slots[i] = s
	}
}

// remove frees slot i and moves what it stood in the way of.
func (q *queues) remove(i int) {
	q.used--
	mask := len(q.slots) - 1
	for j := (i + 1) & mask; q.slots[j].head != 0; j = (j + 1) & mask {
		if home := int(q.slots[j].tag) & mask; (j-home)&mask >= (j-i)&mask {
			q.slots[i] = q.slots[j]
			i = j
		}
	}
	q.slots[i] = queueSlot{}
}

// A head's prev holds the queue's tail, below none.
func tailMark(tail int32) int32 { return none - 1 - tail }
func (e *entry) isHead() bool   { return e.prev <= none }
func (e *entry) tail() int32    { return none - 1 - e.prev }

// before returns the entry's predecessor in its queue; none for a head.
func (e *entry) before() int32 { return max(e.prev, none) }

// link puts an entry into the queue of its key (R7): a run-0 record before the first run-0 record with a greater origin, a
// replay at the end.
func (m *Machine) link(i int32) {
	q := &m.queues
	q.reserve()
	e := &m.entries[i]
	e.flags |= keyed
	e.next = none
	n := q.find(m, e.key)
	s := &q.slots[n]
	if s.head == 0 {
		*s = queueSlot{head: i + 1, tag: tagOf(e.key)}
		q.used++
		e.prev = tailMark(i)
		return
	}
	head := s.head - 1
	tail := m.entries[head].tail()
	before := m.successor(tail, e)
	if before == none {
		e.prev = tail
		m.entries[tail].next = i
		m.entries[head].prev = tailMark(i)
		return
	}
	b := &m.entries[before]
	if b.holdsKey() {
		m.displaced = true
	}
	e.next = before
	e.prev, b.prev = b.prev, i
	if e.isHead() {
		s.head = i + 1
	} else {
		m.entries[e.prev].next = i
	}
	m.enqueue(before)
}

// successor walks back from the tail to the first run-0 record with a greater origin than e's; none if there is none.
func (m *Machine) successor(tail int32, e *entry) int32 {
	if e.run > 0 {
		return none
	}
	found := none
	for j := tail; j != none; j = m.entries[j].before() {
		o := &m.entries[j]
		if o.run > 0 {
			continue
		}
		if m.compareOrigin(o.gen, o.origin, e.gen, e.origin) <= 0 {
			break
		}
		found = j
	}
	return found
}

// unlink takes an entry out of its queue; the one behind it is looked at again.
func (m *Machine) unlink(i int32) {
	e := &m.entries[i]
	if !e.has(keyed) {
		return
	}
	e.flags &^= keyed
	switch {
	case !e.isHead():
		m.entries[e.prev].next = e.next
		if e.next != none {
			m.entries[e.next].prev = e.prev
			break
		}
		head := m.queues.slots[m.queues.find(m, e.key)].head - 1
		m.entries[head].prev = tailMark(e.prev)
	case e.next == none:
		m.queues.remove(m.queues.slotOf(m, i))
	default:
		m.queues.slots[m.queues.slotOf(m, i)].head = e.next + 1
		m.entries[e.next].prev = e.prev
	}
	m.enqueue(e.next)
	e.prev = none
}

// keyIsHeld says whether another record of the key is busy, other than as a follower. Only a head asks.
func (m *Machine) keyIsHeld(i int32) bool {
	if !m.displaced {
		return false // only heads become busy, and this head is idle
	}
	for j := m.entries[i].next; j != none; j = m.entries[j].next {
		if m.entries[j].holdsKey() {
			return true
		}
	}
	return false
}
