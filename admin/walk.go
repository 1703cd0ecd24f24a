package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/retrytopics"
)

// walk visits what a task is about, a partition after the other, in the order of the log. A plan and the task itself walk the
// same way, so that a plan shows what will happen.
type walk struct {
	c       *Client
	spec    *Spec
	source  Source
	control *controlState
	number  uint32          // 0 for a plan
	next    map[int32]int64 // what was looked at before

	begin func(ctx context.Context, partition int32) error             // before the first record of a partition
	visit func(ctx context.Context, it *item, v verdict) error         // for what is to be sent, resolved, or left out
	end   func(ctx context.Context, s Span) error                      // behind the last record of a partition
	pulse func(ctx context.Context, partition int32, next int64) error // now and then, where nothing matches
}

// verdict is what is to be done about a record.
type verdict int

const (
	send      verdict = iota
	repeat            // a second copy, or another life of what the task sends already: resolve it, and send nothing
	discard           // resolve it
	uncertain         // leave it: it may have taken effect
	unsent            // leave it: it cannot be sent
)

// ErrRecreated says that the topic of a task's snapshot was deleted, and created anew.
var ErrRecreated = errors.New("topic was created anew since the task was made")

func (w *walk) run(ctx context.Context) error {
	topic := w.spec.topic(w.source)
	l, err := w.c.log(ctx, topic)
	if err != nil {
		return err
	}
	if l.id.String() != w.spec.TopicID {
		return fmt.Errorf("topic %s: %w", topic, ErrRecreated)
	}
	for _, span := range w.spec.Spans {
		i := slices.IndexFunc(l.spans, func(s Span) bool { return s.Partition == span.Partition })
		if next := w.next[span.Partition]; i < 0 || next >= span.To || span.Len() == 0 {
			continue
		}
		if err := w.partition(ctx, topic, l, span, l.spans[i].From); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) partition(ctx context.Context, topic string, l log, span Span, start int64) error {
	if err := w.begin(ctx, span.Partition); err != nil {
		return err
	}
	span.From = max(span.From, w.next[span.Partition])
	var err error
	if w.spec.Kind == KindReplay {
		err = w.records(ctx, topic, l, span)
	} else {
		err = w.letters(ctx, topic, l, span, start)
	}
	if err != nil {
		return err
	}
	return w.end(ctx, span)
}

// pulseEvery is after how many records that are not visited the walk gives a sign of life.
const pulseEvery = 4096

// records walks over source records.
func (w *walk) records(ctx context.Context, topic string, l log, span Span) error {
	return w.c.read(ctx, topic, l, span, func(r *kgo.Record) error {
		it := w.source.recordItem(r, l)
		if it.unsent != "" {
			return w.visit(ctx, &it, unsent)
		}
		return w.visit(ctx, &it, send)
	})
}

// letters walks over dead letters. It reads from the start of the log, whatever the span is, because a copy in it may be the
// second of its identity.
func (w *walk) letters(ctx context.Context, topic string, l log, span Span, start int64) error {
	var seen, sent identities
	quiet := 0
	reading := Span{Partition: span.Partition, From: start, To: span.To}
	return w.c.read(ctx, topic, l, reading, func(r *kgo.Record) error {
		d := newDeadLetter(w.source.Name(), r)
		first := seen.add(d.Identity())
		origin := Identity{Origin: d.Envelope.Origin}
		if w.control.isOwn(w.number, topic, d.Partition, d.Offset) {
			sent.add(origin)
		}
		if d.Offset < span.From || !w.concerns(&d) {
			if quiet++; quiet%pulseEvery == 0 {
				return w.pulse(ctx, span.Partition, r.Offset+1)
			}
			return nil
		}
		it := w.source.letterItem(&d)
		v := w.verdict(&it)
		if v == send && (!first || !sent.add(origin)) {
			v = repeat
		}
		return w.visit(ctx, &it, v)
	})
}

// concerns tells whether a dead letter is one that the task is about. What comes back of it lies behind its snapshot.
func (w *walk) concerns(d *DeadLetter) bool {
	return !w.control.isResolved(d.Topic, d.Partition, d.Offset) && w.spec.Filter.matches(d)
}

func (w *walk) verdict(it *item) verdict {
	reason := it.letter.Envelope.Reason
	switch {
	case w.spec.Kind == KindDiscard:
		return discard
	case it.unsent != "":
		return unsent
	case reason == retrytopics.ReasonUncertain && !w.spec.IncludeUncertain && !slices.Contains(w.spec.Filter.Reasons, string(reason)):
		return uncertain
	}
	return send
}
