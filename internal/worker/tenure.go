package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/origin"
)

// tenure runs one ownership of one lane.
type tenure struct {
	w         *Worker
	topic     *topic
	partition int32
	member    string // member id of the group when the lane was assigned (R23)
	log       *slog.Logger

	in          inbox
	orders      orders
	done        chan struct{} // closed when the tenure has ended
	fence       atomic.Int64
	committedTo atomic.Pointer[[]int64] // by part: what the last acknowledged commit says
	status      atomic.Pointer[Status]
	again       atomic.Bool // after the end the lane may still be ours: begin anew
	clean       bool        // the last commit was acknowledged
	refused     bool        // a commit was refused as not ours; guarded by the mutex of the lanes

	// What follows belongs to the tenure's goroutine.
	m            *lane.Machine
	sourceID     origin.TopicID
	reading      reading
	queue        *dispatch.Queue
	backlog      []backlog // by part
	copies       []lane.Copy
	tasks        []dispatch.Task
	out          int // calls that are out
	maxOut       int
	crowded      bool  // the source is not fetched because too many records wait
	touched      int64 // see touch
	evidence     map[int32]*evidence
	now          time.Time
	lastCommit   time.Time
	sentCommit   lane.Commit
	lastPosition time.Time
	commitAfter  time.Time // a commit was refused: none before this
	epoch        int32     // leader epoch of the last source record that was admitted
	produceErr   error     // of this round's answers
	lastErr      error
	reported     time.Time
	troubled     bool // produces fail; said so once
	hasTurn      bool // see turns
	phase        lane.Phase
	counted      lane.Counts
	leave        leaving
	figures      figures
	beat         beat
}

var (
	errTruncated = errors.New("the log was cut or its topic created anew")
	errGivenUp   = errors.New("lane given up")
)

func newTenure(w *Worker, t *topic, partition int32, member string) *tenure {
	n := &tenure{
		w: w, topic: t, partition: partition, member: member, done: make(chan struct{}), maxOut: max(maxOut, 2*t.Concurrency),
		evidence: map[int32]*evidence{}, backlog: make([]backlog, len(t.parts)),
		log: w.cfg.Logger.With(slog.Group("lane", slog.String("topic", t.Names.Source()), slog.Int("partition", int(partition)))),
	}
	n.in.init()
	n.orders.init()
	n.figures.init(len(t.parts))
	return n
}

// run owns the lane from its assignment to its end.
func (t *tenure) run() {
	defer close(t.done)
	ctx, stop := t.orders.context(t.w.ctx)
	defer stop()
	if err := t.takeOver(ctx); err != nil {
		t.abortTakeover(err)
		return
	}
	t.queue = t.topic.pool.Owner(t)
	defer t.queue.Close()
	t.topic.counts.begun(t.partition)
	if t.topic.Mode != lane.Off {
		var expiry sync.WaitGroup
		defer expiry.Wait()
		expiry.Go(func() { t.expire(ctx) })
		defer stop()
	}
	t.loop()
	t.awaitCalls()
	t.w.turns.release(t)
	t.closeParts()
	t.report()
	t.topic.counts.ended(t.partition, t.counted.Waiting)
	t.w.waiting.Add(-t.counted.Waiting)
}

// awaitCalls waits, if the lane may begin anew in this process, until the calls of this tenure have ended: the next one would run
// the same records beside them. They are cancelled; one that ignores that is waited for until the drain deadline.
func (t *tenure) awaitCalls() {
	if !t.again.Load() || t.queue.Running() == 0 {
		return
	}
	t.queue.Cancel(errGivenUp)
	deadline := time.NewTimer(t.w.cfg.Drain)
	defer deadline.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for t.queue.Running() > 0 {
		select {
		case <-look.C:
		case <-deadline.C:
			return
		case <-t.w.ctx.Done():
			return
		}
	}
}

// abortTakeover ends a tenure that did not get to its machine's first round.
func (t *tenure) abortTakeover(err error) {
	if t.orders.given() {
		return
	}
	t.again.Store(true)
	t.log.Warn("take-over failed", slog.Any("error", err))
}

// loop hands the lane's news to the machine until the tenure ends.
func (t *tenure) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for t.m.Phase() != lane.Closed {
		select {
		case <-t.in.wake:
		case <-t.orders.changed:
		case <-timer.C:
		case <-t.w.ctx.Done():
			t.m.Lost()
		}
		t.now = time.Now()
		t.beat.begin(t.now)
		t.obey()
		t.round()
		t.beat.end()
		if at, ok := t.nextWake(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
	}
}

// round takes in what has happened and carries out what follows from it.
func (t *tenure) round() {
	n := t.in.take()
	t.m.Tick(t.now.UnixMilli()) // a delay begins when the handler returned, not at the last round
	t.answered(n.writes)
	t.out -= len(n.ok) + len(n.other)
	t.m.ReturnedOK(n.ok)
	t.returned(n.other)
	t.committed(n.commits)
	for _, b := range n.fetched {
		t.backlog[b.part].add(b)
	}
	t.forget(n.old)
	if n.truncated {
		t.restart(errTruncated)
	}
	t.in.recycle(n)
	for more := true; more; {
		more = t.admit()
		t.m.Flush(t.now.UnixMilli())
		t.carryOut()
	}
	t.takeTurns()
	t.control()
	if t.m.Phase() == lane.Running && t.now.Sub(t.lastPosition) >= positionEvery || t.m.Phase() == lane.Leaving && t.phase != lane.Leaving {
		t.writePosition()
	}
	t.maybeCommit()
	t.report()
}

// carryOut does what the machine asks for.
func (t *tenure) carryOut() {
	out := t.m.Out()
	t.produce(out.Writes)
	t.tasks = t.tasks[:0]
	for _, s := range out.Starts {
		t.tasks = append(t.tasks, dispatch.Task{
			Token: uint64(s.Ref), Payload: s.Payload, Attempt: int32(s.Attempt), Urgent: s.Part != lane.Source, Alone: s.Alone,
		})
	}
	out.Reset()
	if len(t.tasks) > 0 {
		t.out += len(t.tasks)
		t.queue.Submit(t.tasks)
		clear(t.tasks)
	}
}

// nextWake returns when the lane wants a round even without news.
func (t *tenure) nextWake() (time.Time, bool) {
	at, ok := time.Time{}, false
	if ms, waits := t.m.NextWake(); waits {
		at, ok = time.UnixMilli(ms), true
	}
	switch t.m.WantsCommit() {
	case lane.CommitSoon:
		at, ok = earlier(at, ok, later(t.lastCommit.Add(t.w.cfg.CommitInterval), t.commitAfter)), true
	case lane.CommitNow:
		at, ok = earlier(at, ok, t.commitAfter), true
	case lane.NoCommit:
	}
	if t.m.Phase() == lane.Running {
		at, ok = earlier(at, ok, t.lastCommit.Add(repeatCommit)), true
	}
	if t.figures.unpublished {
		at, ok = earlier(at, ok, t.reported.Add(statusInterval)), true
	}
	if t.crowded {
		at, ok = earlier(at, ok, t.now.Add(crowdedWait)), true
	}
	if !t.leave.next.IsZero() {
		at, ok = earlier(at, ok, t.leave.next), true
	}
	return at, ok
}

// crowdedWait is how often a lane that takes no new records looks whether there is room again: others make it.
const crowdedWait = time.Second

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// earlier returns the earlier of two times; only other if ok is false.
func earlier(at time.Time, ok bool, other time.Time) time.Time {
	if !ok || other.Before(at) {
		return other
	}
	return at
}

// restart ends the tenure as if it were lost; the lane is still ours and is taken over anew (R41).
func (t *tenure) restart(why error) {
	if t.m.Phase() == lane.Closed {
		return
	}
	t.log.Warn("tenure ends", slog.Any("error", why))
	t.again.Store(true)
	t.m.Lost()
}

// lost ends the tenure: somebody else owns the lane, or will.
func (t *tenure) lost() { t.m.Lost() }

// context returns a context for the take-over: it ends when the lane is given up or lost.
func (o *orders) context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	o.mu.Lock()
	o.cancel = cancel
	if o.giveUp || o.lose {
		cancel(errGivenUp)
	}
	o.mu.Unlock()
	return ctx, func() { cancel(nil) }
}
