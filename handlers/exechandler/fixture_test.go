package exechandler

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// rig is a handler whose processes obey, with eyes on its log and its outputs.
type rig struct {
	*Handler
	log *logWatch

	mu       sync.Mutex
	produced []*kgo.Record
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{log: newLogWatch()}
	cfg := Config{
		Command:    []string{os.Args[0]},
		Env:        []string{programVar + "=obedient", "GORACE=atexit_sleep_ms=0"}, // a race-enabled program lingers for 1 s
		Processes:  1,
		Grace:      10 * time.Second, // nobody who behaves needs it
		MinBackoff: time.Nanosecond,
		MaxBackoff: time.Nanosecond,
		Logger:     slog.New(r.log),
	}
	if change != nil {
		change(&cfg)
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.produce = func(_ context.Context, _ *processor.Message, rec *kgo.Record) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.produced = append(r.produced, rec)
		return nil
	}
	r.Handler = h
	t.Cleanup(func() { _ = h.Close() })
	return r
}

// do hands over a record with the given value.
func (r *rig) do(ctx context.Context, value string) error {
	return r.Handle(ctx, message(value))
}

// inBackground does the same in another goroutine.
func (r *rig) inBackground(ctx context.Context, value string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- r.do(ctx, value) }()
	return result
}

// pid asks the process that serves next for its number.
func (r *rig) pid(t *testing.T) string {
	t.Helper()
	err := r.do(t.Context(), "pid")
	skip, ok := errors.AsType[*retrytopics.SkipError](err)
	if !ok {
		t.Fatalf("Handle = %v, want the process's number", err)
	}
	return skip.Reason
}

func message(value string) *processor.Message {
	return &processor.Message{
		Topic: "orders", Partition: 3, Offset: 1042,
		Key: []byte("k"), Value: []byte(value),
		Timestamp: time.Date(2026, 1, 2, 15, 4, 5, 6e6, time.UTC),
		Attempt:   2, Run: 1, Fence: 17,
		Origin: origin.Origin{Topic: "orders", Partition: 3, Offset: 1042, LeaderEpoch: 4},
	}
}

func isUncertain(err error) bool {
	_, ok := errors.AsType[*retrytopics.UncertainError](err)
	return ok
}

// wantFailure fails the test unless err is of type E and as certain as it should be.
func wantFailure[E error](t *testing.T, err error, uncertain bool) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("Handle = %T %v, want a %T", err, err, e)
	}
	if isUncertain(err) != uncertain {
		t.Errorf("Handle = %v, uncertain %t, want %t", err, !uncertain, uncertain)
	}
	return e
}

// logWatch is a [slog.Handler] that lets a test wait for a line.
type logWatch struct {
	mu    sync.Mutex
	grown *sync.Cond
	seen  []string // the line of the standard error, or the message
	attrs []map[string]slog.Value
}

func newLogWatch() *logWatch {
	l := &logWatch{}
	l.grown = sync.NewCond(&l.mu)
	return l
}

func (l *logWatch) Enabled(context.Context, slog.Level) bool { return true }
func (l *logWatch) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logWatch) WithGroup(string) slog.Handler            { return l }

func (l *logWatch) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]slog.Value{}
	r.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value; return true })
	text := r.Message
	if line, ok := attrs["line"]; ok {
		text = line.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, text)
	l.attrs = append(l.attrs, attrs)
	l.grown.Broadcast()
	return nil
}

// waitFor blocks until text has been logged n times; the test's own time limit is the only one.
func (l *logWatch) waitFor(text string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.countLocked(text) < n {
		l.grown.Wait()
	}
}

func (l *logWatch) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.countLocked(text)
}

func (l *logWatch) countLocked(text string) (n int) {
	for _, s := range l.seen {
		if s == text {
			n++
		}
	}
	return n
}

// sum adds up an attribute of all lines with the message.
func (l *logWatch) sum(text, attr string) (total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range l.seen {
		if s == text {
			total += l.attrs[i][attr].Int64()
		}
	}
	return total
}

func (l *logWatch) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}
