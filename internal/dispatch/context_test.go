package dispatch_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laneway-go/laneway/internal/dispatch"
)

// inCall makes one call, with a limit of 30 s and one slot, and returns its result.
func inCall(t *testing.T, w work) dispatch.Result {
	t.Helper()
	pool := dispatch.New(dispatch.Config{Slots: 1}, call)
	stop := start(t, pool)
	defer stop()
	owner := &recorder{}
	pool.Owner(owner).Submit(task(0, w))
	for owner.count() == 0 {
		<-time.After(time.Second)
	}
	return owner.one(t, 0)
}

func TestContextEndsAtTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		res := inCall(t, func(ctx context.Context, _ *dispatch.Task) error {
			<-time.After(10 * time.Second) // looks at its context late: the limit counts from the call's start
			if d, ok := ctx.Deadline(); !ok || !d.Equal(begin.Add(30*time.Second)) {
				t.Errorf("deadline %v, %v", d.Sub(begin), ok)
			}
			<-ctx.Done()
			if took := time.Since(begin); took != 30*time.Second {
				t.Errorf("context ended after %v", took)
			}
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("Err is %v", ctx.Err())
			}
			return context.Cause(ctx)
		})
		var limit *dispatch.TimeoutError
		var asNet net.Error
		if res.Kind != dispatch.TimedOut || !errors.As(res.Err, &limit) || limit.Limit != 30*time.Second ||
			!errors.Is(res.Err, context.DeadlineExceeded) || !errors.As(res.Err, &asNet) || !asNet.Timeout() ||
			!strings.Contains(res.Err.Error(), "30s") {
			t.Errorf("%v: %v", res.Kind, res.Err)
		}
	})
}

func TestErrAloneSeesTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := inCall(t, func(ctx context.Context, _ *dispatch.Task) error {
			begin := time.Now()
			for ctx.Err() == nil {
				<-time.After(time.Second)
			}
			if took := time.Since(begin); took != 30*time.Second {
				t.Errorf("ended after %v", took)
			}
			return ctx.Err()
		})
		if res.Kind != dispatch.TimedOut {
			t.Errorf("%v: %v", res.Kind, res.Err)
		}
	})
}

func TestKindFollowsFromErrorAndContext(t *testing.T) {
	own := errors.New("own")
	late := func(err error, look bool) work {
		return func(ctx context.Context, _ *dispatch.Task) error {
			if look {
				ctx.Done()
			}
			<-time.After(31 * time.Second)
			return err
		}
	}
	for name, tc := range map[string]struct {
		work work
		want dispatch.Kind
	}{
		"nil in time":                          {func(context.Context, *dispatch.Task) error { return nil }, dispatch.Done},
		"error in time":                        {func(context.Context, *dispatch.Task) error { return own }, dispatch.Done},
		"nil, late":                            {late(nil, true), dispatch.Done},
		"error, late":                          {late(own, true), dispatch.TimedOut},
		"error, late, context not looked at":   {late(own, false), dispatch.Done},
		"deadline error of its own, in time":   {func(context.Context, *dispatch.Task) error { return context.DeadlineExceeded }, dispatch.Done},
		"canceled by itself, looked at, early": {func(ctx context.Context, _ *dispatch.Task) error { ctx.Done(); return context.Canceled }, dispatch.Done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if res := inCall(t, tc.work); res.Kind != tc.want {
					t.Errorf("%v, want %v", res.Kind, tc.want)
				}
			})
		})
	}
}

func TestCancelEndsTheContextsOfItsQueueWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 2}, call)
		stop := start(t, pool)
		mine, other := &recorder{}, &recorder{}
		q, o := pool.Owner(mine), pool.Owner(other)
		drainOver := errors.New("drain over")
		child := func(ctx context.Context, _ *dispatch.Task) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		}
		q.Submit(task(0, child))
		o.Submit(task(0, child))
		synctest.Wait()
		q.Submit(tasks(1, 3, nil))
		q.Cancel(drainOver)
		synctest.Wait()
		if res := mine.kind(t, 0, dispatch.Canceled); !errors.Is(res.Err, drainOver) {
			t.Errorf("error %v", res.Err)
		}
		mine.kind(t, 1, dispatch.Unstarted)
		mine.kind(t, 2, dispatch.Unstarted)
		q.Submit(task(3, nil))
		synctest.Wait()
		mine.kind(t, 3, dispatch.Unstarted)

		<-time.After(2 * time.Second)
		if res := other.kind(t, 0, dispatch.Done); !errors.Is(res.Err, context.DeadlineExceeded) {
			t.Errorf("the other queue's call: %v", res.Err)
		}
		stop()
	})
}

func TestContextIsReusedUntilItIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		stop := start(t, pool)
		q := pool.Owner(&recorder{})
		var seen []context.Context
		keep := func(ctx context.Context, _ *dispatch.Task) error { seen = append(seen, ctx); return ctx.Err() }
		look := func(ctx context.Context, _ *dispatch.Task) error { seen = append(seen, ctx); ctx.Done(); return nil }
		q.Submit(tasks(0, 2, keep))
		q.Submit(tasks(2, 4, look))
		q.Submit(tasks(4, 6, keep))
		synctest.Wait()
		for i, same := range []bool{true, true, false, false, true} {
			if got := seen[i] == seen[i+1]; got != same {
				t.Errorf("calls %d and %d: same context %v, want %v", i, i+1, got, same)
			}
		}
		for i, ended := range []bool{true, true, true, true, false, false} { // the first three are one
			if err := seen[i].Err(); ended != errors.Is(err, context.Canceled) {
				t.Errorf("after call %d its context has %v", i, err)
			}
		}
		stop()
	})
}

// A goroutine that a call left behind looks at its context when the slot has been idle for an hour, and while another call
// runs in it. That must not end the other call.
func TestContextThatLeakedHarmsNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		leak := make(chan context.Context, 1)
		q.Submit(task(0, func(ctx context.Context, _ *dispatch.Task) error { leak <- ctx; return nil }))
		<-time.After(time.Hour)
		leaked := <-leak
		idle := leaked.Done()
		for token := range uint64(3) {
			q.Submit(task(1+token, func(ctx context.Context, _ *dispatch.Task) error {
				if token == 1 {
					leaked.Done()
				}
				if err := ctx.Err(); err != nil {
					t.Errorf("call %d begins with %v", token, err)
				}
				end := ctx.Done()
				if hasEnded(idle) && leaked.Err() == nil {
					t.Errorf("in call %d the leaked context has ended without an error", token)
				}
				select {
				case <-end:
					return context.Cause(ctx)
				case <-time.After(20 * time.Second):
					return nil
				}
			}))
		}
		<-time.After(61 * time.Second)
		for token := range uint64(3) {
			if res := owner.kind(t, 1+token, dispatch.Done); res.Err != nil {
				t.Errorf("call %d: %v", token, res.Err)
			}
		}
		if !hasEnded(idle) {
			t.Error("what the stray goroutine got never ends")
		}
		stop()
	})
}

func TestChildContextsCostNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inCall(t, func(ctx context.Context, _ *dispatch.Task) error {
			before := runtime.NumGoroutine()
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			_, cancelValue := context.WithTimeout(context.WithValue(child, key{}, 1), time.Hour)
			defer cancelValue()
			stop := context.AfterFunc(ctx, func() {})
			defer stop()
			if n := runtime.NumGoroutine(); n != before {
				t.Errorf("%d more goroutines", n-before)
			}
			return nil
		})
	})
}

func hasEnded(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

type key struct{}

func TestAfterFuncRunsWhenTheCallReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan error, 1)
		inCall(t, func(ctx context.Context, _ *dispatch.Task) error {
			context.AfterFunc(ctx, func() { ran <- ctx.Err() })
			return nil
		})
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Errorf("ran with %v", err)
		}
	})
}

func TestContextHasTheValuesOfRunAndNotItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(ctx) }()
		owner := &recorder{}
		pool.Owner(owner).Submit(task(0, func(ctx context.Context, _ *dispatch.Task) error {
			if got := ctx.Value(key{}); got != "value" {
				t.Errorf("before it was looked at: %v", got)
			}
			cancel()
			select {
			case <-ctx.Done():
				t.Error("ended with the context of Run")
			case <-time.After(time.Second):
			}
			if got := ctx.Value(key{}); got != "value" {
				t.Errorf("after it was looked at: %v", got)
			}
			return nil
		}))
		if err := <-ended; err != nil {
			t.Error(err)
		}
		owner.kind(t, 0, dispatch.Done)
	})
}

func TestContextIsSafeForManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 2, Timeout: time.Second}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		var stray sync.WaitGroup
		q.Submit(tasks(0, 300, func(ctx context.Context, t *dispatch.Task) error {
			for range 3 {
				stray.Go(func() {
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					_, _ = ctx.Deadline()
					_, _ = ctx.Err(), child.Err()
					_ = ctx.Value(key{})
				})
			}
			if t.Token%3 == 0 {
				<-ctx.Done()
			}
			return ctx.Err()
		}))
		<-time.After(10 * time.Minute)
		stray.Wait()
		stop()
		for token := range uint64(300) {
			want := dispatch.Done
			if token%3 == 0 {
				want = dispatch.TimedOut
			}
			owner.kind(t, token, want)
		}
	})
}

func TestLaterCallOfAChunkHasItsWholeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(1000, 3000, nil))
		synctest.Wait()
		q.Submit(slices.Concat(
			task(0, sleep(4*time.Millisecond)),
			task(1, func(ctx context.Context, _ *dispatch.Task) error {
				begin := time.Now()
				<-time.After(time.Second)
				d, _ := ctx.Deadline()
				if has := d.Sub(begin); has < 30*time.Second || has > 30*time.Second+10*time.Millisecond {
					t.Errorf("the call has %v", has)
				}
				return nil
			}),
		))
		<-time.After(2 * time.Second)
		owner.kind(t, 1, dispatch.Done)
		stop()
	})
}
