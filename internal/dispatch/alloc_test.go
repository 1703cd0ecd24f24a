package dispatch_test

import (
	"context"
	"testing"

	"github.com/laneway-go/laneway/internal/dispatch"
)

func TestPlainCallsAllocateNothing(t *testing.T) {
	const batch = 2000
	pool := dispatch.New(dispatch.Config{Slots: 8}, func(ctx context.Context, s *dispatch.Slot, _ *dispatch.Task) error {
		s.Scratch = s
		return ctx.Err()
	})
	stop := start(t, pool)
	owner := &credit{more: make(chan struct{}, 1)}
	q := pool.Owner(owner)
	payload := new(int)
	ts := make([]dispatch.Task, batch)
	for i := range ts {
		ts[i] = dispatch.Task{Token: uint64(i), Payload: payload, Urgent: i%7 == 0}
	}
	perBatch := testing.AllocsPerRun(100, func() {
		owner.out.Add(batch)
		q.Submit(ts)
		for owner.out.Load() > 0 {
			<-owner.more
		}
	})
	stop()
	if perBatch > batch/100 { // the supervisor's list of slots, a few times a second
		t.Errorf("%v allocations for %d calls", perBatch, batch)
	}
}
