package admin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/retrytopics"
)

// Step is one thing that is known of a record.
type Step struct {
	Origin   string    `json:"origin"` // of the source record: topic/partition/offset
	Run      uint32    `json:"run"`
	At       time.Time `json:"at,omitzero"` // zero where nothing tells
	What     string    `json:"what"`        // source, replay, stage, dead, done, terminal or claim
	Place    string    `json:"place,omitempty"`
	Hop      uint32    `json:"-"`
	Attempts int       `json:"attempts"` // used
	Due      time.Time `json:"due,omitzero"`
	Settled  bool      `json:"settled"` // nothing more is owed for it at that place; of a dead letter: it is resolved
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"` // of the error
	Worker   string    `json:"worker,omitempty"`
	ReplayID string    `json:"replay_id,omitempty"`
	Trace    string    `json:"traceparent,omitempty"` // of the source record
}

// The values of Step.What.
const (
	StepSource   = "source"   // the record itself
	StepReplay   = "replay"   // a copy in the replay topic
	StepStage    = "stage"    // a copy in a delay topic
	StepDead     = "dead"     // a dead letter
	StepDone     = "done"     // a mark: its work took effect
	StepTerminal = "terminal" // a mark: this life ended without that its work is done
	StepClaim    = "claim"    // a mark: its effect may have begun
)

// TrailOf says which record a trail is wanted of: by its origin, or by the key of the record.
type TrailOf struct {
	Origin string // topic/partition/offset of the source record
	Key    []byte // where Origin is empty
	Source string // with Key: only of this source; empty: all
}

// Trail finds every trace of a record, in the order in which it happened as far as times tell: the record in the source, its
// copies in the delay and replay topics (settled ones stay there for a day), its dead letters, and its marks. Of a key it finds
// what was ever retried, replayed or given up; a record that went well at once leaves no trace with its key in it.
//
// It reads the partition of each of these topics whole, or for a key all of their partitions.
func (c *Client) Trail(ctx context.Context, of TrailOf) ([]Step, error) {
	t := trail{c: c, key: of.Key}
	sources, err := c.selected(of.Source)
	if err != nil {
		return nil, err
	}
	if of.Origin != "" {
		o, err := origin.Parse(of.Origin, "")
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", of.Origin, err)
		}
		s, err := c.Source(o.Topic)
		if err != nil {
			return nil, err
		}
		t.origin, sources = &o, []Source{s}
	}
	if t.committed, err = c.committed(ctx); err != nil {
		return nil, err
	}
	if t.control, err = c.readControl(ctx); err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := t.follow(ctx, s); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.steps, compareSteps)
	return t.steps, nil
}

func compareSteps(a, b Step) int {
	return cmp.Or(strings.Compare(a.Origin, b.Origin), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Hop, b.Hop), a.At.Compare(b.At))
}

// trail gathers steps.
type trail struct {
	c         *Client
	origin    *Origin // nil for a key
	key       []byte
	committed committedOffsets
	control   *controlState
	steps     []Step
	found     map[int32]map[int64]bool // origins of this source, by partition
}

func (t *trail) follow(ctx context.Context, s Source) error {
	t.found = map[int32]map[int64]bool{}
	if t.origin != nil {
		t.find(*t.origin)
	}
	stages, err := t.c.stages(ctx, s)
	if err != nil {
		return err
	}
	names := s.Want.Names
	if err := t.copies(ctx, names.Replay(), StepReplay); err != nil {
		return err
	}
	for _, stage := range stages {
		if err := t.copies(ctx, stage.Topic, StepStage); err != nil {
			return err
		}
	}
	if err := t.copies(ctx, names.DLT(), StepDead); err != nil {
		return err
	}
	if err := t.records(ctx, s); err != nil {
		return err
	}
	return t.marks(ctx, s)
}

func (t *trail) find(o Origin) {
	if t.found[o.Partition] == nil {
		t.found[o.Partition] = map[int64]bool{}
	}
	t.found[o.Partition][o.Offset] = true
}

// copies looks through one of our topics.
func (t *trail) copies(ctx context.Context, topic, what string) error {
	l, err := t.c.log(ctx, topic)
	if errors.Is(err, ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, span := range l.spans {
		if t.origin != nil && span.Partition != t.origin.Partition {
			continue
		}
		err := t.c.read(ctx, topic, l, span, func(r *kgo.Record) error { t.copy(r, what); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *trail) copy(r *kgo.Record, what string) {
	if t.origin == nil && !bytes.Equal(r.Key, t.key) {
		return
	}
	e, _, _ := retrytopics.ParseEnvelope(r.Headers) // what is readable of it
	if t.origin != nil && (e.Origin.Offset != t.origin.Offset || e.Origin.Topic != t.origin.Topic) {
		return
	}
	t.find(e.Origin)
	t.steps = append(t.steps, Step{
		Origin: e.Origin.String(), Run: e.Run, At: r.Timestamp.UTC(), What: what, Place: fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset),
		Hop: e.Hop, Attempts: e.Attempt, Due: e.Due, Settled: t.settled(r, what), Reason: string(e.Reason), Message: e.ErrorMessage,
		Worker: e.Worker, ReplayID: e.ReplayID, Trace: e.OriginTraceparent,
	})
}

func (t *trail) settled(r *kgo.Record, what string) bool {
	if what == StepDead {
		return t.control.isResolved(r.Topic, r.Partition, r.Offset)
	}
	return t.committed.settled(r.Topic, r.Partition, r.Offset)
}

// records looks the found origins up in the source.
func (t *trail) records(ctx context.Context, s Source) error {
	l, err := t.c.log(ctx, s.Name())
	if err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(t.found)) {
		for _, offset := range slices.Sorted(maps.Keys(t.found[p])) {
			r, err := t.c.one(ctx, s.Name(), l, p, offset)
			if err != nil {
				return err
			}
			if r == nil || r.Offset != offset {
				continue // the source has it no more
			}
			place := fmt.Sprintf("%s/%d/%d", s.Name(), p, offset)
			step := Step{Origin: place, At: r.Timestamp.UTC(), What: StepSource, Place: place, Settled: t.settled(r, StepSource)}
			if trace, ok := retrytopics.Header(r.Headers, retrytopics.HeaderTraceparent); ok {
				step.Trace = string(trace)
			}
			t.steps = append(t.steps, step)
		}
	}
	return nil
}

// marks looks for marks of the found origins.
func (t *trail) marks(ctx context.Context, s Source) error {
	for _, p := range slices.Sorted(maps.Keys(t.found)) {
		err := t.c.eachMark(ctx, s, p, func(m *dedupe.Mark, place string) error {
			if m.Kind == dedupe.Dense {
				t.denseMark(s, p, m, place)
			} else if m.Kind != dedupe.Position && t.found[p][m.Identity.Offset] && !m.Tombstone {
				t.steps = append(t.steps, markStep(m, place))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// denseMark says of each found origin when the first of its chunk's marks that holds it was written.
func (t *trail) denseMark(s Source, p int32, m *dedupe.Mark, place string) {
	for _, offset := range slices.Sorted(maps.Keys(t.found[p])) {
		name := fmt.Sprintf("%s/%d/%d", s.Name(), p, offset)
		known := slices.ContainsFunc(t.steps, func(st Step) bool { return st.Origin == name && st.What == StepDone && st.Run == 0 })
		if bit := offset - m.Chunk.First(); !known && !m.Tombstone && bit >= 0 && bit < dedupe.ChunkSize && m.Bits.Has(int(bit)) {
			// Its hop is not in the mark: it was the last.
			t.steps = append(t.steps, Step{Origin: name, At: time.UnixMilli(m.At).UTC(), What: StepDone, Place: place, Hop: lastHop, Settled: true})
		}
	}
}

// lastHop sorts a mark behind the copies of its life.
const lastHop = 1<<32 - 1

func markStep(m *dedupe.Mark, place string) Step {
	return Step{
		Origin: m.Identity.Origin.String(), Run: m.Identity.Run, At: time.UnixMilli(m.At).UTC(), What: m.Kind.String(), Place: place,
		Hop: lastHop, Settled: m.Kind != dedupe.Claim, Reason: m.Reason, Worker: m.Owner,
	}
}

// eachMark calls visit for every readable mark of a partition of the idempotency topic.
func (c *Client) eachMark(ctx context.Context, s Source, partition int32, visit func(m *dedupe.Mark, place string) error) error {
	topic := s.Want.Names.Idempotency()
	l, err := c.log(ctx, topic)
	if errors.Is(err, ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, span := range l.spans {
		if span.Partition != partition {
			continue
		}
		var m dedupe.Mark
		m.Identity.Topic, m.Identity.Partition = s.Name(), partition
		return c.read(ctx, topic, l, span, func(r *kgo.Record) error {
			if m.Decode(r.Key, r.Value) != nil {
				return nil //nolint:nilerr // what is not readable proves nothing
			}
			return visit(&m, fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset))
		})
	}
	return nil
}

// committedOffsets is what the group has committed, decoded.
type committedOffsets map[topicPartition]committedPartition

type committedPartition struct {
	at      int64
	settled offsets.Settled
}

func (c *Client) committed(ctx context.Context) (committedOffsets, error) {
	fetched, err := c.fetchOffsets(ctx)
	if err != nil {
		return nil, err
	}
	out := committedOffsets{}
	fetched.Each(func(o kadm.OffsetResponse) {
		meta, _ := offsets.Decode(o.Metadata, o.At) // what is not readable settles nothing
		out[topicPartition{o.Topic, o.Partition}] = committedPartition{at: o.At, settled: meta.Settled}
	})
	return out, nil
}

// settled tells whether the group owes nothing for a place any more.
func (c committedOffsets) settled(topic string, partition int32, offset int64) bool {
	o, ok := c[topicPartition{topic, partition}]
	return ok && (offset < o.at || o.settled.Contains(offset))
}
