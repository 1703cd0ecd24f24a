package lane

import "github.com/laneway-go/laneway/internal/offsets"

func (m *Machine) tracker(p Part) *offsets.Tracker { return m.parts[p].tracker }

// Fetched hands in copies that were fetched from a part, in the order of their offsets, and the offset behind the last of
// them (which is higher where markers or compacted records follow). It returns how many of them were admitted (R20); the
// driver keeps the others and hands them in again once [Machine.Fetch] says that the part is open. The machine keeps nothing
// of the slice but the payloads.
func (m *Machine) Fetched(p Part, copies []Copy, next int64) (admitted int) {
	t := m.tracker(p)
	for admitted < len(copies) {
		room := int64(t.Admit(int(copies[len(copies)-1].Offset + 1 - t.Position())))
		if room == 0 {
			break
		}
		limit := max(t.Position()+room, copies[admitted].Offset+1)
		m.touchCopies(copies[admitted:])
		for ; admitted < len(copies) && copies[admitted].Offset < limit; admitted++ {
			c := &copies[admitted]
			m.parts[p].epochs.Note(c.Epoch, t.Position())
			m.count.Read++
			if !t.Receive(c.Offset) {
				continue // R1
			}
			m.read(p, c, true)
		}
	}
	if admitted == len(copies) {
		t.Advance(next)
	}
	if p >= FirstStage && !t.Admits() {
		m.workFull(p)
	}
	m.commit.dirty = true
	if p == Source {
		m.workGated()
	}
	return admitted
}

// read takes in one copy: R2 to R5, R7.
func (m *Machine) read(p Part, c *Copy, wasFetched bool) {
	i := m.known(c.ID, p)
	switch m.marks.verdict(m, c.ID, c.X, c.HasX, c.Force) {
	case isGhost:
		m.count.Ghosts++
		m.dismiss(i, p, c, isGhost)
		return
	case isDuplicate:
		m.dismiss(i, p, c, isDuplicate)
		return
	case isFresh:
	}
	if i == none {
		if m.finishedHere(c.ID, p) {
			m.count.Ghosts++
			m.settle(place{c.ID, p, c.Offset})
			return
		}
		m.enter(p, c, wasFetched)
		return
	}
	e := &m.entries[i]
	order := m.compareCopy(e, p, c)
	switch {
	case e.isBusy() && order < 0:
		m.park(i, p, c, wasFetched)
	case e.isBusy() || order > 0:
		m.count.Ghosts++
		m.settle(place{c.ID, p, c.Offset})
	default:
		old := place{c.ID, e.part, e.offset}
		m.adopt(i, p, c, wasFetched)
		if p != Source {
			m.ids.add(m, i) // its place in the source settles, and cannot tell the next copy that the record is known
		}
		if order < 0 {
			m.count.Ghosts++
			m.settle(old)
		}
	}
}

// dismiss settles a ghost or a duplicate, and the idle entry of its identity.
func (m *Machine) dismiss(i int32, p Part, c *Copy, why verdict) {
	m.settle(place{c.ID, p, c.Offset})
	switch {
	case i == none && why == isDuplicate:
		m.count.Taken++
		m.count.Duplicates++
	case i != none && m.entries[i].state == idle:
		m.endBy(i, why)
	}
}

// endBy ends an idle entry that the marks say has finished.
func (m *Machine) endBy(i int32, why verdict) {
	if why == isDuplicate {
		m.count.Duplicates++
	} else {
		m.count.Taken-- // it ended before, and was counted then
	}
	m.finish(i)
}

// finishedHere says whether an identity that has no entry finished in this tenure (R2, R38).
func (m *Machine) finishedHere(id ID, p Part) bool {
	if m.finished.has(id) {
		return true
	}
	// A source record that was read in this tenure and is settled, but is no entry any more, has finished.
	t := m.tracker(Source)
	return p != Source && id.Run == 0 && m.gens[id.Gen].present &&
		id.Offset >= t.Start() && id.Offset < t.Position() && t.Settled(id.Offset) && m.sameLog(id)
}

// sameLog says whether the record at an identity's offset in the source, as this tenure read it, is that record and not one
// of another leader epoch.
func (m *Machine) sameLog(id ID) bool {
	epoch := int32(-1)
	for _, s := range m.parts[Source].epochs { // newest first
		if s.First <= id.Offset {
			epoch = s.Epoch
			break
		}
	}
	return epoch == m.gens[id.Gen].epoch
}

// enter makes an identity known.
func (m *Machine) enter(p Part, c *Copy, wasFetched bool) {
	i := m.alloc()
	e := &m.entries[i]
	*e = entry{
		key: c.Key, origin: c.ID.Offset, run: c.ID.Run, gen: c.ID.Gen, seq: e.seq, state: idle, flags: e.flags & inWork,
		prev: none, next: none,
	}
	if m.cfg.Ordering == ByPartition {
		e.key = 0
	}
	if e.run > 0 {
		m.countReplay()
	}
	m.count.Taken++
	if !wasFetched {
		m.count.Found++
	}
	m.adopt(i, p, c, wasFetched)
	if p != Source || e.run > 0 {
		m.ids.add(m, i)
	}
	if p != Source && e.run == 0 && m.gens[e.gen].present {
		m.furthest = max(m.furthest, e.origin)
	}
	if e.run == 0 || wasFetched {
		m.line(i, c.Keyed)
	}
	m.enqueue(i)
}

// line puts an entry into its queue, if its lane has order and its record has a key.
func (m *Machine) line(i int32, hasKey bool) {
	if m.cfg.Ordering == ByPartition || m.cfg.Ordering == ByKey && hasKey {
		m.link(i)
	}
}

// adopt makes a copy the live one of an idle entry; it keeps its place in the queue.
func (m *Machine) adopt(i int32, p Part, c *Copy, wasFetched bool) {
	e := &m.entries[i]
	m.unhold(e)
	samePlace := e.part == p && e.offset == c.Offset
	wasFetched = wasFetched || samePlace && e.has(fetched)
	first := e.run > 0 && wasFetched && !e.has(fetched|keyed)
	e.part, e.offset = p, c.Offset
	e.hop, e.attempt, e.snoozes, e.due = c.Hop, c.Attempt, c.Snoozes, c.Due
	e.flags &^= fetched | forced | hasX | timed
	if c.Force {
		e.flags |= forced
	}
	if c.HasX {
		e.flags |= hasX
		m.x[i] = c.X
	}
	if c.Until != 0 || c.Since != 0 || c.Broken || e.has(extended) {
		x := m.ext(i)
		x.until, x.since, x.broken = c.Until, c.Since, c.Broken
		m.setExt(i, x)
	}
	e.seq++
	if !wasFetched {
		m.parts[p].unread.push(timer{at: e.due, what: makeRef(i, e.seq)})
		return
	}
	e.flags |= fetched
	m.payload[i] = c.Payload
	m.hold(e)
	if first && e.has(indexed) {
		m.line(i, c.Keyed) // a replay that the scan found queues when it is fetched (R7)
	}
	m.enqueue(i)
}

// settle records that nothing is owed for a copy at its place any more.
func (m *Machine) settle(p place) {
	m.commit.dirty = true
	if m.cfg.Mode == Off && m.mustWithhold(p) {
		return
	}
	m.tracker(p.part).Settle(p.offset)
}

// finish ends an identity for good: all its copies settle.
func (m *Machine) finish(i int32) {
	e := &m.entries[i]
	id := e.id()
	if e.has(indexed) {
		m.finished.add(id)
	}
	m.settle(place{id, e.part, e.offset})
	m.settleParked(i)
	if e.isBusy() {
		m.step(i, idle)
	}
	m.unlink(i)
	m.release(i)
}
