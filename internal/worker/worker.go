package worker

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
)

// What Run ends with besides nil.
var (
	// ErrForced says that the shutdown did not end in time: something was left behind. What had not settled runs again.
	ErrForced = errors.New("shutdown took too long, something was left behind")
	// ErrFenced says that another process has this one's static instance id.
	ErrFenced = errors.New("another process has the same instance id")
	// ErrStuck says that a handler call ignored its time limit under the policy that ends the process.
	ErrStuck = dispatch.ErrStuck
)

// Worker runs the lanes that its group assigns to it.
type Worker struct {
	cfg    Config
	topics map[string]*topic
	gate   *dispatch.Gate
	seed   maphash.Seed
	hasher dedupe.Hasher

	ctx      context.Context //nolint:containedctx // of all work: promises and callbacks of the clients have no other
	group    *kgo.Client
	outputs  *kgo.Client // of handlers
	producer *kgo.Client // of copies
	marker   *kgo.Client // of marks: what carries a tenure number comes from one idempotent producer (R40)
	lookup   *kgo.Client
	admin    *kadm.Client
	sources  *reader
	stages   *reader
	commits  *committer
	limits   limits
	turns    turns
	lanes    lanes

	instruments *instruments
	ends        logEnds
	sourceBeat  beat
	stageBeat   beat
	groupBeat   beat
	restored    atomic.Bool // all lanes of an assignment were taken over once

	ready   chan struct{}  // closed once the group client exists
	trouble chan struct{}  // holds one token: a produce has failed
	fatal   chan error     // holds the first error that ends the worker
	running sync.WaitGroup // tenures
	nLanes  atomic.Int64
	waiting atomic.Int64 // records that wait in all lanes
}

// New makes a worker. It starts nothing.
func New(cfg Config) *Worker {
	w := &Worker{
		cfg: cfg, topics: map[string]*topic{}, gate: dispatch.NewGate(cfg.MaxCalls),
		seed: maphash.MakeSeed(), hasher: dedupe.NewHasher(dedupe.NewSeed()),
		ready: make(chan struct{}), trouble: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	w.instruments = newInstruments(cfg.MeterProvider, cfg.Logger)
	for _, t := range cfg.Topics {
		w.topics[t.Names.Source()] = newTopic(t, w.gate, w)
	}
	w.commits = newCommitter(w)
	w.lanes.init()
	return w
}

// Run works until ctx ends, then drains and returns nil, or [ErrForced] if that took too long. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	w.ctx = work
	if err := w.connect(ctx); err != nil {
		return err
	}
	defer w.disconnect()

	defer w.observe()()
	var loops sync.WaitGroup
	if w.instruments.on {
		loops.Go(func() { w.ends.run(work, w) })
	}
	for _, loop := range []func(context.Context){w.sources.run, w.stages.run, w.commits.run, w.watchGroup, w.watchProducer, w.trim} {
		loops.Go(func() { loop(work) })
	}
	pools := make(chan error, len(w.topics))
	poolCtx, stopPools := context.WithCancel(work)
	for _, t := range w.topics {
		loops.Go(func() { pools <- t.pool.Run(poolCtx) })
	}
	if err := w.join(); err != nil {
		stopPools()
		stop(err)
		loops.Wait()
		return err
	}

	err := w.wait(ctx, pools)
	err = errors.Join(err, w.shutDown(stopPools, stop, &loops))
	return err
}

// wait blocks until the worker has to end, and says why: nil if it was asked to.
func (w *Worker) wait(ctx context.Context, pools <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.fatal:
		return err
	case err := <-pools:
		if err == nil {
			err = errors.New("handler pool ended")
		}
		return err
	}
}

// shutDown gives up all lanes in good order, leaves the group, and ends everything. Each step has its deadline.
func (w *Worker) shutDown(stopPools context.CancelFunc, stop context.CancelCauseFunc, loops *sync.WaitGroup) error {
	began := time.Now()
	deadline := time.NewTimer(w.cfg.Total)
	defer deadline.Stop()
	w.cfg.Logger.Info("draining", slog.Duration("drain", w.cfg.Drain), slog.Duration("total", w.cfg.Total))

	finished := make(chan struct{})
	loops.Go(func() {
		defer close(finished)
		w.lanes.close(w.cfg.Drain)
		w.running.Wait()
		w.cfg.Logger.Info("lanes are given up", slog.Duration("took", time.Since(began)))
		w.group.Close()
	})
	var err error
	select {
	case <-finished:
	case <-deadline.C:
		err = ErrForced
	}
	stopPools()
	stop(nil)
	if err != nil {
		for _, t := range w.topics {
			t.pool.Abandon()
		}
	}
	w.closeClients()
	ended := make(chan struct{})
	go func() { loops.Wait(); close(ended) }()
	grace := time.NewTimer(flushTime)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		err = ErrForced
	}
	if w.lanes.unclean() && err == nil {
		err = ErrForced
	}
	w.cfg.Logger.Info("stopped", slog.Duration("took", time.Since(began)), slog.Bool("clean", err == nil))
	return err
}

func (w *Worker) laneBudget() int64 {
	return min(w.cfg.LaneBytes, max(w.cfg.TotalBytes/max(w.nLanes.Load(), 1), 64<<10))
}

func (w *Worker) readerOf(p lane.Part) *reader {
	if p == lane.Source {
		return w.sources
	}
	return w.stages
}

// die ends the worker with an error.
func (w *Worker) die(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

func (w *Worker) logStuck(i dispatch.StuckInfo) {
	t, _ := i.Owner.(*tenure)
	attrs := []any{slog.Time("since", i.Since), slog.Int("abandoned", i.Running), slog.String("stack", string(i.Stack))}
	if t != nil {
		attrs = append(attrs, slog.String("topic", t.topic.Names.Source()), slog.Int("partition", int(t.partition)))
	}
	w.cfg.Logger.Error("handler ignores its time limit", attrs...)
}

// producerTrouble asks for a look at the producer id: a produce has failed.
func (w *Worker) producerTrouble() {
	select {
	case w.trouble <- struct{}{}:
	default:
	}
}

// watchProducer gives all lanes a new tenure number when the producer id was replaced: a write that was given up under the old
// one may still land (R40).
func (w *Worker) watchProducer(ctx context.Context) {
	id, epoch, err := w.marker.ProducerID(ctx)
	if err != nil {
		id = -1
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.trouble:
		}
		nowID, nowEpoch, err := w.marker.ProducerID(ctx)
		if err != nil {
			continue
		}
		if id >= 0 && (nowID != id || nowEpoch != epoch) {
			w.cfg.Logger.Warn("producer id was replaced", slog.Int64("id", nowID), slog.Int("epoch", int(nowEpoch)))
			w.lanes.each(func(t *tenure) { t.orders.set(func(o *orders) { o.renew = true }) })
		}
		id, epoch = nowID, nowEpoch
	}
}
