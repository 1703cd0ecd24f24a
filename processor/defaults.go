package processor

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/worker"
	"github.com/laneway-go/laneway/retrytopics"
)

// withDefaults returns a copy with a value in every field, or everything that is wrong with it.
func (c Config) withDefaults(handler Handler) (Config, error) {
	var errs []error
	bad := func(field, format string, args ...any) { errs = append(errs, problem(field, format, args...)) }
	c.Brokers, c.Topics = slices.Clone(c.Brokers), slices.Clone(c.Topics)
	if len(c.Brokers) == 0 {
		bad("Brokers", "want at least one host:port")
	}
	if c.Group == "" {
		bad("Group", "want a name")
	}
	if len(c.Topics) == 0 {
		bad("Topics", "want at least one")
	}
	durations := []struct {
		name  string
		field *time.Duration
		def   time.Duration
	}{
		{"Session.Timeout", &c.Session.Timeout, 15 * time.Second},
		{"Session.Heartbeat", &c.Session.Heartbeat, 500 * time.Millisecond},
		{"Session.Rebalance", &c.Session.Rebalance, 30 * time.Second},
		{"Shutdown.Drain", &c.Shutdown.Drain, 20 * time.Second},
		{"Shutdown.Total", &c.Shutdown.Total, c.Shutdown.Drain + 5*time.Second},
		{"CommitInterval", &c.CommitInterval, 500 * time.Millisecond},
		{"KeepSettled", &c.KeepSettled, 24 * time.Hour},
	}
	for i, d := range durations {
		if d.name == "Shutdown.Total" {
			durations[i].def = c.Shutdown.Drain + 5*time.Second
		}
		if *d.field < 0 {
			bad(d.name, "%v is negative", *d.field)
		}
		*d.field = cmp.Or(*d.field, durations[i].def)
	}
	if c.Shutdown.Total < c.Shutdown.Drain {
		bad("Shutdown.Total", "%v is shorter than Drain, %v", c.Shutdown.Total, c.Shutdown.Drain)
	}
	if c.Session.Heartbeat > c.Session.Timeout/3 {
		bad("Session.Heartbeat", "%v is more than a third of the session timeout, %v", c.Session.Heartbeat, c.Session.Timeout)
	}
	c.Buffers.Lane = cmp.Or(c.Buffers.Lane, 16<<20)
	c.Buffers.Total = cmp.Or(c.Buffers.Total, 256<<20)
	c.Buffers.Waiting = cmp.Or(c.Buffers.Waiting, 5_000_000)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	seen := map[string]bool{}
	for i := range c.Topics {
		t := &c.Topics[i]
		where := fmt.Sprintf("Topics[%d]", i)
		if t.Name != "" {
			where = fmt.Sprintf("Topics[%s]", t.Name)
		}
		if seen[t.Name] {
			bad(where, "named twice")
		}
		seen[t.Name] = true
		for _, err := range t.defaults(handler) {
			errs = append(errs, fmt.Errorf("%s.%w", where, err))
		}
		if _, err := retrytopics.NewNames(retrytopics.Template(c.TopicTemplate), t.Name, c.Group); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
	}
	return c, errors.Join(errs...)
}

// problem names a field and what is wrong with it.
func problem(field, format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{field}, args...)...)
}

// defaults fills in a topic's defaults and returns what is wrong with it.
func (t *Topic) defaults(handler Handler) (errs []error) {
	bad := func(field, format string, args ...any) { errs = append(errs, problem(field, format, args...)) }
	if t.Handler == nil {
		t.Handler = handler
	}
	if t.Handler == nil {
		bad("Handler", "none, and New was given none")
	}
	if t.Name == "" {
		bad("Name", "want a topic")
	}
	if t.Concurrency < 0 {
		bad("Concurrency", "%d is negative", t.Concurrency)
	}
	if t.Timeout < 0 || t.Grace < 0 || t.Idempotency.Window < 0 {
		bad("Timeout, Grace, Idempotency.Window", "negative")
	}
	if t.Ordering > Unordered || t.Idempotency.Mode > DedupeOff || t.Stuck > StuckCrash {
		bad("Ordering, Idempotency.Mode, Stuck", "unknown value")
	}
	t.Concurrency = cmp.Or(t.Concurrency, 64)
	t.Timeout = cmp.Or(t.Timeout, 30*time.Second)
	t.Grace = cmp.Or(t.Grace, 10*time.Second)
	t.Retry = t.Retry.WithDefaults()
	if err := t.Retry.Validate(); err != nil {
		bad("Retry", "%w", err)
	}
	return errs
}

// wants says what the cluster has to have.
func (c Config) wants() ([]retrytopics.Want, error) {
	var wants []retrytopics.Want
	var sources []string
	for _, t := range c.Topics {
		names, err := retrytopics.NewNames(retrytopics.Template(c.TopicTemplate), t.Name, c.Group)
		if err != nil {
			return nil, err
		}
		sources = append(sources, t.Name)
		wants = append(wants, retrytopics.Want{
			Names: names, Policy: t.Retry, NoIdempotency: t.Idempotency.Mode == DedupeOff, Window: t.Idempotency.Window,
		})
	}
	return wants, retrytopics.CheckSources(retrytopics.Template(c.TopicTemplate), c.Group, sources)
}

// workerConfig translates the configuration for the worker. Stages that exist and are not configured are drained (R43).
func (p *Processor) workerConfig(wants []retrytopics.Want, state retrytopics.State) (worker.Config, error) {
	c := &p.cfg
	out := worker.Config{
		Group: c.Group, InstanceID: c.InstanceID, Name: name(), Options: p.options(),
		SessionTimeout: c.Session.Timeout, Heartbeat: c.Session.Heartbeat, RebalanceTimeout: c.Session.Rebalance,
		CommitInterval: c.CommitInterval, KeepSettled: c.KeepSettled, Drain: c.Shutdown.Drain, Total: c.Shutdown.Total,
		LaneBytes: c.Buffers.Lane, TotalBytes: c.Buffers.Total, MaxWaiting: c.Buffers.Waiting, Logger: c.Logger, Hooks: c.hooks(), MeterProvider: c.MeterProvider,
	}
	for i, t := range c.Topics {
		w := worker.Topic{
			Names: wants[i].Names, Policy: t.Retry, Classifier: t.Classifier, Key: t.Idempotency.Key,
			Mode: lane.Mode(t.Idempotency.Mode), Ordering: lane.Ordering(t.Ordering), Handle: p.caller(t.Handler),
			Concurrency: t.Concurrency, Timeout: t.Timeout, Grace: t.Grace, StuckCrash: t.Stuck == StuckCrash,
			Start: worker.Start{Latest: t.Start.latest, At: t.Start.at}, MarkWindow: t.Idempotency.Window,
		}
		if w.MarkWindow == 0 {
			w.MarkWindow, _ = wants[i].AutoWindow(state)
		}
		for _, d := range wants[i].Stages(state) {
			w.Stages = append(w.Stages, worker.Stage{
				Topic: wants[i].Names.Stage(d), Delay: d, Target: slices.Contains(t.Retry.Tiers, d),
			})
		}
		out.Topics = append(out.Topics, w)
	}
	return out, nil
}
