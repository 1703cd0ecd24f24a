package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
)

// Config describes a measurement.
type Config struct {
	Brokers    []string
	Options    []kgo.Opt
	Records    int
	Rounds     int
	Partitions int
	Cases      []string  // names of cases; empty: all
	Progress   io.Writer // a line a round
	Logger     *slog.Logger
}

// Result is one case: medians over the rounds.
type Result struct {
	Case       string  `json:"case"`
	Rounds     int     `json:"rounds"`
	Records    int     `json:"records"`
	BarePerS   float64 `json:"bare_per_s"`
	WorkerPerS float64 `json:"worker_per_s"`
	Ratio      float64 `json:"ratio"` // median of the rounds' ratios
	RatioMin   float64 `json:"ratio_min"`
	RatioMax   float64 `json:"ratio_max"`
	BareCPU    float64 `json:"bare_cpu_s_per_million"`
	WorkerCPU  float64 `json:"worker_cpu_s_per_million"`
}

// sample is one run: from the first record handled to the last.
type sample struct {
	perS float64
	cpu  float64 // seconds of this process a million records
}

type measure func(ctx context.Context, b *bench, group string) (sample, error)

// comparison is a case: what is done by a bare client, and what by the worker.
type comparison struct {
	name         string
	bare, worker measure
}

// cases returns them in the order in which they run.
func cases() []comparison {
	return []comparison{
		{"keyed", consume, worker(processor.Topic{Idempotency: processor.Idempotency{Mode: processor.DedupeOff}})},
		{"keyed_dedupe", consume, worker(processor.Topic{})},
		{"keyed_dedupe_userkey", mark, worker(processor.Topic{Idempotency: processor.Idempotency{Key: dedupe.FromHeader("id")}})},
		{"unordered", consume, worker(processor.Topic{Ordering: processor.Unordered, Idempotency: processor.Idempotency{Mode: processor.DedupeOff}})},
	}
}

// Cases returns the names of all cases.
func Cases() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.name)
	}
	return append(names, latenessCase)
}

type bench struct {
	cfg    Config
	client *kgo.Client
	admin  *kadm.Client
	topic  string
	n      int // runs so far: each has a group of its own
	prefix string
}

// Run loads a topic and measures the cases; each result, a [Result] or a [Lateness], is handed to done as it comes.
func Run(ctx context.Context, cfg Config, done func(any) error) error {
	b := &bench{cfg: cfg, prefix: fmt.Sprintf("laneway-bench-%d", time.Now().UnixNano())}
	b.topic = b.prefix
	var err error
	if b.client, err = kgo.NewClient(b.options()...); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer b.client.Close()
	b.admin = kadm.NewClient(b.client)
	if err := b.compareAll(ctx, done); err != nil || !b.wants(latenessCase) {
		return err
	}
	l, err := b.lateness(ctx)
	if err != nil {
		return fmt.Errorf("case %s: %w", latenessCase, err)
	}
	return done(l)
}

func (b *bench) wants(name string) bool {
	return len(b.cfg.Cases) == 0 || slices.Contains(b.cfg.Cases, name)
}

// compareAll measures the cases that were asked for and have a bare client to compare with.
func (b *bench) compareAll(ctx context.Context, done func(any) error) error {
	wanted := slices.DeleteFunc(cases(), func(c comparison) bool { return !b.wants(c.name) })
	if len(wanted) == 0 {
		return nil
	}
	if err := b.load(ctx); err != nil {
		return err
	}
	defer func() { _, _ = b.admin.DeleteTopics(context.WithoutCancel(ctx), b.topic) }()
	for _, c := range wanted {
		r, err := b.compare(ctx, c.name, c.bare, c.worker)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.name, err)
		}
		if err := done(r); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) options(opts ...kgo.Opt) []kgo.Opt {
	return append(append([]kgo.Opt{kgo.SeedBrokers(b.cfg.Brokers...)}, b.cfg.Options...), opts...)
}

// load fills the topic: values of 200 bytes that do not compress, keys of 12 bytes out of 100,000, an id in a header.
func (b *bench) load(ctx context.Context) error {
	if err := b.create(ctx, b.topic); err != nil {
		return err
	}
	rnd := rand.NewChaCha8([32]byte{1})
	var failed atomic.Pointer[error]
	for i := range b.cfg.Records {
		value := make([]byte, 200)
		_, _ = rnd.Read(value) // never fails
		r := &kgo.Record{
			Topic: b.topic, Key: fmt.Appendf(nil, "key-%08d", rnd.Uint64()%100_000), Value: value,
			Headers: []kgo.RecordHeader{{Key: "id", Value: fmt.Appendf(nil, "id-%012d", i)}},
		}
		b.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := b.client.Flush(ctx); err != nil {
		return fmt.Errorf("fill topic %s: %w", b.topic, err)
	}
	if err := failed.Load(); err != nil {
		return fmt.Errorf("fill topic %s: %w", b.topic, *err)
	}
	return nil
}

// create makes a topic and waits until it can be seen.
func (b *bench) create(ctx context.Context, topic string) error {
	if _, err := b.admin.CreateTopic(ctx, int32(b.cfg.Partitions), -1, nil, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if ends, err := b.admin.ListEndOffsets(ctx, topic); err == nil && ends.Error() == nil && len(ends[topic]) == b.cfg.Partitions {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for topic %s: %w", topic, ctx.Err())
		}
	}
}

// compare runs both sides in turns, after one round that does not count.
func (b *bench) compare(ctx context.Context, name string, bare, worker measure) (Result, error) {
	var bares, workers []sample
	for round := -1; round < b.cfg.Rounds; round++ {
		pair := [2]sample{}
		for i, m := range []measure{bare, worker} {
			b.n++
			s, err := m(ctx, b, fmt.Sprintf("%s-%d", b.prefix, b.n))
			if err != nil {
				return Result{}, err
			}
			pair[i] = s
		}
		fmt.Fprintf(b.cfg.Progress, "%s round %d: bare %.0f/s %.2f, worker %.0f/s %.2f CPU s/M, ratio %.2f\n",
			name, round+1, pair[0].perS, pair[0].cpu, pair[1].perS, pair[1].cpu, pair[1].perS/pair[0].perS)
		if round >= 0 {
			bares, workers = append(bares, pair[0]), append(workers, pair[1])
		}
	}
	return result(name, b.cfg.Records, bares, workers), nil
}

func result(name string, records int, bares, workers []sample) Result {
	var ratios []float64
	for i := range bares {
		ratios = append(ratios, workers[i].perS/bares[i].perS)
	}
	return Result{
		Case: name, Rounds: len(bares), Records: records,
		BarePerS: median(bares, sample.rate), WorkerPerS: median(workers, sample.rate),
		Ratio: middle(ratios), RatioMin: slices.Min(ratios), RatioMax: slices.Max(ratios),
		BareCPU: median(bares, sample.cpuPerM), WorkerCPU: median(workers, sample.cpuPerM),
	}
}

func (s sample) rate() float64    { return s.perS }
func (s sample) cpuPerM() float64 { return s.cpu }

func median(samples []sample, of func(sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	return middle(values)
}

func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// watch measures from the first record to the last.
type watch struct {
	records int64
	seen    atomic.Int64
	began   time.Time
	cpu     time.Duration
	result  sample
	done    chan struct{}
}

func newWatch(records int) *watch { return &watch{records: int64(records), done: make(chan struct{})} }

// add counts n records; the call that counts the last one ends the measurement.
func (w *watch) add(n int64) {
	now := w.seen.Add(n)
	if now == n {
		w.began, w.cpu = time.Now(), cpuTime()
	}
	if now >= w.records && now-n < w.records {
		took := time.Since(w.began).Seconds()
		million := float64(w.records) / 1e6
		w.result = sample{perS: float64(w.records) / took, cpu: (cpuTime() - w.cpu).Seconds() / million}
		close(w.done)
	}
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
