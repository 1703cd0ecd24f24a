package lane

// timer is something to look at again at a time.
type timer struct {
	at   int64
	what Ref // of the entry (or chunk), with the step in which the timer was set
}

// heap is a binary heap of timers, the earliest first; equal times in the order of their references, so that it does not
// matter in which order they came. Timers that no longer mean anything stay until they are due.
type heap []timer

func (t timer) before(u timer) bool { return t.at < u.at || t.at == u.at && t.what < u.what }

func (h *heap) push(t timer) {
	*h = append(*h, t)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *heap) pop() timer {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && s[down+1].before(s[down]) {
			down++
		}
		if !s[down].before(s[i]) {
			return top
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
}

// wake asks for a look at entry i at a time.
func (m *Machine) wake(i int32, at int64) {
	m.timers.push(timer{at: at, what: makeRef(i, m.entries[i].seq)})
}

// expireTimers looks at everything whose time has come.
func (m *Machine) expireTimers() {
	for len(m.timers) > 0 && m.timers[0].at <= m.now {
		t := m.timers.pop()
		i := t.what.index()
		if i&chunkBit != 0 {
			m.retryChunk(i&^chunkBit, t.what.seq())
			continue
		}
		e := &m.entries[i]
		switch {
		case e.seq != t.what.seq() || e.state == free:
		case e.state == idle:
			m.enqueue(i)
		default:
			m.rewrite(i)
		}
	}
}

// NextWake returns when Flush wants to be called at the latest, in Unix milliseconds; false if there is nothing to wait for.
func (m *Machine) NextWake() (at int64, ok bool) {
	if len(m.timers) > 0 {
		at, ok = m.timers[0].at, true
	}
	if m.phase != Running {
		return at, ok
	}
	for p := FirstStage; int(p) < len(m.parts); p++ {
		if due, waits := m.nextUnread(p); waits && due-m.cfg.FetchLead > m.now && (!ok || due-m.cfg.FetchLead < at) {
			at, ok = due-m.cfg.FetchLead, true
		}
	}
	return at, ok
}
