package dispatch

import (
	"context"
	"slices"
	"sync"
)

// Queue holds the tasks of one owner.
type Queue struct {
	pool  *Pool
	owner Owner

	delivery sync.RWMutex // held for reading during a delivery
	deaf     bool         // under delivery: nothing is delivered any more

	// Under the pool's lock. base is set before the queue's first chunk is handed out, and stays.
	base   context.Context //nolint:containedctx // the parent of this queue's calls' contexts
	cancel context.CancelCauseFunc
	state  queueState
	urgent ring[Task]
	tasks  ring[Task]
	listed bool // in the pool's ready ring
}

type queueState uint8

const (
	open     queueState = iota
	canceled            // tasks come back unstarted
	closed              // tasks are dropped
)

// String returns the state's name.
func (s queueState) String() string { return [...]string{"open", "canceled", "closed"}[s] }

// Submit adds tasks; they are copied. It never blocks: the bound on what waits is the owner's. What is submitted after
// [Queue.Cancel] comes back as [Unstarted], and after [Queue.Close] it is dropped.
func (q *Queue) Submit(tasks []Task) {
	p := q.pool
	p.mu.Lock()
	switch q.state {
	case open:
		q.add(tasks)
	case canceled:
		for i := range tasks {
			q.tasks.pushBack(tasks[i])
		}
		q.refuse()
	case closed:
	}
	alone := p.alone.len() > 0
	due := p.due()
	p.mu.Unlock()
	due.send()
	if alone {
		p.gate.advance()
	}
}

// TakeBack removes the tasks that have not started and returns them. No result comes for them.
func (q *Queue) TakeBack() []Task {
	p := q.pool
	p.mu.Lock()
	q.recall()
	if q.state == open {
		p.pending -= q.len()
	}
	tasks := q.drain()
	p.mu.Unlock()
	p.gate.advanceIfClosed()
	return tasks
}

// Cancel ends the contexts of the queue's calls with the cause; nil is [context.Canceled]. Its tasks that have not started
// come back as [Unstarted]. Only the first Cancel counts.
func (q *Queue) Cancel(cause error) {
	p := q.pool
	p.mu.Lock()
	if q.state != open {
		p.mu.Unlock()
		return
	}
	q.recall()
	p.pending -= q.len()
	q.state = canceled
	q.refuse()
	cancel := q.cancel
	due := p.due()
	p.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	due.send()
	p.gate.advanceIfClosed()
}

// Close ends the queue: tasks that have not started are dropped, the contexts of its calls end with [ErrClosed], and what
// they return is counted and not delivered. It waits for a delivery that is under way; after it [Owner.Returned] is not
// called. So it must not be called by Returned, nor with a lock held that Returned takes.
func (q *Queue) Close() {
	p := q.pool
	p.mu.Lock()
	q.recall()
	if q.state == open {
		p.pending -= q.len()
	}
	q.drain()
	q.state = closed
	cancel := q.cancel
	p.mu.Unlock()
	if cancel != nil {
		cancel(ErrClosed)
	}
	p.gate.advanceIfClosed()

	q.delivery.Lock()
	q.deaf = true
	q.delivery.Unlock()
}

// Pending counts the tasks that have not started. It looks at every slot: for status, not for each task.
func (q *Queue) Pending() int {
	p := q.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	n := q.len()
	for i := range p.alone.len() {
		if p.alone.at(i).queue == q {
			n++
		}
	}
	for _, s := range q.slots() {
		g := s.load()
		n += g.end() - g.started()
	}
	return n
}

// Running counts the calls that run, and those that have returned in a chunk that goes on; abandoned ones are not in it.
// It looks at every slot.
func (q *Queue) Running() int {
	p := q.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, s := range q.slots() {
		g := s.load()
		n += g.started() - g.flushed()
	}
	return n
}

// deliver gives results to the owner.
func (q *Queue) deliver(results []Result) {
	q.delivery.RLock()
	defer q.delivery.RUnlock()
	if q.deaf {
		q.pool.counters.dropped.Add(uint64(len(results)))
		return
	}
	q.owner.Returned(results)
}

// What follows needs the pool's lock.

func (q *Queue) len() int { return q.urgent.len() + q.tasks.len() }

// add puts tasks where slots find them.
func (q *Queue) add(tasks []Task) {
	p := q.pool
	for i := range tasks {
		switch t := &tasks[i]; {
		case t.Alone:
			p.alone.pushBack(aloneTask{q, *t})
			p.pending--
		case t.Urgent:
			q.urgent.pushBack(*t)
		default:
			q.tasks.pushBack(*t)
		}
	}
	p.pending += len(tasks)
	q.list()
}

// putBack returns the rest of a chunk to the front, in its order.
func (q *Queue) putBack(rest []Task) {
	for _, t := range slices.Backward(rest) {
		if t.Urgent {
			q.urgent.pushFront(t)
		} else {
			q.tasks.pushFront(t)
		}
	}
	clear(rest)
	q.pool.pending += len(rest)
	q.list()
}

func (q *Queue) list() {
	if !q.listed && q.len() > 0 {
		q.listed = true
		q.pool.ready.pushBack(q)
	}
}

// fill moves the next tasks to dst.
func (q *Queue) fill(dst []Task) int {
	n := q.urgent.take(dst)
	n += q.tasks.take(dst[n:])
	q.pool.pending -= n
	q.list()
	return n
}

// recall takes what has not started out of slots and of the pool, into the queue.
func (q *Queue) recall() {
	p := q.pool
	for i := p.alone.len(); i > 0; i-- {
		a := p.alone.popFront()
		if a.queue != q {
			p.alone.pushBack(a)
			continue
		}
		q.tasks.pushBack(a.task)
		p.pending++
	}
	for _, s := range q.slots() {
		if rest := s.cut(); len(rest) > 0 {
			q.putBack(rest)
		}
	}
}

// drain empties the queue.
func (q *Queue) drain() []Task {
	tasks := make([]Task, q.len())
	n := q.urgent.take(tasks)
	q.tasks.take(tasks[n:])
	return tasks
}

// refuse has the supervisor return what is in the queue.
func (q *Queue) refuse() {
	if q.len() > 0 {
		q.pool.refused = append(q.pool.refused, q)
	}
}

// slots returns those that have a chunk of the queue.
func (q *Queue) slots() []*Slot {
	var slots []*Slot
	for _, s := range q.pool.slots {
		if s.busy && s.queue.Load() == q {
			slots = append(slots, s)
		}
	}
	return slots
}

// openContext makes the parent of the queue's contexts. A queue that is not open starts nothing, and needs none.
func (q *Queue) openContext() {
	if q.base == nil {
		q.base, q.cancel = context.WithCancelCause(q.pool.work)
	}
}
