package dispatch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/laneway-go/laneway/internal/dispatch"
)

// census counts calls that run, over all pools.
type census struct {
	running, most atomic.Int64
	alone         atomic.Bool
}

func (c *census) note(n int64) {
	for {
		most := c.most.Load()
		if n <= most || c.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// visit is a call that lasts d and looks around at its beginning and at its end.
func (c *census) visit(t *testing.T, d time.Duration) work {
	t.Helper()
	return func(_ context.Context, task *dispatch.Task) error {
		n := c.running.Add(1)
		c.note(n)
		if task.Alone {
			c.alone.Store(true)
		}
		if n > 1 && c.alone.Load() {
			t.Errorf("token %d runs with %d others, one of which should be alone", task.Token, n-1)
		}
		if d > 0 {
			<-time.After(d)
		}
		if task.Alone {
			if n := c.running.Load(); n != 1 {
				t.Errorf("token %d ends with %d others", task.Token, n-1)
			}
			c.alone.Store(false)
		}
		c.running.Add(-1)
		return nil
	}
}

func TestAloneTaskRunsWithNothingElseInAnyPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c census
		gate := dispatch.NewGate(0)
		owner := &recorder{}
		var stops []func()
		var queues []*dispatch.Queue
		for range 3 {
			pool := dispatch.New(dispatch.Config{Slots: 4, Gate: gate}, call)
			stops = append(stops, start(t, pool))
			queues = append(queues, pool.Owner(owner), pool.Owner(owner))
		}
		token := uint64(0)
		submit := func(q *dispatch.Queue, n int, d time.Duration, alone bool) {
			ts := tasks(token, token+uint64(n), c.visit(t, d))
			for i := range ts {
				ts[i].Alone = alone
			}
			q.Submit(ts)
			token += uint64(n)
		}
		for round := range 20 {
			for i, q := range queues {
				submit(q, 50, time.Duration((i+round)%3)*time.Second, false)
				if (i+round)%4 == 0 {
					submit(q, 2, time.Second, true)
				}
			}
			<-time.After(time.Duration(round) * time.Second)
		}
		<-time.After(time.Hour)
		for tok := range token {
			owner.kind(t, tok, dispatch.Done)
		}
		if most := c.most.Load(); most != 12 {
			t.Errorf("at most %d ran at once, want 12", most)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

func TestAloneTaskThatIsTakenBackOpensTheGate(t *testing.T) {
	for name, takeBack := range map[string]func(*dispatch.Queue){
		"TakeBack": func(q *dispatch.Queue) { q.TakeBack() },
		"Cancel":   func(q *dispatch.Queue) { q.Cancel(nil) },
		"Close":    (*dispatch.Queue).Close,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := dispatch.NewGate(0)
				one := dispatch.New(dispatch.Config{Slots: 2, Gate: gate}, call)
				two := dispatch.New(dispatch.Config{Slots: 2, Gate: gate}, call)
				stopOne, stopTwo := start(t, one), start(t, two)
				owner := &recorder{}
				q, suspect := one.Owner(owner), two.Owner(&recorder{})
				q.Submit(task(0, sleep(10*time.Second)))
				synctest.Wait()
				alone := task(0, nil)
				alone[0].Alone = true
				suspect.Submit(alone)
				q.Submit(task(1, nil))
				synctest.Wait()
				if owner.count() != 0 {
					t.Error("a task started while another waits to run alone")
				}
				takeBack(suspect)
				synctest.Wait()
				owner.kind(t, 1, dispatch.Done)
				stopOne()
				stopTwo()
			})
		})
	}
}

// A pool that ends must not keep the gate shut for the others.
func TestPoolThatEndsOpensTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := dispatch.NewGate(0)
		one := dispatch.New(dispatch.Config{Slots: 2, Gate: gate}, call)
		two := dispatch.New(dispatch.Config{Slots: 2, Gate: gate}, call)
		stopOne, stopTwo := start(t, one), start(t, two)
		owner, suspects := &recorder{}, &recorder{}
		q := one.Owner(owner)
		q.Submit(task(0, sleep(10*time.Second)))
		synctest.Wait()
		alone := task(0, nil)
		alone[0].Alone = true
		two.Owner(suspects).Submit(alone)
		q.Submit(task(1, nil))
		synctest.Wait()
		stopTwo()
		synctest.Wait()
		suspects.kind(t, 0, dispatch.Unstarted)
		owner.kind(t, 1, dispatch.Done)
		stopOne()
	})
}

func TestAloneTaskDoesNotWaitForAbandonedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		gate := dispatch.NewGate(1)
		pool := dispatch.New(dispatch.Config{Slots: 2, Gate: gate}, call)
		stop := start(t, pool)
		owner := &recorder{}
		q := pool.Owner(owner)
		q.Submit(task(0, hang(letGo)))
		synctest.Wait()
		suspects := tasks(1, 3, hang(letGo)) // the first gets stuck itself
		suspects[0].Alone, suspects[1].Alone = true, true
		suspects[1].Payload = nil
		q.Submit(suspects)
		q.Submit(task(3, nil))
		<-time.After(39 * time.Second)
		if owner.count() != 0 {
			t.Errorf("%d results before the limit", owner.count())
		}
		<-time.After(42 * time.Second)
		owner.kind(t, 0, dispatch.Stuck)
		owner.kind(t, 1, dispatch.Stuck)
		owner.kind(t, 2, dispatch.Done)
		owner.kind(t, 3, dispatch.Done)
		close(letGo)
		stop()
	})
}

func TestGateBoundsCallsInAllAndServesPoolsInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c census
		gate := dispatch.NewGate(5)
		var stops []func()
		var owners []*recorder
		for i := range 3 {
			pool := dispatch.New(dispatch.Config{Slots: 8, Gate: gate}, call)
			stops = append(stops, start(t, pool))
			owner := &recorder{}
			owners = append(owners, owner)
			n := uint64(1000)
			if i == 2 {
				n = 30
			}
			pool.Owner(owner).Submit(tasks(0, n, c.visit(t, time.Second)))
		}
		<-time.After(20*time.Second - time.Millisecond) // 19 rounds of 5 have ended
		if n := owners[2].count(); n < 25 {
			t.Errorf("the small pool had %d of 95 calls", n)
		}
		<-time.After(386*time.Second + time.Millisecond) // 2,030 calls of 1 s, five at once
		synctest.Wait()
		for i, want := range []int{1000, 1000, 30} {
			if n := owners[i].count(); n != want {
				t.Errorf("pool %d: %d results, want %d", i, n, want)
			}
		}
		if most := c.most.Load(); most != 5 {
			t.Errorf("at most %d ran at once, want 5", most)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// Two pools over one permit: each must give it up and find it again for ever.
func TestPermitIsNeverLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := dispatch.NewGate(1)
		var stops []func()
		var all sync.WaitGroup
		for range 4 {
			pool := dispatch.New(dispatch.Config{Slots: 3, Gate: gate}, call)
			stops = append(stops, start(t, pool))
			owner := &recorder{}
			q := pool.Owner(owner)
			all.Go(func() {
				for token := range uint64(200) {
					q.Submit(tasks(token*3, token*3+3, sleep(time.Millisecond)))
					if token%7 == 0 {
						q.TakeBack()
					}
					if token%3 == 0 {
						<-time.After(20 * time.Millisecond)
					}
				}
				q.Submit(tasks(10_000, 10_010, nil))
				<-time.After(time.Minute)
				for token := range uint64(10) {
					owner.kind(t, 10_000+token, dispatch.Done)
				}
			})
		}
		all.Wait()
		for _, stop := range stops {
			stop()
		}
	})
}

func TestPoolsTakeTurnsWithTasksThatRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order sequence
		gate := dispatch.NewGate(0)
		blocker := dispatch.New(dispatch.Config{Slots: 1, Gate: gate}, call)
		stops := []func(){start(t, blocker)}
		blocker.Owner(&recorder{}).Submit(task(0, sleep(time.Second)))
		synctest.Wait()
		for i := range uint64(2) {
			pool := dispatch.New(dispatch.Config{Slots: 2, Gate: gate}, call)
			stops = append(stops, start(t, pool))
			suspects := tasks(10*i, 10*i+3, func(_ context.Context, task *dispatch.Task) error {
				order.add(task.Token / 10)
				return nil
			})
			for k := range suspects {
				suspects[k].Alone = true
			}
			pool.Owner(&recorder{}).Submit(suspects)
			synctest.Wait()
		}
		<-time.After(2 * time.Second)
		if diff := cmp.Diff([]uint64{0, 1, 0, 1, 0, 1}, order.all()); diff != "" {
			t.Error(diff)
		}
		for _, stop := range stops {
			stop()
		}
	})
}
