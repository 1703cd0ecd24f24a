package lane

// write asks for the produce of an entry's present step, also to repeat it: the content is the same (R17).
func (m *Machine) write(i int32) {
	e := &m.entries[i]
	if m.renewal && e.state == claiming {
		m.held = append(m.held, i)
		return
	}
	x := m.ext(i)
	w := Write{
		Token: makeRef(i, e.seq), ID: e.id(), Hop: e.hop, Attempt: e.attempt, Snoozes: e.snoozes, Due: e.due,
		Until: x.until, Since: x.since, Force: e.has(forced), Payload: m.payload[i],
		X: m.userX(i), HasX: e.has(hasX), Tenure: m.tenure,
	}
	switch e.state {
	case forwarding, following:
		w.Kind, w.To, w.Hop = Forward, Part(e.arg), e.hop+1
		w.Reason = forwardReason(e.state, x.until > 0)
	case burying:
		w.Kind, w.Reason = DeadLetter, Reason(e.arg)
	case closing:
		w.Kind, w.Reason = TerminalMark, Reason(e.arg)
	case marking:
		w.Kind = DoneMark
	case claiming:
		w.Kind, w.Tries = ClaimMark, e.tries()
	case releasing:
		w.Kind, w.Tries, w.Tenure = ClaimRelease, x.tries, x.named
	case free, idle, arming, fencing, running:
		return
	}
	m.out.Writes = append(m.out.Writes, w)
}

func forwardReason(s state, snoozed bool) Reason {
	switch {
	case s == following:
		return Followed
	case snoozed:
		return Snoozed
	}
	return Retryable
}

// Acked tells that a write is in the log, acknowledged by all in-sync replicas, at an offset of its partition.
func (m *Machine) Acked(r Ref, offset int64) {
	if i := r.index(); i&chunkBit != 0 {
		m.chunkAcked(i&^chunkBit, r.seq())
		return
	}
	i, ok := m.find(r)
	if !ok {
		return
	}
	switch m.entries[i].state {
	case forwarding, following:
		m.forwarded(i, offset)
	case burying:
		m.buried(i)
	case closing:
		m.closed(i)
	case marking:
		m.marked(i)
	case claiming:
		m.claimed(i)
	case releasing:
		m.released(i)
	case free, idle, arming, fencing, running:
	}
}

// Failed tells that a write failed, or that nobody knows what became of it. It is asked for again after a growing wait, for as
// long as the lane is owned (R17).
func (m *Machine) Failed(r Ref, now int64) {
	m.now = max(m.now, now)
	if i := r.index(); i&chunkBit != 0 {
		m.chunkFailed(i&^chunkBit, r.seq())
		return
	}
	i, ok := m.find(r)
	if !ok {
		return
	}
	x := m.ext(i)
	x.fails++
	m.setExt(i, x)
	m.wake(i, m.now+backoff(x.fails))
}

// Refused tells that the topic takes no copy of the record, whatever its size: a forward ends in the dlt, where a stub finds
// room. For any other write it is the same as Failed.
func (m *Machine) Refused(r Ref) {
	if r.index()&chunkBit != 0 {
		m.Failed(r, m.now)
		return
	}
	i, ok := m.find(r)
	if !ok {
		return
	}
	if s := m.entries[i].state; s != forwarding && s != following {
		m.Failed(r, m.now)
		return
	}
	m.bury(i, Permanent)
}

// backoff returns the wait before a write is tried again, in ms: the client below has its own retries for what passes by
// itself, so this is for what does not.
func backoff(fails int) int64 { return min(int64(100)<<min(fails-1, 6), 5000) }

// rewrite repeats the write of an entry whose wait is over.
func (m *Machine) rewrite(i int32) {
	if !m.gone {
		m.write(i)
	}
}
