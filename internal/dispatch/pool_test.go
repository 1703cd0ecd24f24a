package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/laneway-go/laneway/internal/dispatch"
)

func TestAllSlotsWorkWhileTasksAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 100}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		rnd := rand.New(rand.NewPCG(1, 2))
		var total time.Duration
		var ts []dispatch.Task
		for token := range uint64(10_000) {
			d := time.Duration(rnd.Int64N(int64(5 * time.Millisecond)))
			total += d
			ts = append(ts, task(token, sleep(d))...)
		}
		begin := time.Now()
		q.Submit(ts)
		synctest.Wait()
		for owner.count() < len(ts) {
			<-time.After(time.Millisecond)
		}
		took := time.Since(begin)
		if ideal := total / 100; took > ideal+15*time.Millisecond {
			t.Errorf("10,000 tasks took %v, ideal %v and one task", took, ideal)
		}
		stop()
	})
}

func TestSlowCallDelaysItsNeighboursByTwoTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 2}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(1000, 3000, nil)) // teaches the pool that calls are fast
		synctest.Wait()
		if owner.batches > 100 {
			t.Fatalf("2,000 fast calls came back in %d batches: no chunks were made", owner.batches)
		}
		begin := time.Now()
		q.Submit(slices.Concat(tasks(0, 10, nil), task(10, sleep(30*time.Second)), tasks(11, 100, nil)))
		<-time.After(10 * time.Millisecond)
		synctest.Wait()
		for token := range uint64(100) {
			if token == 10 {
				continue
			}
			if late := owner.when(token).Sub(begin); owner.when(token).IsZero() || late > 10*time.Millisecond {
				t.Errorf("token %d came back after %v", token, late)
			}
		}
		if got := q.Running(); got != 1 {
			t.Errorf("%d calls run, want the slow one alone", got)
		}
		stop()
		owner.kind(t, 10, dispatch.Done)
	})
}

func TestUrgentTasksGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order sequence
		note := func(_ context.Context, t *dispatch.Task) error { order.add(t.Token); return nil }
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		q := pool.Owner(&recorder{})
		q.Submit(tasks(0, 3, note))
		urgent := tasks(3, 6, note)
		for i := range urgent {
			urgent[i].Urgent = true
		}
		q.Submit(urgent)
		stop := start(t, pool)
		synctest.Wait()
		if diff := cmp.Diff([]uint64{3, 4, 5, 0, 1, 2}, order.all()); diff != "" {
			t.Error(diff)
		}
		stop()
	})
}

func TestQueuesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order sequence
		note := func(_ context.Context, t *dispatch.Task) error {
			order.add(t.Token)
			<-time.After(time.Second)
			return nil
		}
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		long, short := pool.Owner(&recorder{}), pool.Owner(&recorder{})
		long.Submit(tasks(0, 100, note))
		short.Submit(tasks(100, 103, note))
		stop := start(t, pool)
		<-time.After(5500 * time.Millisecond)
		if diff := cmp.Diff([]uint64{0, 100, 1, 101, 2, 102}, order.all()); diff != "" {
			t.Error(diff)
		}
		stop()
	})
}

func TestEndOfRunReturnsWhatWaitsAndWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 2}, call)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(ctx) }()
		owner := &recorder{}
		q := pool.Owner(owner)
		begin := time.Now()
		q.Submit(tasks(0, 5, sleep(10*time.Second)))
		synctest.Wait()
		alone := task(5, nil)
		alone[0].Alone = true
		q.Submit(alone)
		synctest.Wait()
		cancel()
		synctest.Wait()
		for token := range uint64(4) {
			owner.kind(t, 2+token, dispatch.Unstarted)
		}
		q.Submit(task(6, nil))
		synctest.Wait()
		owner.kind(t, 6, dispatch.Unstarted)

		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("Run returned after %v, want 10 s", took)
		}
		owner.kind(t, 0, dispatch.Done)
		owner.kind(t, 1, dispatch.Done)

		q.Submit(task(7, nil))
		if got := q.TakeBack(); len(got) != 1 || got[0].Token != 7 {
			t.Errorf("after Run, TakeBack has %v", got)
		}
		if err := pool.Run(t.Context()); !errors.Is(err, dispatch.ErrRan) {
			t.Errorf("second Run: %v", err)
		}
	})
}

func TestNoGoroutineBeforeRunAndNoneAfter(t *testing.T) {
	before := runtime.NumGoroutine()
	synctest.Test(t, func(t *testing.T) {
		inside := runtime.NumGoroutine()
		pool := dispatch.New(dispatch.Config{}, call)
		q := pool.Owner(&recorder{})
		q.Submit(tasks(0, 1000, nil))
		q.Cancel(nil)
		if n := runtime.NumGoroutine(); n != inside {
			t.Errorf("%d goroutines before Run", n-inside)
		}
		stop := start(t, pool)
		synctest.Wait()
		stop()
	})
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines after Run, %d before", n, before)
	}
}

func TestTakeBackRemovesWhatHasNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(1000, 3000, nil)) // fast: the next chunk is a large one
		synctest.Wait()
		done := owner.count()

		q.Submit(slices.Concat(task(0, sleep(time.Second)), tasks(1, 299, nil)))
		synctest.Wait()
		alone := task(299, nil)
		alone[0].Alone = true
		q.Submit(alone)
		if running, pending := q.Running(), q.Pending(); running != 1 || pending != 299 {
			t.Errorf("%d run and %d wait, want 1 and 299", running, pending)
		}
		if got := q.TakeBack(); len(got) != 299 {
			t.Errorf("took back %d, want 299", len(got))
		}
		if pending := q.Pending(); pending != 0 {
			t.Errorf("%d wait after TakeBack", pending)
		}
		q.Submit(task(500, nil))
		<-time.After(2 * time.Second)
		owner.kind(t, 0, dispatch.Done)
		owner.kind(t, 500, dispatch.Done)
		if n := owner.count() - done; n != 2 {
			t.Errorf("%d results came, want 2", n)
		}
		stop()
	})
}

func TestNothingIsReturnedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 2}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		cause := make(chan error, 1)
		q.Submit(slices.Concat(task(0, func(ctx context.Context, _ *dispatch.Task) error {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return ctx.Err()
		}), tasks(1, 3, sleep(time.Second))))
		synctest.Wait()
		q.Close()
		q.Submit(task(9, nil))
		if err := <-cause; !errors.Is(err, dispatch.ErrClosed) {
			t.Errorf("the call's context ended with %v", err)
		}
		stop()
		if owner.count() != 0 {
			t.Errorf("results after Close: %v", owner.results)
		}
		if got := pool.Stats().Dropped; got != 2 {
			t.Errorf("%d results dropped, want 2", got)
		}
	})
}

func TestPanicEndsItsCallOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 1}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(1000, 3000, nil)) // so that the rest is one chunk
		synctest.Wait()
		broken := errors.New("broken")
		q.Submit(slices.Concat(
			tasks(0, 2, nil),
			task(2, func(context.Context, *dispatch.Task) error { panicsHere(broken); return nil }),
			tasks(3, 5, nil),
			task(5, func(context.Context, *dispatch.Task) error { runtime.Goexit(); return nil }),
			task(6, func(context.Context, *dispatch.Task) error { panic(nil) }), //nolint:govet // what if
			tasks(7, 9, nil),
		))
		synctest.Wait()
		for token := range uint64(9) {
			want := dispatch.Done
			if token == 2 || token == 5 || token == 6 {
				want = dispatch.Panicked
			}
			owner.kind(t, token, want)
		}
		res := owner.one(t, 2)
		var asPanic *dispatch.PanicError
		if !errors.As(res.Err, &asPanic) || !errors.Is(res.Err, broken) || res.Err.Error() != "panic: broken" {
			t.Errorf("error of the panic: %v", res.Err)
		}
		if s := string(res.Stack); !strings.Contains(s, "panicsHere") || len(s) > 8<<10 {
			t.Errorf("stack of the panic, %d bytes:\n%s", len(s), s)
		}
		if err := owner.one(t, 5).Err; !errors.Is(err, dispatch.ErrGoexit) {
			t.Errorf("error of Goexit: %v", err)
		}
		stop()
	})
}

//go:noinline
func panicsHere(v any) { panic(v) }

func TestScratchIsReusedAndNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		type scratch struct{ used atomic.Bool }
		pool := dispatch.New(dispatch.Config{Slots: 4, Timeout: time.Second, Grace: time.Second},
			func(_ context.Context, s *dispatch.Slot, task *dispatch.Task) error {
				if s.Scratch == nil {
					made.Add(1)
					s.Scratch = &scratch{}
				}
				own := s.Scratch.(*scratch)
				if !own.used.CompareAndSwap(false, true) {
					t.Error("two calls use one scratch")
				}
				<-time.After(task.Payload.(time.Duration))
				own.used.Store(false)
				return nil
			})
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		for token := range uint64(100) {
			d := time.Millisecond
			if token%50 == 0 {
				d = 5 * time.Second // gets stuck
			}
			q.Submit([]dispatch.Task{{Token: token, Payload: d}})
		}
		<-time.After(10 * time.Second)
		stop()
		if n := made.Load(); owner.count() != 100 || n > 6 {
			t.Errorf("%d results with %d scratches, want 100 with 4 and 2", owner.count(), n)
		}
	})
}

func TestPoolSpreadsTasksAfterOneTickWhenCallsTurnSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := dispatch.New(dispatch.Config{Slots: 10}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(tasks(1000, 3000, nil))
		synctest.Wait()
		q.Submit(tasks(0, 100, sleep(100*time.Millisecond)))
		<-time.After(time.Second + 15*time.Millisecond) // 100 of 100 ms in ten slots
		synctest.Wait()
		for token := range uint64(100) {
			owner.kind(t, token, dispatch.Done)
		}
		stop()
	})
}

func TestRestOfAChunkIsNotStartedAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*dispatch.Pool, context.CancelFunc){
		"end of Run's context": func(_ *dispatch.Pool, cancel context.CancelFunc) { cancel() },
		"Cancel":               func(p *dispatch.Pool, _ context.CancelFunc) { p.Cancel(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := dispatch.New(dispatch.Config{Slots: 1}, call)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- pool.Run(ctx) }()
				owner := &recorder{}
				q := pool.Owner(owner)
				q.Submit(tasks(1000, 3000, nil))
				synctest.Wait()
				q.Submit(slices.Concat(task(0, sleep(time.Millisecond)), tasks(1, 100, nil)))
				synctest.Wait()
				end(pool, cancel)
				<-time.After(time.Second)
				owner.kind(t, 0, dispatch.Done)
				for token := uint64(1); token < 100; token++ {
					owner.kind(t, token, dispatch.Unstarted)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}
