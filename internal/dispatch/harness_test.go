package dispatch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/laneway-go/laneway/internal/dispatch"
)

// recorder is an owner that keeps all results.
type recorder struct {
	mu      sync.Mutex
	results map[uint64][]dispatch.Result
	at      map[uint64]time.Time
	batches int
}

func (r *recorder) Returned(results []dispatch.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results == nil {
		r.results, r.at = map[uint64][]dispatch.Result{}, map[uint64]time.Time{}
	}
	r.batches++
	for _, res := range results {
		r.results[res.Token] = append(r.results[res.Token], res)
		r.at[res.Token] = time.Now()
	}
}

// one returns the only result of a token.
func (r *recorder) one(t *testing.T, token uint64) dispatch.Result {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := r.results[token]; len(got) != 1 {
		t.Fatalf("token %d has %d results, want 1: %v", token, len(got), got)
	}
	return r.results[token][0]
}

func (r *recorder) kind(t *testing.T, token uint64, want dispatch.Kind) dispatch.Result {
	t.Helper()
	res := r.one(t, token)
	if res.Kind != want {
		t.Errorf("token %d is %v (%v), want %v", token, res.Kind, res.Err, want)
	}
	return res
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.results)
}

func (r *recorder) when(token uint64) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at[token]
}

// sequence notes what happens, in its order.
type sequence struct {
	mu     sync.Mutex
	tokens []uint64
}

func (s *sequence) add(token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, token)
}

func (s *sequence) all() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tokens)
}

// work is a payload: what the call does.
type work func(ctx context.Context, t *dispatch.Task) error

func call(ctx context.Context, _ *dispatch.Slot, t *dispatch.Task) error {
	if t.Payload == nil {
		return nil
	}
	return t.Payload.(work)(ctx, t)
}

// sleep is a call that lasts, in virtual time, whatever its context says.
func sleep(d time.Duration) work {
	return func(context.Context, *dispatch.Task) error {
		<-time.After(d)
		return nil
	}
}

// wait is a call that lasts until its context ends.
func wait(ctx context.Context, _ *dispatch.Task) error {
	<-ctx.Done()
	return ctx.Err()
}

func tasks(from, to uint64, w work) []dispatch.Task {
	var ts []dispatch.Task
	for token := from; token < to; token++ {
		t := dispatch.Task{Token: token}
		if w != nil {
			t.Payload = w
		}
		ts = append(ts, t)
	}
	return ts
}

func task(token uint64, w work) []dispatch.Task { return tasks(token, token+1, w) }

// start runs the pool and returns what ends it.
func start(tb testing.TB, pool *dispatch.Pool) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx) }()
	return func() {
		tb.Helper()
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("Run: %v", err)
		}
	}
}
