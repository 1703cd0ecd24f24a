package dispatch_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/laneway-go/laneway/internal/dispatch"
)

// credit is an owner that lets so many tasks be out at once.
type credit struct {
	out  atomic.Int64
	low  int64
	more chan struct{}
}

func (c *credit) Returned(results []dispatch.Result) {
	if c.out.Add(-int64(len(results))) <= c.low {
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
}

// BenchmarkNoop is the cost of one call that does nothing: 12 owners, 64 slots, tasks in batches of 500.
func BenchmarkNoop(b *testing.B) {
	pool := dispatch.New(dispatch.Config{Slots: 64}, func(context.Context, *dispatch.Slot, *dispatch.Task) error { return nil })
	stop := start(b, pool)
	owner := &credit{low: 10_000, more: make(chan struct{}, 1)}
	queues := make([]*dispatch.Queue, 12)
	for i := range queues {
		queues[i] = pool.Owner(owner)
	}
	payload := new(int)
	batch := make([]dispatch.Task, 500)
	for i := range batch {
		batch[i] = dispatch.Task{Token: uint64(i), Payload: payload}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for sent, q := 0, 0; sent < b.N; q++ {
		n := min(len(batch), b.N-sent)
		if owner.out.Add(int64(n)) > 20_000 {
			<-owner.more
		}
		queues[q%len(queues)].Submit(batch[:n])
		sent += n
	}
	for owner.out.Load() > 0 {
		<-owner.more
	}
	b.StopTimer()
	stop()
}

// BenchmarkSleep runs 10,000 tasks that sleep 0–5 ms in 100 slots. The ideal is 10,000 · 2.5 ms / 100 = 250 ms, and about
// half a millisecond more a task, which is how late timers are.
func BenchmarkSleep(b *testing.B) {
	const tasks = 10_000
	sleep := func(_ context.Context, _ *dispatch.Slot, t *dispatch.Task) error {
		<-time.After(t.Payload.(time.Duration))
		return nil
	}
	pool := dispatch.New(dispatch.Config{Slots: 100}, sleep)
	stop := start(b, pool)
	owner := &credit{more: make(chan struct{}, 1)}
	q := pool.Owner(owner)
	rnd := rand.New(rand.NewPCG(1, 2))
	batch := make([]dispatch.Task, tasks)
	for i := range batch {
		batch[i] = dispatch.Task{Token: uint64(i), Payload: time.Duration(rnd.Int64N(int64(5 * time.Millisecond)))}
	}
	for b.Loop() {
		owner.out.Add(tasks)
		q.Submit(batch)
		for owner.out.Load() > 0 {
			<-owner.more
		}
	}
	stop()
}
