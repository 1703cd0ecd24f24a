package admin

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Plan is what a task would do if it began now. Nothing is changed by making one.
type Plan struct {
	Spec Spec // with its snapshot

	Matched    int64            // records that the task is about
	Sends      int64            // those that it sends
	Resolves   int64            // dead letters that it resolves
	Bytes      int64            // of the keys and values that it sends
	Done       int64            // sent, but finished already: the worker skips them, unless Spec.RerunDone
	Expired    int64            // sent, and older than the idempotency window: whether they are done is not known for sure
	Uncertain  int64            // left out: the effect may have taken place
	Unsendable map[string]int64 // left out, by the reason why they cannot be sent
	Duration   time.Duration    // at the rate of the task; 0 without a limit

	Window  time.Duration // of the idempotency topic
	NoMarks bool          // the source has no idempotency topic: what is sent runs, whether it is done or not
	Samples []Sample      // the first few
}

// Sample is one record of a plan.
type Sample struct {
	Place  string    `json:"place"` // topic/partition/offset
	Origin string    `json:"origin"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	Cause  Cause     `json:"cause,omitzero"`
}

const maxSamples = 5

// What a plan is refused for.
var (
	// ErrExpired: something is older than the idempotency window, so that a duplicate would not be noticed.
	ErrExpired = errors.New("older than the idempotency window")
	// ErrNoMarks: the source remembers nothing, and the task does not say that it is to run what is done already.
	ErrNoMarks = errors.New("no idempotency marks: what is done already would run again")
	// ErrNothing: there is nothing to be done.
	ErrNothing = errors.New("nothing matches")
)

// Refusal returns why the plan must not be carried out as it is, or nil.
func (p *Plan) Refusal() error {
	switch {
	case p.Sends == 0 && p.Resolves == 0:
		return ErrNothing
	case p.Sends == 0:
		return nil
	case p.NoMarks && !p.Spec.RerunDone:
		return ErrNoMarks
	case p.Expired > 0 && !p.Spec.AllowExpired:
		return fmt.Errorf("%d of %d records: %w of %.0f h", p.Expired, p.Sends, ErrExpired, p.Window.Hours())
	}
	return nil
}

// Plan takes a snapshot and says what a task over it would do. The spans and the topic id of the spec are filled in; its
// source must be one of the group's. It reads all that the task is about, and the marks of those partitions.
func (c *Client) Plan(ctx context.Context, spec Spec, now time.Time) (*Plan, error) {
	source, err := c.Source(spec.Source)
	if err != nil {
		return nil, err
	}
	if spec.At.IsZero() {
		spec.At = now.UTC()
	}
	if err := c.snapshot(ctx, source, &spec); err != nil {
		return nil, err
	}
	p := &Plan{Spec: spec, Unsendable: map[string]int64{}}
	window, ok, err := c.window(ctx, source)
	if err != nil {
		return nil, err
	}
	p.Window, p.NoMarks = window, !ok
	control, err := c.readControl(ctx)
	if err != nil {
		return nil, err
	}
	m := planner{plan: p, c: c, source: source, expired: now.Add(-window)}
	w := walk{
		c: c, spec: &p.Spec, source: source, control: control, begin: m.begin, visit: m.visit,
		end:   func(context.Context, Span) error { return nil },
		pulse: func(context.Context, int32, int64) error { return nil },
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	if rate := p.Spec.rate(); rate > 0 {
		p.Duration = time.Duration(float64(p.Sends) / rate * float64(time.Second))
	}
	return p, nil
}

// snapshot fixes what the task is about.
func (c *Client) snapshot(ctx context.Context, source Source, spec *Spec) error {
	topic := spec.topic(source)
	l, err := c.log(ctx, topic)
	if err != nil {
		return err
	}
	bounds, err := c.spans(ctx, topic, l, spec.Filter.Range)
	if err != nil {
		return err
	}
	spec.TopicID, spec.Spans = l.id.String(), nil
	for _, s := range l.spans {
		if b := bounds[s.Partition]; spec.Filter.wantsPartition(s.Partition) && b.Len() > 0 {
			spec.Spans = append(spec.Spans, b)
		}
	}
	return nil
}

// planner counts what a walk visits.
type planner struct {
	plan    *Plan
	c       *Client
	source  Source
	expired time.Time // what is older is
	marks   *marks
}

func (m *planner) begin(ctx context.Context, partition int32) (err error) {
	if m.plan.Spec.Kind != KindDiscard {
		m.marks, err = m.c.loadMarks(ctx, m.source, partition)
	}
	return err
}

func (m *planner) visit(_ context.Context, it *item, v verdict) error {
	p := m.plan
	p.Matched++
	if len(p.Samples) < maxSamples {
		p.Samples = append(p.Samples, it.sample())
	}
	if v == send && p.Spec.Kind == KindReplay && !p.Spec.IncludeUncertain && m.marks.isUncertain(it.origin) {
		v = uncertain
	}
	switch v {
	case uncertain:
		p.Uncertain++
	case unsent:
		p.Unsendable[it.unsent]++
	case repeat, discard:
		p.Resolves++
	case send:
		m.send(it)
	}
	return nil
}

func (m *planner) send(it *item) {
	p := m.plan
	p.Sends++
	p.Bytes += it.bytes()
	if it.letter != nil {
		p.Resolves++
	}
	if m.marks.done(it.origin, it.x) {
		p.Done++
	}
	if !p.NoMarks && it.at.Before(m.expired) {
		p.Expired++
	}
}

func (it *item) sample() Sample {
	if d := it.letter; d != nil {
		return Sample{Place: d.Place(), Origin: it.origin.String(), At: d.At, Reason: string(d.Envelope.Reason), Cause: d.Cause()}
	}
	return Sample{Place: it.origin.String(), Origin: it.origin.String(), At: it.at.UTC()}
}
