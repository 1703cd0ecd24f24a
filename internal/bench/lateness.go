package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// Lateness says how long after their due time retries began, in milliseconds.
type Lateness struct {
	Case    string  `json:"case"`
	Records int     `json:"records"`
	PerS    int     `json:"offered_per_s"`
	DelayMS float64 `json:"delay_ms"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Max     float64 `json:"max_ms"`
	Early   int     `json:"early"` // began before their due time
}

const (
	latenessCase  = "lateness"
	offeredPerS   = 1000
	latenessDelay = time.Second
)

// retries collects the due times of failed records and the lateness of their second calls.
type retries struct {
	mu   sync.Mutex
	due  map[processor.Origin]time.Time
	late []time.Duration
	want int
	done chan struct{}
}

func (r *retries) event(e processor.Event) {
	if e.Kind != processor.EventRetried {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due[e.Origin] = e.Due
}

func (r *retries) handle(_ context.Context, m *processor.Message) error {
	now := time.Now()
	if m.Attempt == 1 {
		return errFirst
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = append(r.late, now.Sub(r.due[m.Origin]))
	if len(r.late) == r.want {
		close(r.done)
	}
	return nil
}

var errFirst = errors.New("the first try fails")

// lateness offers records at a steady rate for ten seconds, each of which fails once, and measures when their second tries
// begin.
func (b *bench) lateness(ctx context.Context) (Lateness, error) {
	const seconds = 10
	topic := b.prefix + "-lateness"
	if err := b.create(ctx, topic); err != nil {
		return Lateness{}, err
	}
	r := &retries{due: map[processor.Origin]time.Time{}, want: offeredPerS * seconds, done: make(chan struct{})}
	p, err := processor.New(processor.Config{
		Brokers: b.cfg.Brokers, ClientOptions: b.cfg.Options, Group: topic, AutoCreateTopics: true, Logger: b.cfg.Logger, Events: r.event,
		Topics: []processor.Topic{{Name: topic, Retry: retrytopics.Policy{Tiers: []time.Duration{latenessDelay}, Jitter: -1}}},
	}, processor.HandlerFunc(r.handle))
	if err != nil {
		return Lateness{}, err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(work) }()
	if err := b.offer(work, topic, r.want); err != nil {
		return Lateness{}, errors.Join(err, context.Cause(work))
	}
	select {
	case <-r.done:
	case err := <-ended:
		return Lateness{}, errors.Join(err, errors.New("the worker ended before it was done"))
	}
	stop()
	err = errors.Join(<-ended, b.drop(context.WithoutCancel(ctx), topic))
	return r.result(), err
}

// offer produces n records at the offered rate.
func (b *bench) offer(ctx context.Context, topic string, n int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for sent := 0; sent < n; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for due := int(time.Since(began).Seconds() * offeredPerS); sent < min(due, n); sent++ {
			b.client.Produce(ctx, &kgo.Record{Topic: topic, Key: fmt.Append(nil, sent), Value: make([]byte, 200)}, nil)
		}
	}
	if err := b.client.Flush(ctx); err != nil {
		return fmt.Errorf("write to %s: %w", topic, err)
	}
	return nil
}

func (r *retries) result() Lateness {
	slices.Sort(r.late)
	at := func(share float64) float64 {
		return float64(r.late[int(share*float64(len(r.late)-1))].Microseconds()) / 1000
	}
	l := Lateness{
		Case: latenessCase, Records: len(r.late), PerS: offeredPerS, DelayMS: float64(latenessDelay.Milliseconds()),
		P50: at(0.5), P99: at(0.99), Max: at(1),
	}
	for _, d := range r.late {
		if d < 0 {
			l.Early++
		}
	}
	return l
}
