package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

// Status is how a group is doing, as the brokers tell: it needs no worker.
type Status struct {
	Group   string
	State   string // of the consumer group, as Kafka calls it: Stable, Empty, Dead, …
	Members []Member
	Lanes   []Lane // by source and partition
	Tiers   []Tier // by source and delay, the replay topic first
}

// Member is one process of the group.
type Member struct {
	ID       string
	Instance string // of a static member
	Client   string
	Host     string
	Lanes    int
}

// Lane is one partition of a source with all that belongs to it.
type Lane struct {
	Source    string
	Partition int32
	Member    string // id of the member that owns it; empty if none does

	Committed int64     // the committed offset; -1 if there is none
	End       int64     // behind the last committed record of the source
	Unsettled int64     // source records that are not settled yet: the lag
	Oldest    time.Time // timestamp of the oldest unsettled record of the source; zero if there is none

	Waiting int64 // records in the delay topics that are not settled
	Overdue int64 // those of them that should have run by now, whatever their jitter
	Replays int64 // records in the replay topic that are not settled

	DeadLetters int64     // that are not resolved; a second copy that a crash has left counts, too
	OldestDead  time.Time // when the oldest of them was appended; zero if there is none

	Tenure    int64  // number of the last ownership
	Unclean   int    // lives in a row that ended without a clean give-up
	Suspects  int    // records that the process died with
	Unread    string // why the commit metadata counts for nothing; empty if it is in order
	NoOffsets bool   // the group has committed nothing for the source partition
}

// Tier is one topic that records wait in.
type Tier struct {
	Source  string
	Topic   string
	Delay   time.Duration // 0 for the replay topic
	Waiting int64
	Overdue int64 // 0 for the replay topic
}

// Lag returns the unsettled source records of all lanes.
func (s *Status) Lag() (n int64) {
	for i := range s.Lanes {
		n += s.Lanes[i].Unsettled
	}
	return n
}

// DeadLetters returns the unresolved dead letters of all lanes.
func (s *Status) DeadLetters() (n int64) {
	for i := range s.Lanes {
		n += s.Lanes[i].DeadLetters
	}
	return n
}

// Status asks the brokers how the group is doing. It reads offsets, a record or two of each partition, and the control topic; so
// its cost does not grow with what waits. What the group has settled above its committed offset is not lag.
//
// now decides what is overdue.
func (c *Client) Status(ctx context.Context, now time.Time) (*Status, error) {
	s := &Status{Group: c.group}
	owners, err := c.members(ctx, s)
	if err != nil {
		return nil, err
	}
	committed, err := c.fetchOffsets(ctx)
	if err != nil {
		return nil, err
	}
	control, err := c.readControl(ctx)
	if err != nil {
		return nil, err
	}
	for _, source := range c.sources {
		r := statusReader{c: c, source: source, committed: committed, control: control, now: now, owners: owners}
		if err := r.read(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fetchOffsets returns what the group has committed: nothing, if there is no such group.
func (c *Client) fetchOffsets(ctx context.Context) (kadm.OffsetResponses, error) {
	committed, err := c.adm.FetchOffsets(ctx, c.group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("fetch committed offsets of group %s: %w", c.group, err)
	}
	return committed, nil
}

// members describes the group and returns who owns what.
func (c *Client) members(ctx context.Context, s *Status) (map[topicPartition]string, error) {
	groups, err := c.adm.DescribeGroups(ctx, c.group)
	if err != nil {
		return nil, fmt.Errorf("describe group %s: %w", c.group, err)
	}
	g := groups[c.group]
	if errors.Is(g.Err, kerr.GroupIDNotFound) {
		s.State = "Dead" // as a broker before Kafka 4 calls it
		return nil, nil
	}
	if g.Err != nil {
		return nil, fmt.Errorf("describe group %s: %w", c.group, g.Err)
	}
	s.State = g.State
	owners := map[topicPartition]string{}
	for _, m := range g.Members {
		member := Member{ID: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			member.Instance = *m.InstanceID
		}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				member.Lanes += len(t.Partitions)
				for _, p := range t.Partitions {
					owners[topicPartition{t.Topic, p}] = m.MemberID
				}
			}
		}
		s.Members = append(s.Members, member)
	}
	return owners, nil
}

type topicPartition struct {
	topic     string
	partition int32
}

// statusReader puts together what the brokers tell of one source.
type statusReader struct {
	c         *Client
	source    Source
	committed kadm.OffsetResponses
	control   *controlState
	owners    map[topicPartition]string
	now       time.Time

	log   log
	lanes []Lane
	at    map[int32]int // index in lanes
}

func (r *statusReader) read(ctx context.Context, s *Status) error {
	l, err := r.c.log(ctx, r.source.Name())
	if err != nil {
		return err
	}
	r.log, r.at = l, map[int32]int{}
	for _, span := range l.spans {
		r.at[span.Partition] = len(r.lanes)
		r.lanes = append(r.lanes, r.lane(span))
	}
	tiers, err := r.tiers(ctx)
	if err != nil {
		return err
	}
	if err := r.deadLetters(ctx); err != nil {
		return err
	}
	if err := r.ages(ctx); err != nil {
		return err
	}
	s.Tiers = append(s.Tiers, tiers...)
	s.Lanes = append(s.Lanes, r.lanes...)
	return nil
}

// lane says what the commit of a source partition says.
func (r *statusReader) lane(span Span) Lane {
	name := r.source.Name()
	lane := Lane{Source: name, Partition: span.Partition, Member: r.owners[topicPartition{name, span.Partition}], Committed: -1, End: span.To}
	o, ok := r.committed.Lookup(name, span.Partition)
	if !ok || o.At < 0 {
		lane.NoOffsets, lane.Unsettled = true, span.Len()
		return lane
	}
	lane.Committed = o.At
	meta, err := offsets.Decode(o.Metadata, o.At)
	if err != nil {
		lane.Unread = err.Error()
	}
	if meta.Lane != nil {
		lane.Tenure, lane.Unclean, lane.Suspects = meta.Lane.Tenure, meta.Lane.Unclean, len(meta.Lane.Suspects)
	}
	lane.Unsettled = unsettled(o, meta, r.log.id, span)
	return lane
}

// unsettled counts the offsets of a log that the commit does not call settled.
func unsettled(o kadm.OffsetResponse, meta offsets.Metadata, id origin.TopicID, log Span) int64 {
	if meta.TopicID != (origin.TopicID{}) && id != (origin.TopicID{}) && meta.TopicID != id {
		return log.Len() // the topic was created anew
	}
	from := min(max(o.At, log.From), log.To)
	n := log.To - from
	meta.Settled.Each(func(off int64) {
		if off >= from && off < log.To {
			n--
		}
	})
	return n
}

// tiers counts what waits in the replay topic and in every delay topic that exists, configured or not.
func (r *statusReader) tiers(ctx context.Context) ([]Tier, error) {
	names := r.source.Want.Names
	stages, err := r.c.stages(ctx, r.source)
	if err != nil {
		return nil, err
	}
	var out []Tier
	for _, t := range append([]Tier{{Topic: names.Replay()}}, stages...) {
		t.Source = names.Source()
		if err := r.tier(ctx, &t); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (r *statusReader) tier(ctx context.Context, t *Tier) error {
	l, err := r.c.log(ctx, t.Topic)
	if errors.Is(err, ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	var due map[int32]int64 // by partition, the offset behind what is due for sure
	if t.Delay > 0 {
		// Nothing waits longer in a delay topic than its delay with full jitter, so the times of the log tell what is due.
		if due, err = r.c.after(ctx, t.Topic, r.now.Add(-r.source.Want.Policy.WithDefaults().Longest(t.Delay))); err != nil {
			return err
		}
	}
	for _, span := range l.spans {
		o, _ := r.committed.Lookup(t.Topic, span.Partition)
		meta, _ := offsets.Decode(o.Metadata, o.At) // what is not readable settles nothing
		waiting, overdue := unsettled(o, meta, l.id, span), int64(0)
		if end, ok := due[span.Partition]; ok {
			before := span
			before.To = min(max(end, span.From), span.To)
			overdue = unsettled(o, meta, l.id, before)
		}
		t.Waiting += waiting
		t.Overdue += overdue
		r.add(t, span.Partition, waiting, overdue)
	}
	return nil
}

func (r *statusReader) add(t *Tier, partition int32, waiting, overdue int64) {
	i, ok := r.at[partition]
	switch {
	case !ok:
	case t.Delay == 0:
		r.lanes[i].Replays += waiting
	default:
		r.lanes[i].Waiting += waiting
		r.lanes[i].Overdue += overdue
	}
}

// deadLetters counts what is in the dead letter topic and not resolved.
func (r *statusReader) deadLetters(ctx context.Context) error {
	topic := r.source.Want.Names.DLT()
	l, err := r.c.log(ctx, topic)
	if errors.Is(err, ErrNoTopic) {
		return nil
	}
	if err != nil {
		return err
	}
	return eachAtOnce(ctx, l.spans, func(ctx context.Context, span Span) error {
		i, ok := r.at[span.Partition]
		if !ok {
			return nil
		}
		first := int64(-1)
		for off := span.From; off < span.To; off++ {
			if !r.control.isResolved(topic, span.Partition, off) {
				if r.lanes[i].DeadLetters++; first < 0 {
					first = off
				}
			}
		}
		if first < 0 {
			return nil
		}
		at, err := r.c.timeAt(ctx, topic, l, span.Partition, first)
		r.lanes[i].OldestDead = at
		return err
	})
}

// ages looks up the time of the oldest unsettled record of each lane.
func (r *statusReader) ages(ctx context.Context) error {
	return eachAtOnce(ctx, r.log.spans, func(ctx context.Context, span Span) error {
		lane := &r.lanes[r.at[span.Partition]]
		if lane.Unsettled == 0 {
			return nil
		}
		at, err := r.c.timeAt(ctx, lane.Source, r.log, span.Partition, max(lane.Committed, span.From))
		lane.Oldest = at
		return err
	})
}

// timeAt returns the timestamp of the first record at or behind an offset; zero if there is none.
func (c *Client) timeAt(ctx context.Context, topic string, l log, partition int32, at int64) (time.Time, error) {
	r, err := c.one(ctx, topic, l, partition, at)
	if err != nil || r == nil {
		return time.Time{}, err
	}
	return r.Timestamp.UTC(), nil
}

// atOnce is how many partitions are asked at the same time.
const atOnce = 16

// eachAtOnce calls f for all spans, some at the same time, and returns the first error.
func eachAtOnce(ctx context.Context, spans []Span, f func(context.Context, Span) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, atOnce)
	var wait sync.WaitGroup
	for _, s := range spans {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := f(ctx, s); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// stages returns the delay topics of a source that exist, by delay: also those that a former configuration left behind.
func (c *Client) stages(ctx context.Context, source Source) ([]Tier, error) {
	details, err := c.adm.ListTopics(kadm.WithAuthorizedOps(ctx)) // asked so, the client does not answer from its cache
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var out []Tier
	for name := range details {
		if delay, ok := source.Want.Names.ParseStage(name); ok {
			out = append(out, Tier{Source: source.Name(), Topic: name, Delay: delay})
		}
	}
	slices.SortFunc(out, func(a, b Tier) int { return cmp.Compare(a.Delay, b.Delay) })
	return out, nil
}
