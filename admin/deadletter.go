package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/retrytopics"
)

// DeadLetter is a record that the group gave up.
type DeadLetter struct {
	Source    string // the source topic
	Topic     string // the dead letter topic
	Partition int32
	Offset    int64
	At        time.Time // when it was appended, as the broker or, on a topic of another kind, its writer says
	Envelope  retrytopics.Envelope
	Key       []byte
	Value     []byte             // nil for a tombstone, or if the envelope says that it was left out
	Headers   []kgo.RecordHeader // of the user
	Resolved  bool               // sent again, or discarded, by a task
	Damage    error              // what could not be read of the envelope
}

// Identity returns the life of the record that ended here.
func (d *DeadLetter) Identity() Identity { return d.Envelope.Identity() }

// Place returns topic/partition/offset of the dead letter itself.
func (d *DeadLetter) Place() string { return fmt.Sprintf("%s/%d/%d", d.Topic, d.Partition, d.Offset) }

// Cause returns what the dead letter is grouped by.
func (d *DeadLetter) Cause() Cause { return CauseOf(d.Envelope.ErrorClass, d.Envelope.ErrorMessage) }

func newDeadLetter(source string, r *kgo.Record) DeadLetter {
	d := DeadLetter{
		Source: source, Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, At: r.Timestamp.UTC(), Key: r.Key, Value: r.Value,
	}
	d.Envelope, d.Headers, d.Damage = retrytopics.ParseEnvelope(r.Headers)
	return d
}

// Query says which dead letters are wanted.
type Query struct {
	Source   string // only of this source topic; empty: of all
	Filter   Filter
	Resolved bool // those that are resolved, too
}

// DeadLetters calls visit for each dead letter that the query wants, by topic, partition and offset, and only once for each
// identity: a worker that dies between the dead letter and its mark may leave a second copy (R14). It takes the same memory
// however large the records are: 16 to 40 bytes for each dead letter of one partition.
//
// It reads what was there when it was called, and blocks until then. An error of visit ends it and is returned. The dead letter
// is valid until visit returns; its bytes may be kept.
func (c *Client) DeadLetters(ctx context.Context, q Query, visit func(*DeadLetter) error) error {
	sources, err := c.selected(q.Source)
	if err != nil {
		return err
	}
	control, err := c.readControl(ctx)
	if err != nil {
		return err
	}
	for _, s := range sources {
		topic := s.Want.Names.DLT()
		l, err := c.log(ctx, topic)
		if err != nil {
			return err
		}
		bounds, err := c.resolve(ctx, topic, l, q.Filter)
		if err != nil {
			return err
		}
		for _, span := range l.spans {
			scan := letterScan{source: s.Name(), control: control, filter: q.Filter, bounds: bounds[span.Partition], resolved: q.Resolved}
			if err := c.scanLetters(ctx, topic, l, span, &scan, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// letterScan tells which records of a dead letter partition are wanted.
type letterScan struct {
	source   string
	control  *controlState
	filter   Filter
	bounds   Span
	resolved bool
	seen     identities
}

func (c *Client) scanLetters(ctx context.Context, topic string, l log, span Span, scan *letterScan, visit func(*DeadLetter) error) error {
	span.To = min(span.To, scan.bounds.To)
	if !scan.filter.wantsPartition(span.Partition) {
		return nil
	}
	return c.read(ctx, topic, l, span, func(r *kgo.Record) error {
		d := newDeadLetter(scan.source, r)
		if !scan.wants(&d) {
			return nil
		}
		return visit(&d)
	})
}

// wants takes in a dead letter. The first copy of an identity speaks for all: a later one is neither shown nor sent.
func (s *letterScan) wants(d *DeadLetter) bool {
	first := s.seen.add(d.Identity())
	d.Resolved = s.control.isResolved(d.Topic, d.Partition, d.Offset)
	return first && d.Offset >= s.bounds.From && (s.resolved || !d.Resolved) && s.filter.matches(d)
}

// ErrNoDeadLetter says that there is no dead letter at a place.
var ErrNoDeadLetter = errors.New("no such dead letter")

// DeadLetter returns the dead letter at a place, resolved or not.
func (c *Client) DeadLetter(ctx context.Context, source string, partition int32, offset int64) (*DeadLetter, error) {
	s, err := c.Source(source)
	if err != nil {
		return nil, err
	}
	control, err := c.readControl(ctx)
	if err != nil {
		return nil, err
	}
	topic := s.Want.Names.DLT()
	l, err := c.log(ctx, topic)
	if err != nil {
		return nil, err
	}
	r, err := c.one(ctx, topic, l, partition, offset)
	if err != nil {
		return nil, err
	}
	if r == nil || r.Offset != offset {
		return nil, fmt.Errorf("%s/%d/%d: %w", topic, partition, offset, ErrNoDeadLetter)
	}
	d := newDeadLetter(source, r)
	d.Resolved = control.isResolved(topic, partition, offset)
	return &d, nil
}

// identities is a set of the identities of one partition. Neighbouring offsets share an entry.
type identities struct {
	gens map[generation]uint32
	bits map[identityChunk]uint64
}

type generation struct {
	topic   string
	topicID [16]byte
	epoch   int32
}

type identityChunk struct {
	chunk    int64
	run, gen uint32
}

// add returns false for an identity that is in the set already.
func (s *identities) add(i Identity) bool {
	if s.bits == nil {
		s.gens, s.bits = map[generation]uint32{}, map[identityChunk]uint64{}
	}
	g := generation{i.Topic, i.TopicID, i.LeaderEpoch}
	gen, ok := s.gens[g]
	if !ok {
		gen = uint32(len(s.gens))
		s.gens[g] = gen
	}
	const width = 64
	k := identityChunk{chunk: i.Offset / width, run: i.Run, gen: gen}
	bit := uint64(1) << (uint64(i.Offset) % width)
	had := s.bits[k]
	s.bits[k] = had | bit
	return had&bit == 0
}
