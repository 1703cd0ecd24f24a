package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/internal/dispatch"
)

// step is one thing that happens to a queue.
type step struct {
	queue int
	do    string
	tasks []dispatch.Task
	pause time.Duration
}

func drawTask(rt *rapid.T, token uint64) dispatch.Task {
	t := dispatch.Task{
		Token:  token,
		Urgent: rapid.Bool().Draw(rt, "urgent"),
		Alone:  rapid.IntRange(0, 20).Draw(rt, "alone") == 0,
	}
	d := rapid.SampledFrom([]time.Duration{
		0, 0, 0, 0, 0, 0, time.Microsecond, 100 * time.Microsecond, time.Millisecond, 7 * time.Millisecond, time.Second, 30 * time.Second,
	}).Draw(rt, "lasts")
	switch rapid.IntRange(0, 20).Draw(rt, "how") {
	case 0:
		t.Payload = work(func(context.Context, *dispatch.Task) error { panic("as told") })
	case 1:
		t.Payload = work(func(context.Context, *dispatch.Task) error { runtime.Goexit(); return nil })
	case 2:
		t.Payload = work(wait)
	default:
		if d > 0 {
			t.Payload = sleep(d)
		}
	}
	return t
}

func drawSteps(rt *rapid.T, queues int) []step {
	token := uint64(0)
	n := rapid.IntRange(1, 25).Draw(rt, "steps")
	steps := make([]step, n)
	for i := range steps {
		s := &steps[i]
		s.queue = rapid.IntRange(0, queues-1).Draw(rt, "queue")
		s.do = rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "take back", "cancel"}).Draw(rt, "do")
		s.pause = rapid.SampledFrom([]time.Duration{-1, 0, time.Millisecond, 8 * time.Millisecond, time.Minute}).Draw(rt, "pause")
		if s.do != "submit" {
			continue
		}
		for range rapid.IntRange(1, 80).Draw(rt, "tasks") {
			s.tasks = append(s.tasks, drawTask(rt, token))
			token++
		}
	}
	return steps
}

// play runs the steps and returns an error if a task was lost or came back twice.
func play(t *testing.T, slots, limit int, pools [][]int, steps []step) error {
	t.Helper()
	gate := dispatch.NewGate(limit)
	var stops []func()
	queues := map[int]*dispatch.Queue{}
	owner := &recorder{}
	for _, ids := range pools {
		pool := dispatch.New(dispatch.Config{Slots: slots, Timeout: 10 * time.Second, Grace: 5 * time.Second, Gate: gate}, call)
		for _, id := range ids {
			queues[id] = pool.Owner(owner)
		}
		stops = append(stops, start(t, pool))
	}
	submitted, back := map[uint64]bool{}, map[uint64]int{}
	for _, s := range steps {
		q := queues[s.queue]
		switch s.do {
		case "submit":
			q.Submit(s.tasks)
			for _, task := range s.tasks {
				submitted[task.Token] = true
			}
		case "take back":
			for _, task := range q.TakeBack() {
				back[task.Token]++
			}
		case "cancel":
			q.Cancel(errors.New("as told"))
		}
		switch {
		case s.pause > 0:
			<-time.After(s.pause)
		case s.pause == 0:
			synctest.Wait()
		}
	}
	for _, stop := range stops {
		stop()
	}
	for _, q := range queues {
		for _, task := range q.TakeBack() {
			back[task.Token]++
		}
	}
	<-time.After(time.Hour) // late returns
	return balance(submitted, back, owner)
}

func balance(submitted map[uint64]bool, back map[uint64]int, owner *recorder) error {
	for token := range submitted {
		if n := len(owner.results[token]) + back[token]; n != 1 {
			return fmt.Errorf("token %d: results %v, taken back %d times", token, owner.results[token], back[token])
		}
	}
	if n := owner.count() + len(back); n != len(submitted) {
		return fmt.Errorf("%d came back of %d", n, len(submitted))
	}
	return nil
}

func TestEachTaskComesBackOnceOrIsTakenBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.IntRange(1, 8).Draw(rt, "slots")
		limit := rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(rt, "limit")
		pools := rapid.SampledFrom([][][]int{{{0}}, {{0, 1, 2}}, {{0, 1}, {2, 3}}}).Draw(rt, "pools")
		queues := 0
		for _, ids := range pools {
			queues += len(ids)
		}
		steps := drawSteps(rt, queues)
		var err error
		synctest.Test(t, func(t *testing.T) { err = play(t, slots, limit, pools, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// Owners take tasks back while slots race for them, on real threads.
func TestTakeBackRacesWithSlots(t *testing.T) {
	pool := dispatch.New(dispatch.Config{Slots: 8}, call)
	stop := start(t, pool)
	owner := &recorder{}
	q := pool.Owner(owner)
	back := map[uint64]int{}
	submitted := map[uint64]bool{}
	for round := range uint64(2000) {
		ts := tasks(round*20, round*20+20, nil)
		q.Submit(ts)
		for _, task := range ts {
			submitted[task.Token] = true
		}
		if round%16 == 0 {
			runtime.Gosched()
		}
		for _, task := range q.TakeBack() {
			back[task.Token]++
		}
	}
	stop()
	if err := balance(submitted, back, owner); err != nil {
		t.Error(err)
	}
	t.Logf("%d returned, %d taken back", owner.count(), len(back))
}
