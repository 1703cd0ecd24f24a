package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/retrytopics"
)

// evidence is what is known of a record's last failure, from its return until its next copy is in the log.
type evidence struct {
	reason  retrytopics.Reason // of the failure: retryable, timeout, panic, …; "" keeps the machine's
	rule    string
	class   string
	message string
	stack   string
	at      time.Time
	reduced int // how often the copy was made smaller because the topic refused it
	refused int // how often the topic refused it, or a batch that it was in
}

// produce carries out the writes of a round.
func (t *tenure) produce(writes []lane.Write) {
	for i := range writes {
		w := &writes[i]
		rec := t.record(w)
		token := w.Token
		cl := t.w.marker
		if w.Kind == lane.Forward || w.Kind == lane.DeadLetter {
			cl = t.w.producer
		}
		cl.TryProduce(t.w.ctx, rec, func(r *kgo.Record, err error) {
			a := written{token: token, offset: r.Offset}
			if err != nil {
				a.err = fmt.Errorf("produce to %s: %w", r.Topic, err)
				a.topic, a.size, a.client = r.Topic, retrytopics.Size(r), cl
			}
			t.in.put(func(n *news) { n.writes = append(n.writes, a) })
		})
	}
}

// record makes the record that a write asks for.
func (t *tenure) record(w *lane.Write) *kgo.Record {
	switch w.Kind {
	case lane.Forward:
		return t.copyRecord(w, t.topic.parts[w.To])
	case lane.DeadLetter:
		return t.copyRecord(w, t.topic.Names.DLT())
	case lane.DoneMark, lane.TerminalMark, lane.ClaimMark, lane.ClaimRelease, lane.ChunkMark:
	}
	return t.markRecord(w)
}

// copyRecord makes the next copy of a record: key, value and the user's headers as they are, the envelope as it is now.
func (t *tenure) copyRecord(w *lane.Write, to string) *kgo.Record {
	var env retrytopics.Envelope
	out := &kgo.Record{Topic: to, Partition: t.partition}
	switch p := w.Payload.(type) {
	case *kgo.Record:
		env.OriginTimestamp = p.Timestamp
		out.Key, out.Value, out.Headers = p.Key, p.Value, p.Headers
	case *stored:
		env = p.env
		out.Key, out.Value, out.Headers = p.Key, p.Value, p.user
		if env.OriginTimestamp.IsZero() {
			env.OriginTimestamp = p.Timestamp
		}
	}
	env.Origin = t.topic.originOf(w.Payload, t.sourceID)
	env.Run, env.Hop, env.Attempt, env.Snoozes = w.ID.Run, w.Hop, int(w.Attempt), int(w.Snoozes)
	env.Due, env.Until, env.Force = time.Time{}, fromMilli(w.Until), w.Force
	if w.Kind == lane.Forward {
		env.Due = fromMilli(w.Due)
	}
	env.FirstFailedAt = fromMilli(w.Since)
	env.Group, env.Worker = t.topic.Names.Group(), t.w.cfg.Name
	if x := t.topic.keyOf(w.Payload); x != nil {
		env.IdempotencyKey = string(x)
	}
	env.Reason = retrytopics.Reason(w.Reason.String())
	ev := t.evidence[w.Token.Entry()]
	if ev != nil && w.Reason != lane.Followed {
		env.LastFailedAt, env.ErrorClass, env.ErrorMessage, env.ErrorStack = ev.at, ev.class, ev.message, ev.stack
		if w.Reason == lane.Retryable && ev.reason != "" {
			env.Reason = ev.reason
		}
	}
	t.note(w, &env, out)
	t.figures.issued(w, &env)
	if ev != nil && ev.reduced > 0 {
		return retrytopics.Fit(out, &env, t.fitTo(to, ev.reduced))
	}
	out.Headers = env.Set(out.Headers)
	return out
}

// fitTo returns how large a copy may be that the topic refused before.
func (t *tenure) fitTo(to string, times int) int {
	limit := t.w.limits.of(to)
	if times > 1 {
		return limit / 2 // the broker's limit is another than the one that was read
	}
	return limit
}

// markRecord makes a record of the idempotency topic.
func (t *tenure) markRecord(w *lane.Write) *kgo.Record {
	m := dedupe.Mark{Tenure: w.Tenure, At: t.now.UnixMilli()}
	if w.Kind == lane.ChunkMark {
		id, epoch := t.m.Generation(w.Chunk.Gen)
		m.Kind, m.Chunk, m.Bits = dedupe.Dense, dedupe.Chunk{TopicID: id, Epoch: epoch, Index: w.Chunk.Index}, w.Bits
		return t.marked(&m)
	}
	id, epoch := t.m.Generation(w.ID.Gen)
	m.Identity = dedupe.Identity{
		Origin: origin.Origin{TopicID: id, Partition: t.partition, LeaderEpoch: epoch, Offset: w.ID.Offset}, Run: w.ID.Run,
	}
	if m.DefaultKey = !w.HasX; w.HasX {
		m.Key = dedupe.CanonicalKey(t.topic.keyOf(w.Payload))
	}
	switch w.Kind {
	case lane.DoneMark:
		m.Kind = dedupe.Done
	case lane.TerminalMark:
		m.Kind, m.Reason, m.DefaultKey, m.Key = dedupe.Terminal, w.Reason.String(), false, nil
	case lane.ClaimMark:
		m.Kind, m.Tries, m.Owner = dedupe.Claim, int(w.Tries), t.w.cfg.Name
	case lane.ClaimRelease:
		m.Kind, m.Tries, m.Tombstone = dedupe.Claim, int(w.Tries), true
	case lane.Forward, lane.DeadLetter, lane.ChunkMark:
	}
	return t.marked(&m)
}

func (t *tenure) marked(m *dedupe.Mark) *kgo.Record {
	r := &kgo.Record{Topic: t.topic.Names.Idempotency(), Partition: t.partition, Key: m.AppendKey(nil)}
	if !m.Tombstone {
		r.Value = m.AppendValue(nil)
	}
	return r
}

// answered hands the answers to writes to the machine.
func (t *tenure) answered(writes []written) {
	for _, a := range writes {
		t.landed(&a)
		if a.err == nil {
			t.m.Acked(a.token, a.offset)
			delete(t.evidence, a.token.Entry()) // it is in the log
			continue
		}
		t.failed(a)
	}
	t.reportProduce(len(writes) > 0)
}

// failed deals with a write that did not succeed: it is made again, smaller if it was too large (R17).
func (t *tenure) failed(a written) {
	if a.client == t.w.producer && isRefusal(a.err) && t.isAtFault(a) {
		ev := t.evidenceFor(a.token.Entry())
		if ev.reduced++; ev.reduced > 2 {
			t.m.Refused(a.token)
			return
		}
	}
	if errors.Is(a.err, kerr.UnknownTopicID) {
		a.client.PurgeTopicsFromProducing(a.topic) // it was created anew: the client would keep to the old id for ever
	}
	if !errors.Is(a.err, context.Canceled) {
		t.produceErr = a.err
	}
	t.m.Failed(a.token, t.now.UnixMilli())
	t.w.producerTrouble()
}

// isRefusal says whether the topic does not take what was written. The broker refuses a batch as a whole.
func isRefusal(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) || errors.Is(err, kerr.InvalidRecord)
}

// maxRefusals is how often a record that should fit is written again as it is: something in its batch may be at fault, and the
// batch is another one each time.
const maxRefusals = 5

// isAtFault says whether a refusal is about the record itself: it is larger than its topic takes, or it was refused in too many
// batches.
func (t *tenure) isAtFault(a written) bool {
	ev := t.evidenceFor(a.token.Entry())
	ev.refused++
	return a.size > t.w.limits.of(a.topic) || ev.refused > maxRefusals
}

func (t *tenure) evidenceFor(entry int32) *evidence {
	ev := t.evidence[entry]
	if ev == nil {
		ev = &evidence{}
		t.evidence[entry] = ev
	}
	return ev
}
