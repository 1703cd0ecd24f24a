package dispatch

import "time"

// next hands back the slot's finished chunk and blocks until it has another. It reports false when the slot is to end.
func (p *Pool) next(s *Slot) bool {
	now := p.now()
	p.handBack(s, now)
	for woken := false; ; woken = true {
		p.mu.Lock()
		if woken {
			p.waking--
		}
		if p.phase != running {
			p.remove(s)
			p.mu.Unlock()
			return false
		}
		filled := p.fill(s, now)
		if !filled {
			p.idle = append(p.idle, s)
		}
		due := p.due()
		p.mu.Unlock()
		due.send()
		if filled {
			return true
		}
		<-s.wake
		now = p.now()
	}
}

// handBack ends the slot's chunk, if it has one.
func (p *Pool) handBack(s *Slot, now time.Duration) {
	p.mu.Lock()
	permit := false
	if s.busy {
		calls := s.load().end()
		p.counters.calls += uint64(calls)
		p.pace.observe(calls, now-time.Duration(s.since.Load()))
		permit = p.free(s)
	}
	p.mu.Unlock()
	if permit {
		p.gate.release()
	}
	p.gate.advanceIfClosed()
}

// free takes the chunk from its slot. It reports whether a permit is to be given back. The lock is held.
func (p *Pool) free(s *Slot) (permit bool) {
	permit = s.permit
	if s.alone {
		p.aloneRuns = false
		p.gate.turn.Store(nil)
	}
	s.busy, s.alone, s.permit = false, false, false
	p.active--
	return permit
}

// fill gives the slot a chunk, if there is one. The lock is held.
func (p *Pool) fill(s *Slot, now time.Duration) bool {
	switch {
	case p.cause != nil:
		return false
	case p.gate.closed.Load():
		return p.fillAlone(s, now)
	case p.pending == 0:
		p.leaveLine()
		return false
	case !p.gate.permits.acquire(p):
		p.starved = true
		return false
	}
	p.starved = false
	s.permit = p.gate.permits.limited()
	q := p.turn()
	n := q.fill(s.tasks[:p.pace.chunk()])
	p.hand(s, q, n, now)
	return true
}

// turn returns the queue that is next to be served. There must be one.
func (p *Pool) turn() *Queue {
	for {
		q := p.ready.popFront()
		q.listed = false
		if q.state == open && q.len() > 0 {
			return q
		}
	}
}

// fillAlone gives the slot a task that runs alone, if it is this pool's turn.
func (p *Pool) fillAlone(s *Slot, now time.Duration) bool {
	if !p.aloneDue() {
		return false
	}
	a := p.alone.popFront()
	s.tasks[0] = a.task
	s.alone, p.aloneRuns = true, true
	p.hand(s, a.queue, 1, now)
	return true
}

// aloneDue says that nothing runs anywhere, and that a task of this pool may.
func (p *Pool) aloneDue() bool {
	return p.gate.turn.Load() == p && !p.aloneRuns && p.alone.len() > 0
}

// hand begins a chunk that lies in the slot already.
func (p *Pool) hand(s *Slot, q *Queue, n int, now time.Duration) {
	q.openContext()
	p.active++
	if n > 1 {
		p.watch = ticking
	} else {
		p.watch = max(p.watch, dozing)
	}
	s.begin(q, n, now)
}

// startable says that a slot would find something to do. The lock is held.
func (p *Pool) startable() bool {
	switch {
	case p.cause != nil:
		return false
	case p.gate.closed.Load():
		return p.aloneDue()
	}
	return p.pending > 0 && !p.starved
}

// wakeups are whom to wake, once the lock is not held any more.
type wakeups struct {
	slots      []*Slot
	slot       *Slot
	supervisor *Pool
	pool       *Pool
}

// due says who is to be woken after a change. Slots are woken one after the other: one that was woken and found work wakes
// the next if there is more, and so no more of them wake than find work. The lock is held.
func (p *Pool) due() wakeups {
	var w wakeups
	if p.waking == 0 && len(p.idle) > 0 && p.startable() {
		last := len(p.idle) - 1
		w.slot, p.idle = p.idle[last], p.idle[:last]
		p.waking++
	}
	if p.watch > p.armed || p.refusable() {
		w.supervisor = p
	}
	w.pool, p.passOn = p.passOn, nil
	return w
}

// send wakes them.
func (w wakeups) send() {
	if w.slot != nil {
		w.slot.wake <- struct{}{} // has room: an idle slot's token was taken
	}
	for _, s := range w.slots {
		s.wake <- struct{}{}
	}
	if w.supervisor != nil {
		select {
		case w.supervisor.nudge <- struct{}{}:
		default:
		}
	}
	if w.pool != nil {
		w.pool.kick()
	}
}

// kick looks for work again: the gate opened, or has a permit for this pool.
func (p *Pool) kick() {
	p.mu.Lock()
	p.starved = false
	if p.pending == 0 || p.stopped() {
		p.leaveLine()
	}
	due := p.due()
	p.mu.Unlock()
	due.send()
}

// leaveLine gives up the pool's place in the line for permits. The lock is held.
func (p *Pool) leaveLine() {
	p.starved = false
	p.passOn = p.gate.permits.leave(p)
}
