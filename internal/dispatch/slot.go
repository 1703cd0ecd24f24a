package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Slot is one of the goroutines that make calls, and what it works on.
type Slot struct {
	// Scratch is for the [Func]: something to reuse from call to call. It is never seen by two calls at once; a slot that
	// replaces a stuck one starts with nil.
	Scratch any

	pool *Pool
	wake chan struct{} // one token at most: sent by whoever took the slot off the idle list
	ctx  *callContext  // of the present or the next call; belongs to the slot's goroutine

	progress atomic.Uint64
	queue    atomic.Pointer[Queue] // of the chunk; kept when the chunk is finished
	since    atomic.Int64          // when the chunk began, by the pool's clock
	id       atomic.Uint64         // of the goroutine; 0 if it is not known

	// tasks and results are the slot's, each up to its claim of the chunk's end. Behind the word progress others take some:
	// they hold the pool's lock, as does the slot when it begins the next chunk.
	tasks   [maxChunk]Task
	results [maxChunk]Result

	// Under the pool's lock:
	index  int  // in the pool's list
	busy   bool // has a chunk
	alone  bool // its chunk is a task that runs alone
	permit bool // holds one of the gate's permits
}

func newSlot(p *Pool) *Slot {
	s := &Slot{pool: p, wake: make(chan struct{}, 1)}
	s.ctx = &callContext{slot: s}
	return s
}

func (s *Slot) load() progress { return progress(s.progress.Load()) }

func (s *Slot) swap(from, to progress) bool {
	return s.progress.CompareAndSwap(uint64(from), uint64(to))
}

// run is the slot's goroutine. It may begin in the middle of a chunk: see broken.
func (s *Slot) run() {
	s.id.Store(goroutineID())
	for more := true; more; {
		more = s.serve() && s.pool.next(s)
	}
}

// serve makes the calls of the chunk and delivers their results. It reports false if the slot was given up on meanwhile.
func (s *Slot) serve() bool {
	for finished := false; !finished; {
		finished = s.callAll()
	}
	from, to, ok := s.settle()
	if !ok {
		s.pool.cameBack(s)
		return false
	}
	if from < to {
		s.queue.Load().deliver(s.results[from:to])
		clear(s.results[from:to])
	}
	return true
}

// callAll makes calls until the chunk is at its end. It reports false after a panic: the rest of the chunk waits.
func (s *Slot) callAll() (finished bool) {
	defer func() {
		if !finished {
			s.broken(recover())
		}
	}()
	for k, ok := s.claim(); ok; k, ok = s.claim() {
		if s.ctx.touched.Load() {
			s.leaveContext() // by a goroutine of an earlier call
		}
		s.record(k, s.pool.call(s.ctx, s, &s.tasks[k]))
	}
	return true
}

// claim starts the next task of the chunk, if there is one.
func (s *Slot) claim() (k int, ok bool) {
	for {
		g := s.load()
		if g.abandoned() || g.started() == g.end() {
			return 0, false
		}
		if s.swap(g, g+startedOne) {
			return g.started(), true
		}
	}
}

// record keeps the outcome of a call that returned.
func (s *Slot) record(k int, err error) {
	t, r := &s.tasks[k], &s.results[k]
	r.Token, t.Payload = t.Token, nil
	if err == nil && !s.ctx.touched.Load() {
		return
	}
	kind := s.leaveContext()
	if err != nil {
		r.Kind, r.Err = kind, err
	}
}

// leaveContext ends the context, if it was looked at, for another, and says as what a call with an error then counts.
func (s *Slot) leaveContext() Kind {
	if !s.ctx.touched.Load() {
		return Done
	}
	cause := s.ctx.retire()
	s.ctx = &callContext{slot: s}
	switch {
	case cause == nil:
		return Done
	case errors.Is(cause, error(s.pool.limit)):
		return TimedOut
	}
	return Canceled
}

// broken keeps the outcome of a call that did not return: v is what it panicked with, nil if it ended its goroutine. In
// that case the goroutine cannot be saved, and a new one goes on in its place.
func (s *Slot) broken(v any) {
	k := s.load().started() - 1
	t, r := &s.tasks[k], &s.results[k]
	s.leaveContext()
	*r = Result{Token: t.Token, Kind: Panicked, Stack: ownStack()}
	t.Payload = nil
	if v == nil {
		r.Err = ErrGoexit
		go s.run()
		return
	}
	r.Err = &PanicError{Value: v}
}

// settle takes what results of the finished chunk nobody else took.
func (s *Slot) settle() (from, to int, ok bool) {
	for {
		g := s.load()
		if g.abandoned() {
			return 0, 0, false
		}
		if s.swap(g, g.settled()) {
			return g.flushed(), g.end(), true
		}
	}
}

// begin gives the slot the chunk that lies in tasks[:n]. The pool's lock is held.
func (s *Slot) begin(q *Queue, n int, now time.Duration) {
	s.busy = true
	s.queue.Store(q)
	s.since.Store(int64(now))
	s.progress.Store(uint64(chunk(n)))
}

// cut takes back the tasks of the chunk that have not started; they stay valid for as long as the pool's lock is held.
func (s *Slot) cut() []Task {
	for {
		g := s.load()
		if g.abandoned() || g.started() == g.end() {
			return nil
		}
		if s.swap(g, g.cut()) {
			return s.tasks[g.started():g.end()]
		}
	}
}

// flush appends the results to dst that wait behind the running call. The pool's lock is held.
func (s *Slot) flush(dst []Result) []Result {
	for {
		g := s.load()
		from, to := g.flushed(), g.started()-1
		if g.abandoned() || from >= to {
			return dst
		}
		if s.swap(g, g.flush()) {
			dst = append(dst, s.results[from:to]...)
			clear(s.results[from:to])
			return dst
		}
	}
}

// abandon gives up on the running call, which must have nothing before or behind it. It reports false if the call returned
// meanwhile. The pool's lock is held.
func (s *Slot) abandon() bool {
	g := s.load()
	if !g.calling() || g.abandoned() || g.started() != g.end() || g.flushed() != g.started()-1 {
		return false
	}
	return s.swap(g, g|abandonedBit)
}

// began says when the running call began: the chunk's own time for its first call. A later one began a little after; it is
// not known when, but before the supervisor came to break up the chunk.
func (s *Slot) began(g progress, now time.Duration) time.Duration {
	since := time.Duration(s.since.Load())
	if g.started() <= 1 {
		return since
	}
	return max(since, min(now, since+2*tick))
}

var _ context.Context = (*callContext)(nil)
