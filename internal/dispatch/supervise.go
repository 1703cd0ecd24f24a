package dispatch

import (
	"slices"
	"time"
)

const (
	// tick is how often the supervisor looks while chunks of several tasks are out. A call is late by two of them at the
	// most because of a slow neighbour; 200 looks a second cost a thousandth of a core.
	tick = 5 * time.Millisecond

	// dumpEvery spaces out the stack dumps, which stop the world: when many calls get stuck on one dependency, some of their
	// results have no stack.
	dumpEvery = time.Second
)

// watch is what the supervisor is to look out for.
type watch uint8

const (
	asleep  watch = iota // nothing runs
	dozing               // every call is a chunk of its own: the first may be stuck at Timeout + Grace
	ticking              // chunks of several tasks are out, and may have to be broken up
)

// String returns the watch's name.
func (w watch) String() string { return [...]string{"asleep", "dozing", "ticking"}[w] }

// delivery is results that were taken out of a slot, or made, by the supervisor.
type delivery struct {
	queue   *Queue
	results []Result
}

// findings are what the supervisor takes out of the pool with the lock held and deals with without it.
type findings struct {
	deliveries []delivery
	stuck      []*Slot
	permits    int
}

func (f *findings) deliver(q *Queue, results []Result) {
	if len(results) > 0 {
		f.deliveries = append(f.deliveries, delivery{q, results})
	}
}

// supervise watches the slots until the last is gone. stop tells it to let them go.
func (p *Pool) supervise(stop <-chan struct{}) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			stop = nil
			p.drain()
		case <-timer.C:
			timer.Reset(p.look())
		case <-p.nudge:
			if d := p.rewatch(); d > 0 {
				timer.Reset(d)
			}
		case <-p.gone:
			return
		}
		p.refuse()
	}
}

func (p *Pool) drain() {
	p.mu.Lock()
	due := p.stop(nil)
	p.mu.Unlock()
	due.send()
}

// rewatch says when to look first after a slot has asked for more attention; 0 is for no change.
func (p *Pool) rewatch() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch <= p.armed {
		return 0
	}
	p.armed = p.watch
	if p.armed == ticking {
		return tick
	}
	return p.cfg.Timeout + p.cfg.Grace
}

// look breaks up chunks that last, gives up on stuck calls, and says when to look again.
func (p *Pool) look() time.Duration {
	now := p.now()
	wait := maxDuration
	var found findings

	p.mu.Lock()
	p.watch = asleep
	for _, s := range p.busySlots() {
		again, w := p.inspect(s, now, &found)
		wait, p.watch = min(wait, again), max(p.watch, w)
	}
	p.armed = p.watch
	due := p.due()
	p.mu.Unlock()

	due.send()
	p.report(&found, now)
	p.finish(&found)
	return wait
}

// busySlots returns the slots that have a chunk, in a list of its own: inspection takes some off the pool's.
func (p *Pool) busySlots() []*Slot {
	busy := make([]*Slot, 0, p.active)
	for _, s := range p.slots {
		if s.busy {
			busy = append(busy, s)
		}
	}
	return busy
}

// inspect looks at one slot with a chunk and says when, and for what, to look at it again. The lock is held.
func (p *Pool) inspect(s *Slot, now time.Duration, found *findings) (time.Duration, watch) {
	since := time.Duration(s.since.Load())
	g := s.load()
	if g.end()-g.flushed() > 1 {
		if now < since+tick {
			return tick, ticking
		}
		p.pace.observe(g.started(), now-since)
		p.breakUp(s, found)
	}
	left := s.began(g, now) + p.cfg.Timeout + p.cfg.Grace - now
	if left > 0 {
		return left, dozing
	}
	if !s.abandon() {
		return tick, ticking // it returned just now, or is between two calls
	}
	found.stuck = append(found.stuck, s)
	p.leaveBehind(s, found)
	if p.cfg.Stuck == Abandon && p.phase == running {
		p.replace()
	}
	return maxDuration, asleep
}

// breakUp takes everything out of a chunk but its running call.
func (p *Pool) breakUp(s *Slot, found *findings) {
	q := s.queue.Load()
	if rest := s.cut(); len(rest) > 0 {
		q.putBack(rest)
	}
	found.deliver(q, s.flush(nil))
}

// cutAll puts all tasks that have not started back into their queues.
func (p *Pool) cutAll() {
	for _, s := range p.busySlots() {
		if rest := s.cut(); len(rest) > 0 {
			s.queue.Load().putBack(rest)
		}
	}
}

// leaveBehind strikes off a slot whose call was given up.
func (p *Pool) leaveBehind(s *Slot, found *findings) {
	if p.free(s) {
		found.permits++
	}
	p.abandoned = append(p.abandoned, s)
	p.counters.abandoned++
	p.remove(s)
}

// replace starts a slot for one that was left behind, as long as not too many were.
func (p *Pool) replace() {
	if len(p.abandoned) > p.cfg.MaxAbandoned {
		p.lost++
		return
	}
	p.spawn()
}

// cameBack is told by a slot that was left behind that its call has returned after all.
func (p *Pool) cameBack(s *Slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandoned = slices.DeleteFunc(p.abandoned, func(o *Slot) bool { return o == s })
	p.counters.late++
	if p.lost > 0 && p.phase == running {
		p.lost--
		p.spawn()
	}
}

// report turns stuck calls into results, or into the end of the pool, and tells of them.
func (p *Pool) report(found *findings, now time.Duration) {
	if len(found.stuck) == 0 {
		return
	}
	stacks := p.dump(now)
	for _, s := range found.stuck {
		token := s.tasks[s.load().started()-1].Token
		stack := stackOf(stacks, s.id.Load())
		if p.cfg.Stuck == Abandon {
			r := Result{Token: token, Kind: Stuck, Err: p.limit, Stack: stack}
			found.deliver(s.queue.Load(), []Result{r})
		}
		if p.cfg.OnStuck != nil {
			p.cfg.OnStuck(p.stuckInfo(s, token, stack))
		}
	}
	if p.cfg.Stuck == Crash {
		p.mu.Lock()
		due := p.stop(ErrStuck)
		p.mu.Unlock()
		due.send()
	}
}

func (p *Pool) stuckInfo(s *Slot, token uint64, stack []byte) StuckInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return StuckInfo{
		Token:   token,
		Owner:   s.queue.Load().owner,
		Since:   p.time(time.Duration(s.since.Load())),
		Stack:   stack,
		Slots:   len(p.slots),
		Running: len(p.abandoned),
	}
}

// dump returns all stacks, nil if that was done a short time ago.
func (p *Pool) dump(now time.Duration) []byte {
	if p.lastDump > 0 && now < p.lastDump+dumpEvery {
		return nil
	}
	p.lastDump = now
	return dump()
}

// finish deals with what was found, without the lock.
func (p *Pool) finish(found *findings) {
	for _, d := range found.deliveries {
		d.queue.deliver(d.results)
	}
	for range found.permits {
		p.gate.release()
	}
	p.gate.advanceIfClosed()
}

// refusable says that there are tasks to return unstarted. The lock is held.
func (p *Pool) refusable() bool {
	return len(p.refused) > 0 || p.stopped() && p.pending+p.alone.len() > 0
}

// refuse returns tasks that are not going to be started.
func (p *Pool) refuse() {
	var found findings
	p.mu.Lock()
	if p.refusable() {
		p.takeRefused(&found)
	}
	p.mu.Unlock()
	p.finish(&found)
}

func (p *Pool) takeRefused(found *findings) {
	for _, q := range p.refused {
		found.deliver(q, unstarted(q.drain()...))
	}
	p.refused = nil
	if !p.stopped() {
		return
	}
	for p.pending > 0 {
		q := p.turn()
		p.pending -= q.len()
		found.deliver(q, unstarted(q.drain()...))
	}
	for p.alone.len() > 0 {
		a := p.alone.popFront()
		found.deliver(a.queue, unstarted(a.task))
	}
}

func unstarted(tasks ...Task) []Result {
	results := make([]Result, len(tasks))
	for i := range tasks {
		results[i] = Result{Token: tasks[i].Token, Kind: Unstarted}
	}
	return results
}
