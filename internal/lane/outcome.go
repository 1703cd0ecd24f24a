package lane

// Reason says why a copy was written, or why a record ended without being done.
type Reason uint8

// The reasons.
const (
	NoReason Reason = iota
	Retryable
	Snoozed
	Followed
	Permanent
	Exhausted
	Undecodable
	Crash
	UncertainReason
	Expired
	Skipped
	Parked
)

// String returns the reason as headers and metrics show it.
func (r Reason) String() string {
	names := [...]string{
		"", "retryable", "snoozed", "followed", "permanent", "exhausted", "undecodable", "crash", "uncertain", "expired", "skipped",
		"parked",
	}
	if int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// ParseReason returns the reason of a name; NoReason for one that is not known.
func ParseReason(s string) Reason {
	for r := NoReason; r <= Parked; r++ {
		if r.String() == s {
			return r
		}
	}
	return NoReason
}

// OutcomeKind is how a handler call ended. In ClaimFirst mode the driver reports every failure that does not state that nothing
// happened as Dead with UncertainReason (R42).
type OutcomeKind uint8

// The kinds of outcomes.
const (
	OK        OutcomeKind = iota
	Retry                 // a failure that may pass
	Snooze                // not now: uses no attempt
	Dead                  // to the dlt, for the reason given
	Skip                  // finished without the effect, by the handler's word
	Aborted               // the lane is being given up: unsettled, no attempt used (R19)
	Unstarted             // as Aborted, and it is certain that no effect took place: the handler was not called, or said so (R32)
)

// Outcome is how a handler call ended.
type Outcome struct {
	Kind   OutcomeKind
	Until  int64  // of Snooze: ms
	Reason Reason // of Dead
}

// ReturnedOK hands in handler calls that finished their work. It is the plain path: Returned with OK for each.
func (m *Machine) ReturnedOK(refs []Ref) {
	m.touchRefs(refs)
	for _, r := range refs {
		if i, ok := m.find(r); ok && m.entries[i].state == running {
			m.done(i)
		}
	}
}

// Expects says whether a handler call is out under this reference.
func (m *Machine) Expects(r Ref) bool {
	i, ok := m.find(r)
	return ok && m.entries[i].state == running
}

// Returned hands in how a handler call ended. It says false for a call that is nobody's any more: its record went on without
// it (it was abandoned), and nothing is changed.
func (m *Machine) Returned(r Ref, o Outcome) bool {
	i, ok := m.find(r)
	if !ok || m.entries[i].state != running {
		return false
	}
	e := &m.entries[i]
	id := e.id()
	switch o.Kind {
	case OK:
		m.done(i)
	case Retry:
		e.attempt++
		m.noteFailure(i)
		if int(e.attempt) >= m.cfg.MaxAttempts {
			m.bury(i, Exhausted)
			break
		}
		to := m.stageOf(int(e.attempt))
		e.due = m.jittered(e, m.delay(to))
		m.forward(i, to, forwarding)
	case Snooze:
		m.snooze(i, o.Until)
	case Dead:
		e.attempt++
		m.noteFailure(i)
		m.bury(i, o.Reason)
	case Skip:
		m.skip(i)
	case Aborted, Unstarted:
		m.abort(i, o.Kind == Unstarted)
	}
	m.survived(id)
	return true
}

// done ends a record whose effect is finished: a mark, then it is settled (R13, R39).
func (m *Machine) done(i int32) {
	e := &m.entries[i]
	switch {
	case m.cfg.Mode == Off:
		m.count.Done++
		m.finish(i)
	case e.run == 0 && !e.has(hasX):
		m.step(i, marking)
		m.payload[i] = nil // a bit does not need it
		m.setBit(i)
	default:
		m.step(i, marking)
		m.write(i)
	}
}

func (m *Machine) noteFailure(i int32) {
	if x := m.ext(i); x.since == 0 {
		x.since = m.now
		m.setExt(i, x)
	}
}

// snooze puts a record off without using an attempt (R16), within bounds of number and age.
func (m *Machine) snooze(i int32, until int64) {
	e := &m.entries[i]
	e.snoozes++
	m.noteFailure(i)
	x := m.ext(i)
	if int(e.snoozes) > m.cfg.MaxSnoozes || m.now-x.since > m.cfg.MaxSnooze {
		m.bury(i, Expired)
		return
	}
	var to Part
	to, e.due = m.snoozeTo(until)
	x.until = 0
	if until > e.due {
		x.until = until
	}
	m.setExt(i, x)
	m.count.Snoozed++
	m.forward(i, to, forwarding)
}

// skip ends a record that the handler does not want (R14).
func (m *Machine) skip(i int32) {
	if m.cfg.Mode == Off {
		m.count.Skipped++
		m.finish(i)
		return
	}
	m.step(i, closing)
	m.entries[i].arg = uint8(Skipped)
	m.write(i)
}

// abort makes a record idle again whose handler was cancelled, or not called, because the lane is given up (R19).
func (m *Machine) abort(i int32, unstarted bool) {
	if x := m.ext(i); x.claim && unstarted {
		m.step(i, releasing)
		m.write(i)
		return
	}
	m.step(i, idle)
	m.enqueue(i)
}

// bury sends a record to the dlt (R14).
func (m *Machine) bury(i int32, why Reason) {
	m.step(i, burying)
	m.entries[i].arg = uint8(why)
	m.write(i)
}

// buried continues after the dlt copy was acknowledged: only then is the terminal mark written (R14).
func (m *Machine) buried(i int32) {
	if m.cfg.Mode == Off {
		m.count.Dead++
		m.finish(i)
		return
	}
	m.step(i, closing)
	m.write(i)
}

// closed ends a record whose terminal mark was acknowledged.
func (m *Machine) closed(i int32) {
	e := &m.entries[i]
	why := Reason(e.arg)
	m.marks.dead[e.id()] = why
	if why != UncertainReason {
		m.forgetClaims(i)
	}
	if why == Skipped {
		m.count.Skipped++
	} else {
		m.count.Dead++
	}
	m.acquit(e.id())
	m.finish(i)
}
