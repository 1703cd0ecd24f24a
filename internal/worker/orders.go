package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
)

// orders are what the worker wants of a lane.
type orders struct {
	mu      sync.Mutex
	giveUp  bool
	lose    bool
	renew   bool
	drain   time.Duration // from the give-up on
	changed chan struct{} // holds one token
	cancel  context.CancelCauseFunc
}

func (o *orders) init() { o.changed = make(chan struct{}, 1) }

func (o *orders) set(change func(*orders)) {
	o.mu.Lock()
	change(o)
	if o.cancel != nil && (o.giveUp || o.lose) {
		o.cancel(errGivenUp)
	}
	o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *orders) given() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.giveUp || o.lose
}

// giveUp asks for an end in good order within the drain deadline; see done.
func (t *tenure) giveUp(drain time.Duration) {
	t.orders.set(func(o *orders) { o.giveUp, o.drain = true, drain })
}

// leaving is the course of a give-up.
type leaving struct {
	began time.Time
	next  time.Time // when the next deadline is
	step  int       // deadlines that have passed
	drain time.Duration
}

// flushTime is what is left for the last writes and the last commit after handlers were cancelled, a step each.
const flushTime = 2 * time.Second

// obey carries out what was ordered since the last round.
func (t *tenure) obey() {
	t.orders.mu.Lock()
	giveUp, lose, renew, drain := t.orders.giveUp, t.orders.lose, t.orders.renew, t.orders.drain
	t.orders.renew = false
	t.orders.mu.Unlock()
	switch {
	case lose:
		t.lost()
	case giveUp && t.leave.began.IsZero():
		t.beginLeaving(drain)
	case renew:
		t.m.RenewTenure(t.now.UnixMilli())
	}
	t.continueLeaving()
}

// beginLeaving stops intake and takes back what no handler has begun.
func (t *tenure) beginLeaving(drain time.Duration) {
	t.leave = leaving{began: t.now, next: t.now.Add(drain), drain: drain}
	t.m.GiveUp()
	for i := range t.backlog {
		t.backlog[i].clear()
	}
	for _, task := range t.queue.TakeBack() {
		t.out--
		t.m.Returned(lane.Ref(task.Token), lane.Outcome{Kind: lane.Unstarted})
	}
}

// continueLeaving takes the steps whose deadline has passed: cancel the handlers, stop waiting for them and for writes, stop
// waiting for the last commit.
func (t *tenure) continueLeaving() {
	l := &t.leave
	if l.began.IsZero() || t.now.Before(l.next) || t.m.Phase() == lane.Closed {
		return
	}
	l.step++
	l.next = t.now.Add(flushTime)
	switch l.step {
	case 1:
		t.log.Info("drain deadline passed, cancelling handlers", slog.Int("calls", t.out))
		t.queue.Cancel(errGivenUp)
	case 2:
		t.log.Warn("lane is given up with work under way", slog.Int("calls", t.out))
		t.m.Abandon()
	default:
		t.log.Warn("lane is given up without a last commit")
		t.m.Lost()
	}
}

var _ dispatch.Owner = (*tenure)(nil)
