package dispatch

import (
	"context"
	"sync"
	"time"
)

// Pool makes the calls of one topic in one process. [New] makes one.
type Pool struct {
	cfg   Config
	call  Func
	gate  *Gate
	limit *TimeoutError // the cause of every context that ends at the time limit
	epoch time.Time     // zero of the pool's clock

	nudge chan struct{} // one token at most, for the supervisor
	gone  chan struct{} // closed when no slot is left and none will come

	// mu guards what follows, and the fields of queues and slots that say so. It is never held during a call, a delivery,
	// or a wake-up. The order of locks is gate, pool, permits.
	mu    sync.Mutex
	phase phase
	err   error // what Run will return

	work   context.Context //nolint:containedctx // the parent of all calls' contexts, from Run to its end
	cancel context.CancelCauseFunc
	cause  error // of Cancel; nothing starts once it is set

	slots     []*Slot // those that take chunks
	idle      []*Slot // those of them that wait; the last one to come is woken first: its memory is warm
	waking    int     // woken and not yet back under the lock
	active    int     // have a chunk
	abandoned []*Slot // in a stuck call
	lost      int     // slots that were not replaced

	ready     ring[*Queue]    // queues that have tasks; some may have lost them meanwhile
	pending   int             // tasks in all queues that may start, alone ones aside
	alone     ring[aloneTask] // tasks that run alone
	aloneRuns bool
	refused   []*Queue // have tasks that are to come back unstarted

	starved bool  // waits in the gate's line for a permit
	passOn  *Pool // to be woken in our place: has the permit that we do not need

	pace     pace
	watch    watch         // what the supervisor should do
	armed    watch         // what its timer is set for
	lastDump time.Duration // 0: none yet
	counters counters
}

type aloneTask struct {
	queue *Queue
	task  Task
}

// phase is where a pool is in its life.
type phase uint8

const (
	fresh    phase = iota // before Run
	running               // slots take chunks
	draining              // slots end when their calls have returned
	drained               // no slot is left
)

// String returns the phase's name.
func (p phase) String() string {
	return [...]string{"fresh", "running", "draining", "drained"}[p]
}

// New returns a pool that makes its calls with fn. It starts nothing.
func New(cfg Config, fn Func) *Pool {
	cfg = cfg.withDefaults()
	return &Pool{
		cfg:   cfg,
		call:  fn,
		gate:  cfg.Gate,
		limit: &TimeoutError{Limit: cfg.Timeout},
		epoch: time.Now(),
		nudge: make(chan struct{}, 1),
		gone:  make(chan struct{}),
	}
}

// Run makes calls until ctx ends; then it starts none, returns all tasks that wait as [Unstarted], and waits for the calls
// that run. Their contexts have the values of ctx, but do not end with it: see [Pool.Cancel].
//
// It returns nil when all calls have returned, and else [ErrStuck] or [ErrAbandoned]. A pool runs once ([ErrRan]). What is
// submitted after Run has returned stays where it is until [Queue.TakeBack].
func (p *Pool) Run(ctx context.Context) error {
	if !p.begin(ctx) {
		return ErrRan
	}
	p.gate.join(p) // before the first slot: the gate must know of all that may run
	defer p.gate.leave(p)
	p.open()                //nolint:contextcheck // calls have contexts of their own, from p.work
	p.supervise(ctx.Done()) //nolint:contextcheck // as above
	p.refuse()

	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel(p.err)
	return p.err
}

// Owner returns a new queue whose results go to o. It may be called before Run.
func (p *Pool) Owner(o Owner) *Queue { return &Queue{pool: p, owner: o} }

// Cancel ends the contexts of all calls, with the cause, as at the end of a drain. Nothing starts after it: what waits comes
// back as [Unstarted]. Only the first Cancel counts. A nil cause is [context.Canceled].
func (p *Pool) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	p.mu.Lock()
	if p.cause != nil {
		p.mu.Unlock()
		return
	}
	p.cause = cause
	p.cutAll()
	cancel := p.cancel
	due := p.due()
	p.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	due.send()
}

// Abandon makes Run return without waiting for the calls that still run, with [ErrAbandoned] if there are any. What they
// return is ignored. It is the last step of a shutdown that ran out of time.
func (p *Pool) Abandon() {
	p.mu.Lock()
	if p.phase == fresh {
		p.mu.Unlock()
		return
	}
	due := p.stop(nil)
	var found findings
	for _, s := range p.busySlots() {
		p.breakUp(s, &found)
		if s.abandon() {
			p.leaveBehind(s, &found)
			p.setErr(ErrAbandoned)
		}
	}
	p.checkDrained()
	p.mu.Unlock()
	due.send()
	p.finish(&found)
}

// now is the pool's clock: the time since it was made.
func (p *Pool) now() time.Duration { return time.Since(p.epoch) }

func (p *Pool) time(d time.Duration) time.Time { return p.epoch.Add(d) }

// begin lets tasks start. It reports false if that was done before.
func (p *Pool) begin(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != fresh {
		return false
	}
	p.phase = running
	p.work, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if p.cause != nil {
		p.cancel(p.cause)
	}
	return true
}

// open starts the slots.
func (p *Pool) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.cfg.Slots {
		p.spawn()
	}
}

// spawn starts a slot. The lock is held.
func (p *Pool) spawn() {
	s := newSlot(p)
	s.index = len(p.slots)
	p.slots = append(p.slots, s)
	go s.run()
}

// remove takes a slot off the list. The lock is held.
func (p *Pool) remove(s *Slot) {
	last := len(p.slots) - 1
	p.slots[s.index] = p.slots[last]
	p.slots[s.index].index = s.index
	p.slots[last] = nil
	p.slots = p.slots[:last]
	p.checkDrained()
}

// stop lets nothing start any more; what is under way in chunks goes back to the queues. Run will return err, unless it has
// another reason already. The lock is held.
func (p *Pool) stop(err error) wakeups {
	p.setErr(err)
	if p.phase == running {
		p.phase = draining
		p.cutAll()
		p.leaveLine()
		p.checkDrained()
	}
	due := p.due()
	due.slots, p.idle = p.idle, nil
	p.waking += len(due.slots)
	return due
}

func (p *Pool) setErr(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *Pool) checkDrained() {
	if p.phase == draining && len(p.slots) == 0 {
		p.phase = drained
		close(p.gone)
	}
}

// stopped says that tasks are not started but refused. The lock is held.
func (p *Pool) stopped() bool { return p.phase >= draining || p.cause != nil }
