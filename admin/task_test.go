package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/processor"
)

func redrive(spec admin.Spec) admin.Spec {
	spec.Kind, spec.Source, spec.Reason, spec.By, spec.Rate = admin.KindRedrive, "orders", "card network is back", "op@host", -1
	return spec
}

func (w *world) plan(c *admin.Client, spec admin.Spec) *admin.Plan {
	w.t.Helper()
	p, err := c.Plan(w.t.Context(), spec, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) create(c *admin.Client, spec admin.Spec) *admin.Task {
	w.t.Helper()
	task, err := c.Create(w.t.Context(), w.plan(c, spec))
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

func TestARedriveThatIsKilledGoesOnElsewhereWithoutGapOrSecondPass(t *testing.T) {
	const n = 2000
	w := newWorld(t, 2)
	w.dieAll(n)
	first := w.admin()
	first.SetLease(time.Second)
	task := w.create(first, redrive(admin.Spec{}))

	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	batches := 0
	_, err := first.Execute(ctx, task.Number, func(admin.Task) {
		if batches++; batches == 3 {
			first.Close() // no last word is written down
			kill()
		}
	})
	if err == nil {
		t.Fatal("the killed one is done")
	}
	second := w.admin()
	var got *admin.Task
	for got == nil {
		got, err = second.Execute(t.Context(), task.Number, nil)
		if err != nil && !errors.Is(err, admin.ErrHeld) {
			t.Fatal(err)
		}
	}
	if got.Phase != admin.PhaseDone || got.Progress.Sent != n || got.Progress.Resolved != n || got.Left() != 0 {
		t.Errorf("%+v", got)
	}
	handled := newCounted(n)
	stop := w.work(handled.handle)
	<-handled.all
	stop()
	for value, calls := range handled.calls {
		if calls != 1 {
			t.Errorf("order %s ran %d times", value, calls)
		}
	}
	if left := letters(t, second, admin.Query{}); len(left) != 0 {
		t.Errorf("%d dead letters are not resolved", len(left))
	}
	if _, err := second.Execute(t.Context(), task.Number, nil); !errors.Is(err, admin.ErrEnded) {
		t.Errorf("once more: %v", err)
	}
}

func TestWhatComesBackIsCountedAndNotSentAgain(t *testing.T) {
	const n = 40
	w := newWorld(t, 1)
	w.dieAll(n)
	c := w.admin()
	task := w.create(c, redrive(admin.Spec{}))
	died := make(chan struct{}, 2*n)
	stop := w.work(func(context.Context, *processor.Message) error {
		died <- struct{}{}
		return processor.Permanent(errors.New("still refused"))
	})
	got, err := c.Execute(t.Context(), task.Number, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		<-died
	}
	stop()
	returned, err := c.Returned(t.Context(), got)
	if err != nil || returned != n || got.Progress.Sent != n {
		t.Errorf("%d sent, %d returned, %v", got.Progress.Sent, returned, err)
	}
	left := letters(t, c, admin.Query{})
	if len(left) != n {
		t.Fatalf("%d dead letters", len(left))
	}
	for _, d := range left {
		if d.Envelope.Run != task.Number || d.Envelope.ReplayID != got.ReplayID() || d.Envelope.ErrorMessage != "still refused" {
			t.Errorf("%+v", d.Envelope)
		}
		if len(d.Headers) != 1 || d.Headers[0].Key != "tenant" || d.Envelope.OriginTraceparent != "00-abc" {
			t.Errorf("headers %v, trace %q", d.Headers, d.Envelope.OriginTraceparent)
		}
	}
}

func TestOneProcessHasATask(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(30)
	one, other := w.admin(), w.admin()
	spec := redrive(admin.Spec{})
	spec.Rate = 10
	task := w.create(one, spec)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		_, err := one.Execute(ctx, task.Number, func(admin.Task) { begun <- struct{}{} })
		ended <- err
	}()
	<-begun
	if _, err := other.Execute(t.Context(), task.Number, nil); !errors.Is(err, admin.ErrHeld) {
		t.Errorf("the other process: %v", err)
	}
	if got, err := other.Cancel(t.Context(), task.Number, "op@host", "wrong ones", time.Now()); err != nil || got.Phase != admin.PhaseCancelling {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	if err := <-ended; !errors.Is(err, admin.ErrCancelled) {
		t.Errorf("the one that was cancelled: %v", err)
	}
	got, err := other.Task(t.Context(), task.Number, time.Now())
	if err != nil || got.Phase != admin.PhaseCancelled || got.Cancel != "wrong ones" || got.Progress.Sent >= 30 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAPausedTaskGoesOn(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(30)
	c := w.admin()
	spec := redrive(admin.Spec{})
	spec.Rate = 10
	task := w.create(c, spec)
	ctx, cancel := context.WithCancel(t.Context())
	saves := 0
	got, err := c.Execute(ctx, task.Number, func(admin.Task) {
		if saves++; saves == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || got.Phase != admin.PhasePaused || got.Progress.Sent != 10 {
		t.Fatalf("%+v, %v", got, err)
	}
	got, err = c.Execute(t.Context(), task.Number, nil)
	if err != nil || got.Phase != admin.PhaseDone || got.Progress.Sent != 30 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestADiscardResolvesWithoutSending(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(20)
	c := w.admin()
	spec := admin.Spec{Kind: admin.KindDiscard, Source: "orders", Reason: "test data", By: "op@host", Filter: admin.Filter{
		Headers: []admin.HeaderEqual{{Name: "tenant", Value: "t1"}},
	}}
	task := w.create(c, spec)
	got, err := c.Execute(t.Context(), task.Number, nil)
	if err != nil || got.Progress != (admin.Progress{Resolved: 10}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := w.plan(c, spec).Refusal(); !errors.Is(err, admin.ErrNothing) {
		t.Errorf("once more: %v", err)
	}
	if n := w.PartitionInfo(w.names.Replay(), 0).HighWatermark; n != 0 {
		t.Errorf("%d records were sent", n)
	}
	for _, d := range letters(t, c, admin.Query{}) {
		if string(d.Headers[0].Value) != "t0" {
			t.Errorf("%s is not resolved", d.Place())
		}
	}
	if n := len(letters(t, c, admin.Query{Resolved: true})); n != 20 {
		t.Errorf("%d dead letters in all", n)
	}
}

func TestAPlanCountsWhatIsDoneAndRefusesWhatIsExpired(t *testing.T) {
	w := newWorld(t, 1)
	w.orders(10)
	handled := newCounted(10)
	stop := w.work(handled.handle)
	<-handled.all
	stop()
	c := w.admin()
	spec := admin.Spec{Kind: admin.KindReplay, Source: "orders", Reason: "lost in the ledger", By: "op@host"}
	spec.Filter.Range.From = admin.AtOffset(4)
	p := w.plan(c, spec)
	if p.Sends != 6 || p.Done != 6 || p.Expired != 0 || p.Duration != 600*time.Millisecond || p.Refusal() != nil || len(p.Samples) != 5 {
		t.Errorf("%+v, %v", p, p.Refusal())
	}
	later, err := c.Plan(t.Context(), spec, time.Now().Add(p.Window+time.Hour))
	if err != nil || later.Expired != 6 || !errors.Is(later.Refusal(), admin.ErrExpired) {
		t.Errorf("%+v, %v, %v", later, later.Refusal(), err)
	}
	later.Spec.AllowExpired = true
	if err := later.Refusal(); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

func TestAReplayOfARangeRunsWhatIsDoneOnlyIfForced(t *testing.T) {
	w := newWorld(t, 1)
	w.orders(10)
	handled := newCounted(10 + 3)
	stop := w.work(handled.handle)
	c := w.admin()
	w.settle(c)
	spec := admin.Spec{Kind: admin.KindReplay, Source: "orders", Reason: "lost in the ledger", By: "op@host", Rate: -1}
	spec.Filter.Range = admin.Range{From: admin.AtOffset(4), To: admin.AtOffset(7)}
	for _, force := range []bool{false, true} {
		spec.RerunDone = force
		if got, err := c.Execute(t.Context(), w.create(c, spec).Number, nil); err != nil || got.Progress.Sent != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	<-handled.all
	stop()
	for value, calls := range handled.calls {
		want := 1
		if value >= "4" && value < "7" {
			want = 2
		}
		if calls != want {
			t.Errorf("order %s ran %d times, want %d", value, calls, want)
		}
	}
}

// settle waits until the group has committed all it was given.
func (w *world) settle(c *admin.Client) {
	w.t.Helper()
	for {
		s, err := c.Status(w.t.Context(), time.Now())
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Lag() == 0 && len(s.Lanes) > 0 && !s.Lanes[0].NoOffsets {
			return
		}
		select {
		case <-w.t.Context().Done():
			w.t.Fatal("not settled")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestAPausedReplayGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t, 2)
	w.orders(60)
	handled := newCounted(60)
	stop := w.work(handled.handle)
	<-handled.all
	stop()
	c := w.admin()
	spec := admin.Spec{Kind: admin.KindReplay, Source: "orders", Reason: "lost in the ledger", By: "op@host", Rate: 20}
	task := w.create(c, spec)
	ctx, cancel := context.WithCancel(t.Context())
	saves := 0
	if _, err := c.Execute(ctx, task.Number, func(admin.Task) {
		if saves++; saves == 2 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	got, err := w.admin().Execute(t.Context(), task.Number, nil)
	if err != nil || got.Progress.Sent != 60 {
		t.Errorf("%+v, %v", got, err)
	}
	sent := w.PartitionInfo(w.names.Replay(), 0).HighWatermark + w.PartitionInfo(w.names.Replay(), 1).HighWatermark
	if sent != 60 {
		t.Errorf("%d records were written", sent)
	}
}
