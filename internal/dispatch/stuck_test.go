package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laneway-go/laneway/internal/dispatch"
)

// hang is a call that ignores its context until it is let go.
func hang(letGo <-chan struct{}) work {
	return func(context.Context, *dispatch.Task) error {
		hangsHere(letGo)
		return nil
	}
}

//go:noinline
func hangsHere(letGo <-chan struct{}) { <-letGo }

// The night's first invoice calls a server that never answers, without a time limit of its own, with one slot.
func TestOneHungCallStopsNobodyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		var told []dispatch.StuckInfo
		pool := dispatch.New(dispatch.Config{
			Slots: 1, Timeout: 30 * time.Second, Grace: 10 * time.Second,
			OnStuck: func(i dispatch.StuckInfo) { told = append(told, i) },
		}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		begin := time.Now()
		q.Submit(task(0, hang(letGo)))
		q.Submit(tasks(1, 5000, nil))
		<-time.After(40*time.Second - time.Millisecond)
		if n := owner.count(); n != 0 {
			t.Errorf("%d results before the limit", n)
		}
		if in := pool.InFlight(); len(in) != 1 || in[0].Token != 0 || in[0].Age != time.Since(begin) || in[0].Abandoned {
			t.Errorf("in flight: %+v", in)
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if n := owner.count(); n != 5000 {
			t.Errorf("%d results after the limit, want 5000", n)
		}
		res := owner.kind(t, 0, dispatch.Stuck)
		if !errors.Is(res.Err, context.DeadlineExceeded) || !strings.Contains(string(res.Stack), "hangsHere") {
			t.Errorf("stuck with %v and the stack\n%s", res.Err, res.Stack)
		}
		if len(told) != 1 || told[0].Token != 0 || told[0].Owner != owner || !told[0].Since.Equal(begin) {
			t.Errorf("told %+v", told)
		}
		if in := pool.InFlight(); len(in) != 1 || !in[0].Abandoned {
			t.Errorf("in flight: %+v", in)
		}
		close(letGo)
		synctest.Wait()
		owner.one(t, 0) // the late return changes nothing
		if s := pool.Stats(); s.LateReturns != 1 || s.Abandoned != 0 || s.Slots != 1 {
			t.Errorf("%+v", s)
		}
		stop()
	})
}

func TestStuckCallsLeaveABoundedNumberOfGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		var running atomic.Int64
		pool := dispatch.New(dispatch.Config{Slots: 4, MaxAbandoned: 3, Timeout: time.Second, Grace: time.Second}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(0, 50, func(context.Context, *dispatch.Task) error {
			running.Add(1)
			<-letGo
			running.Add(-1)
			return nil
		}))
		<-time.After(time.Hour)
		synctest.Wait()
		if s := pool.Stats(); running.Load() != 7 || s.Slots != 0 || s.Lost != 4 || s.Abandoned != 7 || s.Pending != 43 {
			t.Errorf("%d calls run, %+v", running.Load(), s)
		}
		for token := range uint64(7) {
			owner.kind(t, token, dispatch.Stuck)
		}
		close(letGo) // the slots that were lost come back
		synctest.Wait()
		if s := pool.Stats(); s.Slots != 4 || s.Lost != 0 || s.LateReturns != 7 {
			t.Errorf("%+v", s)
		}
		for token := uint64(7); token < 50; token++ {
			owner.kind(t, token, dispatch.Done)
		}
		stop()
	})
}

func TestStuckCallOfAChunkIsFoundWithinTwoTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		pool := dispatch.New(dispatch.Config{Slots: 1, Timeout: time.Second, Grace: time.Second}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(1000, 3000, nil))
		synctest.Wait()
		ts := tasks(0, 100, nil)
		ts[50] = task(50, hang(letGo))[0]
		begin := time.Now()
		q.Submit(ts)
		<-time.After(10 * time.Second)
		if at := owner.when(50).Sub(begin); at < 2*time.Second || at > 2*time.Second+10*time.Millisecond {
			t.Errorf("stuck after %v", at)
		}
		for token := range uint64(100) {
			owner.one(t, token)
		}
		close(letGo)
		stop()
	})
}

func TestCrashEndsRunAndSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		told := 0
		pool := dispatch.New(dispatch.Config{
			Slots: 3, Timeout: 2 * time.Second, Grace: time.Second, Stuck: dispatch.Crash,
			OnStuck: func(dispatch.StuckInfo) { told++ },
		}, call)
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(t.Context()) }()
		owner := &recorder{}
		q := pool.Owner(owner)
		begin := time.Now()
		q.Submit(task(0, hang(letGo)))
		<-time.After(1500 * time.Millisecond)
		q.Submit(tasks(1, 3, sleep(2*time.Second)))
		q.Submit(tasks(3, 5, nil))
		if err := <-ended; !errors.Is(err, dispatch.ErrStuck) {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(begin); took != 3500*time.Millisecond || told != 1 {
			t.Errorf("Run returned after %v, told %d times", took, told)
		}
		owner.kind(t, 1, dispatch.Done)
		owner.kind(t, 2, dispatch.Done)
		owner.kind(t, 3, dispatch.Unstarted)
		owner.kind(t, 4, dispatch.Unstarted)
		if owner.count() != 4 {
			t.Errorf("results: %v", owner.results)
		}
		close(letGo)
	})
}

func TestAbandonEndsRunWithCallsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		pool := dispatch.New(dispatch.Config{Slots: 3}, call)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(ctx) }()
		owner := &recorder{}
		q := pool.Owner(owner)
		drainOver := errors.New("drain over")
		q.Submit(task(0, hang(letGo)))
		q.Submit(task(1, wait))
		synctest.Wait()
		cancel()
		<-time.After(time.Second)
		pool.Cancel(drainOver)
		synctest.Wait()
		owner.kind(t, 1, dispatch.Canceled)
		select {
		case err := <-ended:
			t.Fatalf("Run returned %v while a call runs", err)
		default:
		}
		pool.Abandon()
		if err := <-ended; !errors.Is(err, dispatch.ErrAbandoned) {
			t.Errorf("Run: %v", err)
		}
		close(letGo)
		synctest.Wait()
		if s := pool.Stats(); owner.count() != 1 || s.LateReturns != 1 {
			t.Errorf("results %v, %+v", owner.results, s)
		}
	})
}

func TestSlowCallsCostNoTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 4, Timeout: 10 * 24 * time.Hour}, call)
		stop := start(t, pool)
		owner := &recorder{}
		pool.Owner(owner).Submit(tasks(0, 4, sleep(9*24*time.Hour)))
		<-time.After(9 * 24 * time.Hour) // 155 million ticks would take minutes of real time
		synctest.Wait()
		if owner.count() != 4 {
			t.Errorf("%d results, want 4", owner.count())
		}
		stop()
	})
}
