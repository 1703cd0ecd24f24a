package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// Config describes a demonstration.
type Config struct {
	Data    string            // folder that the broker keeps its log in; "": in memory
	Rate    int               // records a second that are made; default 20
	Records int               // after so many the demo ends by itself; 0: it goes on until ctx ends
	Input   io.Reader         // records to use instead, one JSON object a line; it ends when all of them have settled
	Handler processor.Handler // default: one that does what the made records say
	Tiers   []time.Duration   // default 1s, 3s, 10s
	Seed    uint64
	JSON    bool      // events as JSON lines
	Out     io.Writer // what happens
	Logger  *slog.Logger

	Meters  metric.MeterProvider
	Tracers trace.TracerProvider
	// Around runs the processor, and what goes along with it. Default: its Run.
	Around func(context.Context, *processor.Processor) error
}

const (
	topicName  = "orders"
	groupName  = "demo"
	partitions = 4
)

// Summary says what became of the records of one run: Read = Done + Waiting + Dead + Duplicates + Skipped.
type Summary struct {
	Read       int64 `json:"read"`
	Done       int64 `json:"done"`
	Waiting    int64 `json:"waiting"`
	Dead       int64 `json:"dead"`
	Duplicates int64 `json:"duplicates"`
	Skipped    int64 `json:"skipped"`
	Found      int64 `json:"found"` // of those read: left waiting by an earlier run
}

// Run shows the worker until ctx ends, or until the records that were asked for have settled; then it drains and returns the
// summary.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	d, err := open(cfg)
	if err != nil {
		return Summary{}, err
	}
	defer d.close()
	return d.run(ctx)
}

type demo struct {
	cfg     Config
	cluster *kfake.Cluster
	client  *kgo.Client
	p       *processor.Processor
	print   printer
	before  int64 // records that an earlier run left in the source
}

// open starts the broker and makes the worker.
func open(cfg Config) (*demo, error) {
	if cfg.Rate <= 0 {
		cfg.Rate = 20
	}
	if len(cfg.Tiers) == 0 {
		cfg.Tiers = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}
	}
	if cfg.Around == nil {
		cfg.Around = func(ctx context.Context, p *processor.Processor) error { return p.Run(ctx) }
	}
	d := &demo{cfg: cfg, print: printer{out: cfg.Out, json: cfg.JSON}}
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second), kfake.AllowAutoTopicCreation()}
	if cfg.Data != "" {
		if err := os.MkdirAll(cfg.Data, 0o750); err != nil {
			return nil, fmt.Errorf("data folder: %w", err)
		}
		opts = append(opts, kfake.DataDir(cfg.Data))
	}
	var err error
	if d.cluster, err = kfake.NewCluster(opts...); err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	d.client, err = kgo.NewClient(kgo.SeedBrokers(d.cluster.ListenAddrs()...), kgo.DefaultProduceTopic(topicName))
	if err != nil {
		d.close()
		return nil, fmt.Errorf("client: %w", err)
	}
	if err := d.makeWorker(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *demo) makeWorker() error {
	handler, key := d.cfg.Handler, dedupe.FromHeader(keyHeader)
	if handler == nil {
		handler = processor.HandlerFunc(handle)
	}
	var err error
	d.p, err = processor.New(processor.Config{
		Brokers: d.cluster.ListenAddrs(), Group: groupName,
		Topics: []processor.Topic{{
			Name: topicName, Retry: retrytopics.Policy{Tiers: d.cfg.Tiers},
			Idempotency: processor.Idempotency{Key: key},
		}},
		ClientOptions:    []kgo.Opt{kgo.AllowAutoTopicCreation()}, // for what a handler produces
		AutoCreateTopics: true, Session: processor.Session{Timeout: 6 * time.Second},
		Shutdown: processor.Shutdown{Drain: 5 * time.Second},
		Events:   d.print.event, Logger: d.cfg.Logger, MeterProvider: d.cfg.Meters, TracerProvider: d.cfg.Tracers,
	}, handler)
	return err
}

func (d *demo) close() {
	if d.client != nil {
		d.client.Close()
	}
	if d.cluster != nil {
		d.cluster.Close()
	}
}

func (d *demo) run(ctx context.Context) (Summary, error) {
	if err := d.prepare(ctx); err != nil {
		return Summary{}, err
	}
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var loops sync.WaitGroup
	loops.Go(func() {
		sent, err := d.feed(work)
		switch {
		case err != nil && work.Err() == nil:
			stop(err)
		case d.ends():
			d.awaitSettled(work, sent)
			stop(errSettled)
		}
	})
	loops.Go(func() { d.watch(work) })
	err := d.cfg.Around(work, d.p)
	stop(nil)
	loops.Wait()
	if cause := context.Cause(work); err == nil && ctx.Err() == nil && cause != nil && !errors.Is(cause, errSettled) && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	c := d.p.Counts(topicName)
	s := Summary{
		Read: c.Taken, Done: c.Done, Waiting: c.Waiting, Dead: c.Dead, Duplicates: c.Duplicates, Skipped: c.Skipped, Found: c.Found,
	}
	d.print.summary(s)
	return s, err
}

var errSettled = errors.New("all records have settled")

// ends says whether the demo ends by itself.
func (d *demo) ends() bool { return d.cfg.Input != nil || d.cfg.Records > 0 }

// prepare creates the source topic and says what is there from an earlier run.
func (d *demo) prepare(ctx context.Context) error {
	adm := kadm.NewClient(d.client)
	if _, err := adm.CreateTopic(ctx, partitions, 1, nil, topicName); err != nil && !isExisting(err) {
		return fmt.Errorf("create topic %s: %w", topicName, err)
	}
	ends, err := adm.ListEndOffsets(ctx, topicName)
	if err != nil {
		return fmt.Errorf("look at topic %s: %w", topicName, err)
	}
	ends.Each(func(o kadm.ListedOffset) { d.before += o.Offset })
	d.print.start(d)
	return nil
}

// feed produces the records of the input, or those that it makes, and returns how many.
func (d *demo) feed(ctx context.Context) (sent int64, err error) {
	if d.cfg.Input != nil {
		err = readLines(d.cfg.Input, func(r *kgo.Record) error {
			sent++
			return d.client.ProduceSync(ctx, r).FirstErr()
		})
		return sent, err
	}
	s := newStream(d.cfg.Seed, fmt.Sprintf("o%d", d.before))
	tick := time.NewTicker(time.Second / time.Duration(d.cfg.Rate))
	defer tick.Stop()
	for d.cfg.Records == 0 || sent < int64(d.cfg.Records) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return sent, nil
		}
		if err := d.client.ProduceSync(ctx, s.next()).FirstErr(); err != nil {
			return sent, fmt.Errorf("produce to %s: %w", topicName, err)
		}
		sent++
	}
	return sent, nil
}

// awaitSettled waits until everything in the source has been taken up and nothing waits any more.
func (d *demo) awaitSettled(ctx context.Context, _ int64) {
	adm := kadm.NewClient(d.client)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		ends, err := adm.ListEndOffsets(ctx, topicName)
		if err != nil {
			continue
		}
		if lanes := d.p.Lanes(); len(lanes) == partitions && d.p.Counts(topicName).Waiting == 0 && allRead(lanes, ends) {
			return
		}
	}
}

func allRead(lanes []processor.Lane, ends kadm.ListedOffsets) bool {
	for _, l := range lanes {
		end, ok := ends.Lookup(l.Topic, l.Partition)
		if !ok || l.Phase != "running" || l.Lowest < end.Offset {
			return false
		}
	}
	return true
}

// watch prints a line of counts now and then.
func (d *demo) watch(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	var last processor.Counts
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if c := d.p.Counts(topicName); c != last {
			last = c
			d.print.counts(c)
		}
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
