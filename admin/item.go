package admin

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/retrytopics"
)

// item is a record that a task may send.
type item struct {
	letter  *DeadLetter // nil in a replay
	record  *kgo.Record // nil in a redrive
	origin  Origin
	x       []byte // the user's idempotency key; empty for the origin
	at      time.Time
	unsent  string // why it cannot be sent; empty if it can
	omitted bool   // the value is only at the origin
}

// The reasons for which a record cannot be sent.
const (
	unsentUnreadable = "its envelope is not readable"
	unsentForeign    = "it names no record of this source and partition"
	unsentValue      = "its value was too large for the dead letter topic, and the source has it no more"
	unsentKey        = "its idempotency key cannot be made out"
)

func (s Source) letterItem(d *DeadLetter) item {
	it := item{letter: d, origin: d.Envelope.Origin, at: d.At, omitted: d.Envelope.ValueOmitted}
	if !s.Key.Default() {
		it.x = []byte(d.Envelope.IdempotencyKey)
	}
	switch {
	case it.origin.Topic == "":
		it.unsent = unsentUnreadable
	case it.origin.Topic != s.Name() || it.origin.Partition != d.Partition:
		it.unsent = unsentForeign
	}
	return it
}

func (s Source) recordItem(r *kgo.Record, l log) item {
	it := item{record: r, at: r.Timestamp, origin: Origin{
		Topic: r.Topic, TopicID: l.id, Partition: r.Partition, LeaderEpoch: r.LeaderEpoch, Offset: r.Offset,
	}}
	x, ok, err := s.Key.Of(r)
	switch {
	case err != nil:
		it.unsent = unsentKey
	case ok:
		it.x = x
	}
	return it
}

// bytes returns the size of what is sent, headers aside.
func (it *item) bytes() int64 {
	if it.record != nil {
		return int64(len(it.record.Key) + len(it.record.Value))
	}
	return int64(len(it.letter.Key) + len(it.letter.Value))
}

// replayed returns the record for the replay topic: key, value and the user's headers as they are, a new life (R33), and
// nothing of the evidence of the old one. The trace that the record came with is kept as a reference only.
func (it *item) replayed(spec *Spec, source Source, number uint32) *kgo.Record {
	env := retrytopics.Envelope{
		Origin: it.origin, Run: number, Force: spec.RerunDone, ReplayID: replayID(number), Group: source.Want.Names.Group(),
		IdempotencyKey: string(it.x),
	}
	out := &kgo.Record{Topic: source.Want.Names.Replay(), Partition: it.origin.Partition}
	var user []kgo.RecordHeader
	if it.record != nil {
		env.OriginTimestamp = it.record.Timestamp
		out.Key, out.Value, user = it.record.Key, it.record.Value, it.record.Headers
	} else {
		env.OriginTimestamp, env.OriginTraceparent = it.letter.Envelope.OriginTimestamp, it.letter.Envelope.OriginTraceparent
		env.IdempotencyKey = it.letter.Envelope.IdempotencyKey
		out.Key, out.Value, user = it.letter.Key, it.letter.Value, it.letter.Headers
	}
	if trace, ok := retrytopics.Header(user, retrytopics.HeaderTraceparent); ok && env.OriginTraceparent == "" {
		env.OriginTraceparent = string(trace)
	}
	user = retrytopics.DropHeader(retrytopics.DropHeader(user, retrytopics.HeaderTraceparent), retrytopics.HeaderTracestate)
	out.Headers = env.Set(user)
	return out
}

// fetchValue gets a value that is only at the origin.
func (c *Client) fetchValue(ctx context.Context, it *item) error {
	l, err := c.log(ctx, it.origin.Topic)
	if err != nil {
		return err
	}
	r, err := c.one(ctx, it.origin.Topic, l, it.origin.Partition, it.origin.Offset)
	switch {
	case err != nil:
		return err
	case r == nil || r.Offset != it.origin.Offset || r.LeaderEpoch != it.origin.LeaderEpoch || l.id != it.origin.TopicID:
		it.unsent = unsentValue
		return nil
	}
	letter := *it.letter
	letter.Key, letter.Value, letter.Headers = r.Key, r.Value, retrytopics.UserHeaders(r.Headers)
	it.letter, it.omitted = &letter, false
	return nil
}
