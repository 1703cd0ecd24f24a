package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// Worker is a configuration that is ready to run.
type Worker struct {
	Config processor.Config // its tracer and meter providers are still to be set

	closers []func() error
}

// Close ends what the handlers hold, such as child processes. Call it once [processor.Processor.Run] has returned.
func (w *Worker) Close() error {
	var errs []error
	for _, closer := range w.closers {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// Build makes a worker of a configuration that Load returned without an error. It reads the PEM files and makes the
// handlers, but connects to nothing and starts nothing. Its error holds everything that is wrong.
func (c *Config) Build(logger *slog.Logger) (*Worker, error) {
	options, err := c.ClientOptions()
	errs := []error{err}
	w := &Worker{Config: processor.Config{
		Brokers: c.Brokers, Group: c.Group, InstanceID: c.InstanceID,
		Session: processor.Session{
			Timeout:   time.Duration(c.Session.Timeout),
			Heartbeat: time.Duration(c.Session.Heartbeat),
			Rebalance: time.Duration(c.Session.Rebalance),
		},
		Shutdown:         processor.Shutdown{Drain: time.Duration(c.Shutdown.Drain), Total: time.Duration(c.Shutdown.Total)},
		Buffers:          processor.Buffers{Lane: int64(c.Buffers.Lane), Total: int64(c.Buffers.Total), Waiting: int64(c.Buffers.Waiting)},
		CommitInterval:   time.Duration(c.CommitInterval),
		TopicTemplate:    c.TopicTemplate,
		AutoCreateTopics: c.AutoCreateTopics,
		ClientOptions:    options,
		Logger:           logger,
	}}
	for _, name := range slices.Sorted(maps.Keys(c.Topics)) {
		topic := c.Topics[name]
		built := topic.build(name)
		built.Handler, err = w.handler(topic, logger.With(slog.String("topic", name)))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", join("topics", name), err))
		}
		w.Config.Topics = append(w.Config.Topics, built)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (t Topic) build(name string) processor.Topic {
	return processor.Topic{
		Name:        name,
		Ordering:    ordering(t.Ordering),
		Concurrency: t.Concurrency,
		Timeout:     time.Duration(t.Timeout),
		Grace:       time.Duration(t.Grace),
		Stuck:       stuckPolicy(t.Stuck),
		Retry:       t.Policy(),
		Idempotency: processor.Idempotency{
			Key: t.Idempotency.Key.Key, Mode: mode(t.Idempotency.Mode), Window: time.Duration(t.Idempotency.Window),
		},
		Start: t.Start.Start,
	}
}

// Policy returns the retry schedule of the topic.
func (t Topic) Policy() retrytopics.Policy {
	p := retrytopics.Policy{
		MaxAttempts: t.Retry.MaxAttempts, Jitter: t.Retry.Jitter, MaxJitter: time.Duration(t.Retry.MaxJitter),
		MaxSnoozes: t.Retry.MaxSnoozes, MaxSnoozeAge: time.Duration(t.Retry.MaxSnoozeAge),
	}
	for _, tier := range t.Retry.Tiers {
		p.Tiers = append(p.Tiers, time.Duration(tier))
	}
	if p.Jitter == 0 {
		p.Jitter = -1 // the policy reads 0 as its default
	}
	return p
}

func ordering(word string) processor.Ordering {
	switch word {
	case "partition":
		return processor.OrderByPartition
	case "none":
		return processor.Unordered
	}
	return processor.OrderByKey
}

// modeOff is the word for no idempotency.
const modeOff = "off"

func mode(word string) processor.Mode {
	switch word {
	case "claim_first":
		return processor.ClaimFirst
	case modeOff:
		return processor.DedupeOff
	}
	return processor.RecordAfter
}

func stuckPolicy(word string) processor.StuckPolicy {
	if word == "crash" {
		return processor.StuckCrash
	}
	return processor.StuckAbandon
}
