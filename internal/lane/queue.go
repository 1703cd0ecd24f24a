package lane

// queue is the records of one key that have not finished, in the order in which they may run.
type queue struct {
	key        uint64
	head, tail int32 // head == none: the slot is free
}

// queues finds the queue of a key: open addressing with linear probing. Keys are hashes already.
type queues struct {
	slots []queue
	used  int
}

func (q *queues) home(key uint64) int {
	return int((key * 0x9E3779B97F4A7C15) >> 32 & uint64(len(q.slots)-1))
}

// find returns the slot of the key, or the free one where it belongs.
func (q *queues) find(key uint64) int {
	if len(q.slots) == 0 {
		q.grow()
	}
	i := q.home(key)
	for q.slots[i].head != none && q.slots[i].key != key {
		i = (i + 1) & (len(q.slots) - 1)
	}
	return i
}

func (q *queues) grow() {
	old := q.slots
	q.slots = make([]queue, max(4, 2*len(old)))
	for i := range q.slots {
		q.slots[i].head = none
	}
	for _, s := range old {
		if s.head != none {
			q.slots[q.find(s.key)] = s
		}
	}
}

// remove frees slot i and moves what it stood in the way of.
func (q *queues) remove(i int) {
	q.used--
	mask := len(q.slots) - 1
	for j := (i + 1) & mask; q.slots[j].head != none; j = (j + 1) & mask {
		if home := q.home(q.slots[j].key); (j-home)&mask >= (j-i)&mask {
			q.slots[i] = q.slots[j]
			i = j
		}
	}
	q.slots[i].head = none
}

// link puts an entry into the queue of its key (R7): a run-0 record before the first run-0 record with a greater origin, a
// replay at the end.
func (m *Machine) link(i int32) {
	if 4*(m.queues.used+1) > 3*len(m.queues.slots) {
		m.queues.grow()
	}
	e := &m.entries[i]
	e.flags |= keyed
	e.prev, e.next = none, none
	s := &m.queues.slots[m.queues.find(e.key)]
	if s.head == none {
		*s = queue{key: e.key, head: i, tail: i}
		m.queues.used++
		return
	}
	before := m.successor(s.tail, e)
	if before == none {
		e.prev = s.tail
		m.entries[s.tail].next = i
		s.tail = i
		return
	}
	b := &m.entries[before]
	if b.holdsKey() {
		m.displaced = true
	}
	e.next, e.prev = before, b.prev
	b.prev = i
	if e.prev == none {
		s.head = i
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
	for j := tail; j != none; j = m.entries[j].prev {
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
	if e.prev != none && e.next != none {
		m.entries[e.prev].next, m.entries[e.next].prev = e.next, e.prev
		m.enqueue(e.next)
		return
	}
	slot := m.queues.find(e.key)
	s := &m.queues.slots[slot]
	switch {
	case e.prev == none && e.next == none:
		m.queues.remove(slot)
	case e.prev == none:
		s.head = e.next
		m.entries[e.next].prev = none
		m.enqueue(e.next)
	default:
		s.tail = e.prev
		m.entries[e.prev].next = none
	}
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

// headOf returns the head of the queue that i stands in.
func (m *Machine) headOf(i int32) int32 {
	return m.queues.slots[m.queues.find(m.entries[i].key)].head
}
