//go:build synctests

package sim_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/laneway-go/laneway/processor"
)

// will is what the handler of a record does.
type will uint8

const (
	succeed   will = iota
	failTimes      // fails n times, then succeeds
	failAlways
	permanent
	skip
	snooze // asks for patience n times, then succeeds
	panics // n times, then succeeds
	hangs  // until its context ends, n times, then succeeds
	deaf   // longer than anybody waits, n times, then succeeds
	unsure // fails n times and does not say whether the effect took place
	nWills
)

var willNames = [...]string{"succeed", "failTimes", "failAlways", "permanent", "skip", "snooze", "panics", "hangs", "deaf", "unsure"}

func (w will) String() string { return willNames[w] }

// ending is how a handler call ended.
type ending uint8

const (
	running ending = iota
	effect         // the effect took place, and the handler said so
	failed
	ended     // permanently failed
	skipped   //
	snoozed   //
	panicked  //
	timedOut  // its context ended
	abandoned // it did not look at its context
	died      // its process died
	uncertain
)

var endingNames = [...]string{
	"running", "effect", "failed", "ended", "skipped", "snoozed", "panicked", "timedOut", "abandoned", "died", "uncertain",
}

func (e ending) String() string { return endingNames[e] }

// record is a source record of the plan.
type record struct {
	id        int
	partition int32
	offset    int64 // once it is produced
	key       string
	x         string // of the idempotency key; unique unless another record has the same
	will      will
	times     int           // of those that do something so often
	takes     time.Duration // of each call
	wait      time.Duration // of a snooze

	// Scenarios may say what a call does, or hold it until the gate is closed.
	script func(*call) (ending, error)
	gate   chan struct{}
}

// call is one handler call, as the handler itself saw it.
type call struct {
	rec      *record
	member   *member
	fence    int64
	run      uint32
	attempt  int
	snoozes  int
	start    time.Time
	end      time.Time
	ending   ending
	canceled error // cause of the context's end, where that is how it ended
}

// ledger is kept by the handlers, outside of the worker.
type ledger struct {
	mu    sync.Mutex
	calls []*call
}

func (l *ledger) begin(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.start = time.Now()
	l.calls = append(l.calls, c)
}

// cancel notes why a call was told to stop.
func (l *ledger) cancel(c *call, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.canceled = why
}

// end closes a call. A process that has died meanwhile has no effect any more.
func (l *ledger) end(c *call, how ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ending == died {
		return
	}
	c.end, c.ending = time.Now(), how
}

// kill ends all calls of a process.
func (l *ledger) kill(m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.member == m && c.ending == running {
			c.end, c.ending = time.Now(), died
		}
	}
}

// isDeaf says whether the call ignored its context: it was given up while it ran on.
func (c *call) isDeaf() bool { return c.rec.will == deaf && c.attempt+c.snoozes <= c.rec.times }

var (
	errNotYet = errors.New("not yet")
	errNever  = errors.New("never")
	errBusy   = errors.New("busy")
	errDead   = errors.New("process is dead")
)

// handle does what the plan says of the record.
func (m *member) handle(ctx context.Context, msg *processor.Message) error {
	if f := m.world.onMessage; f != nil {
		return f(msg)
	}
	rec := m.world.find(msg)
	if rec == nil {
		return nil
	}
	c := &call{rec: rec, member: m, fence: msg.Fence, run: msg.Run, attempt: msg.Attempt, snoozes: msg.Snoozes}
	m.world.ledger.begin(c)
	if hook := m.world.onCall; hook != nil {
		hook(c)
	}
	how, err := m.work(ctx, c)
	m.world.ledger.end(c, how)
	if how == panicked {
		panic(err)
	}
	return err
}

// work makes the call last as long as it should and says how it ends.
func (m *member) work(ctx context.Context, c *call) (ending, error) {
	r := c.rec
	again := c.attempt+c.snoozes <= r.times
	takes, done := r.takes, ctx.Done()
	switch {
	case r.will == hangs && again:
		takes = time.Hour
	case r.will == deaf && again:
		takes, done = callTimeout+callGrace+2*time.Second, nil
	}
	if takes > 0 {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-m.killed:
			return died, errDead
		case <-done:
			m.world.ledger.cancel(c, context.Cause(ctx))
			return timedOut, context.Cause(ctx)
		}
	}
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-m.killed:
		case <-done:
			m.world.ledger.cancel(c, context.Cause(ctx))
			return timedOut, context.Cause(ctx)
		}
	}
	select {
	case <-m.killed:
		return died, errDead
	default:
	}
	if r.script != nil {
		return r.script(c)
	}
	switch {
	case r.will == failAlways || r.will == failTimes && again:
		return failed, errNotYet
	case r.will == permanent:
		return ended, processor.Permanent(errNever)
	case r.will == skip:
		return skipped, processor.Skip("nothing to do")
	case r.will == snooze && again:
		return snoozed, processor.RetryAfter(errBusy, r.wait)
	case r.will == panics && again:
		return panicked, errNotYet
	case r.will == deaf && again:
		return abandoned, errNotYet
	case r.will == unsure && again:
		return uncertain, processor.Uncertain(errNotYet)
	}
	return effect, nil
}
