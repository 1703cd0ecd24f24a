package lane

// advance does what has become possible for an entry: it starts, it follows, or it stays where it is.
func (m *Machine) advance(i int32) {
	e := &m.entries[i]
	if m.phase != Running || e.state != idle || !e.has(fetched) {
		return // R6, R25
	}
	if e.has(keyed) {
		if !e.isHead() {
			m.follow(i, e.prev)
			return
		}
		if m.keyIsHeld(i) {
			return
		}
	}
	if e.due > m.now {
		if !e.has(timed) {
			e.flags |= timed
			m.wake(i, e.due)
		}
		return
	}
	if m.sourceIsBehind(e) {
		m.gated = append(m.gated, i)
		return
	}
	if e.has(extended) && !m.startExtended(i) {
		return
	}
	m.tryStart(i)
}

// startExtended handles what few entries have: a snooze that goes on, a copy that is not readable.
func (m *Machine) startExtended(i int32) (goOn bool) {
	e := &m.entries[i]
	x := m.ext(i)
	switch {
	case x.broken:
		m.bury(i, Undecodable)
		return false
	case x.until > m.now:
		var to Part
		to, e.due = m.snoozeTo(x.until)
		m.forward(i, to, forwarding)
		return false
	}
	return true
}

// sourceIsBehind says whether a record in a stage has to wait until the source has been read past its origin (R10).
func (m *Machine) sourceIsBehind(e *entry) bool {
	if e.part < FirstStage || e.run > 0 {
		return false
	}
	g := &m.gens[e.gen]
	if !g.present {
		return false
	}
	s := &m.parts[Source]
	if len(s.epochs) > 0 && s.epochs[0].Epoch > g.epoch && s.epochs[0].First < s.tracker.Position() {
		return false // a record of a later epoch has been read
	}
	position := s.tracker.Position()
	return position <= e.origin && position < g.end
}

// workGated looks again at the heads that wait for the source.
func (m *Machine) workGated() {
	if len(m.gated) == 0 {
		return
	}
	for _, i := range m.gated {
		m.enqueue(i)
	}
	m.gated = m.gated[:0]
}

// workFull looks again at what waits in a stage whose window is full: R8's exception.
func (m *Machine) workFull(p Part) {
	for i := range m.entries {
		if e := &m.entries[i]; e.state == idle && e.part == p && e.has(fetched) && !e.isHead() {
			m.enqueue(int32(i))
		}
	}
}

// tryStart starts a record that is due and whose turn it is, if nothing else stands against it (R12, R30, R35).
func (m *Machine) tryStart(i int32) {
	if m.recheck(i) || m.waitsForX(i) {
		return
	}
	if m.suspects.careful && !m.maySuspectStart(i) {
		return
	}
	if m.cfg.Mode == ClaimFirst && m.hasUnresolvedClaim(i) {
		m.bury(i, UncertainReason)
		return
	}
	switch {
	case m.suspects.careful:
		m.arm(i)
	case m.cfg.Mode == ClaimFirst:
		m.claim(i)
	default:
		m.start(i)
	}
}

// recheck looks at the marks once more, just before a start (R12). It says whether the entry has ended by them.
func (m *Machine) recheck(i int32) (ended bool) {
	e := &m.entries[i]
	why := m.marks.verdict(m, e.id(), m.userX(i), e.has(hasX), e.has(forced))
	if why == isFresh {
		return false
	}
	if why == isGhost {
		m.count.Ghosts++
	}
	m.endBy(i, why)
	return true
}

func (m *Machine) start(i int32) {
	ref := m.step(i, running)
	e := &m.entries[i]
	m.out.Starts = append(m.out.Starts, Start{
		Ref: ref, Payload: m.payload[i], Attempt: e.attempt, Part: e.part,
		Alone: m.suspects.careful && m.suspects.has(e.id()),
	})
}
