package lane

import "math"

// stageOf returns the stage that a record waits in after it has used a number of attempts (R15): the last one repeats.
func (m *Machine) stageOf(attempts int) Part {
	return m.targets[min(max(attempts, 1), len(m.targets))-1]
}

func (m *Machine) delay(p Part) int64 { return m.cfg.Stages[p-FirstStage].Delay }

// jittered returns when a wait of delay ms that begins now ends. Jitter only lengthens. It is drawn from the identity and the
// number of tries, so that the machine stays a function of its inputs.
func (m *Machine) jittered(e *entry, delay int64) int64 {
	h := (uint64(e.origin)+1)*0x9E3779B97F4A7C15 ^ uint64(e.gen)<<40 ^ uint64(e.tries())<<8 ^ uint64(e.run)
	h ^= h >> 31
	h *= 0xBF58476D1CE4E5B9
	h ^= h >> 29
	share := float64(h>>11) / (1 << 53)
	extra := int64(math.Ceil(min(float64(delay)*m.cfg.Jitter, float64(m.cfg.MaxJitter)) * share))
	return m.now + 1 + delay + extra // now was rounded down
}

// snoozeTo returns the stage in which a record waits for a time, and when it is due there (R16): the longest delay that does
// not pass the time, so that equal delays share a topic.
func (m *Machine) snoozeTo(until int64) (to Part, due int64) {
	to = m.targets[0]
	for _, p := range m.targets {
		if m.delay(p) <= until-m.now {
			to = p
		}
	}
	return to, min(m.now+1+m.delay(to), max(until, m.now))
}

// forward writes the next copy of an entry whose attempt, snoozes and due time are those that the copy will carry.
func (m *Machine) forward(i int32, to Part, s state) {
	m.ids.add(m, i)
	m.step(i, s)
	m.entries[i].arg = uint8(to)
	m.write(i)
	if s == following {
		m.count.Followed++
	} else {
		m.count.Forwarded++
	}
	m.enqueue(m.entries[i].next) // R9: its followers need not wait for the ack
}

// follow decides what becomes of an entry that stands behind another one of its key (R8).
func (m *Machine) follow(i, before int32) {
	e, q := &m.entries[i], &m.entries[before]
	switch {
	case q.state == idle && q.part.rank() > e.part.rank():
		m.followTo(i, q.part, q.due)
	case q.state == idle && q.part == e.part && e.part >= FirstStage && !q.has(fetched) && !m.tracker(e.part).Admits():
		m.followTo(i, q.part, q.due)
	case q.state == forwarding || q.state == following:
		// The quick form of R9, for a predecessor that moves up. One that goes back to an earlier stage is waited for.
		if to := Part(q.arg); to.rank() > q.part.rank() && to.rank() > e.part.rank() {
			m.followTo(i, to, q.due)
		}
	}
}

func (m *Machine) followTo(i int32, to Part, due int64) {
	e := &m.entries[i]
	e.due = max(due, e.due)
	m.forward(i, to, following)
}

// forwarded ends a forward: the copy that was acked, or a greater one that was read meanwhile, is the live one (R5).
func (m *Machine) forwarded(i int32, offset int64) {
	e := &m.entries[i]
	old := place{id: e.id(), part: e.part, offset: e.offset}
	if e.has(extended) {
		x := m.ext(i)
		x.fails = 0
		m.setExt(i, x)
	}
	e.flags &^= fetched
	m.step(i, idle)
	m.payload[i] = nil
	e.part, e.offset, e.hop = Part(e.arg), offset, e.hop+1
	e.arg = 0
	m.unparkGreatest(i)
	m.settle(old)
	if !e.has(fetched) {
		m.parts[e.part].unread.push(timer{at: e.due, what: makeRef(i, e.seq)})
	}
	m.forgetClaims(i)
	if m.recheck(i) {
		return // its key got a mark meanwhile: the new copy may have been read, and settled, by that (R3)
	}
	m.enqueue(i)
	m.enqueue(e.next)
}

// parked is a copy of a busy identity that is greater than its live one: unsettled and untouched until the step ends (R4).
type parked struct {
	entry   int32
	fetched bool
	copy    Copy
	part    Part
}

func (m *Machine) park(i int32, p Part, c *Copy, wasFetched bool) {
	m.parked = append(m.parked, parked{entry: i, fetched: wasFetched, copy: *c, part: p})
}

// unparkGreatest makes the greatest of the live copy and the parked ones the live one, and settles the others.
func (m *Machine) unparkGreatest(i int32) {
	kept := m.parked[:0]
	for n := range m.parked {
		k := m.parked[n]
		if k.entry != i {
			kept = append(kept, k)
			continue
		}
		e := &m.entries[i]
		switch order := m.compareCopy(e, k.part, &k.copy); {
		case order == 0:
			m.adopt(i, k.part, &k.copy, k.fetched)
		case order < 0:
			old := place{id: e.id(), part: e.part, offset: e.offset}
			m.adopt(i, k.part, &k.copy, k.fetched)
			m.settle(old)
		default:
			m.settle(place{id: e.id(), part: k.part, offset: k.copy.Offset})
		}
	}
	clear(m.parked[len(kept):])
	m.parked = kept
}

// settleParked settles every parked copy of an entry that has finished.
func (m *Machine) settleParked(i int32) {
	if len(m.parked) == 0 {
		return
	}
	kept := m.parked[:0]
	for _, k := range m.parked {
		if k.entry != i {
			kept = append(kept, k)
			continue
		}
		m.settle(place{id: m.entries[i].id(), part: k.part, offset: k.copy.Offset})
	}
	clear(m.parked[len(kept):])
	m.parked = kept
}

// compareCopy compares an entry's live copy with another copy of its identity: by hop, stage, offset.
func (m *Machine) compareCopy(e *entry, p Part, c *Copy) int {
	switch {
	case e.hop != c.Hop:
		return sign(int64(e.hop) - int64(c.Hop))
	case e.part != p:
		return sign(int64(e.part) - int64(p))
	}
	return sign(e.offset - c.Offset)
}

func sign(n int64) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
