package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/internal/origin"
)

// Span is a range of offsets of one partition: From included, To not.
type Span struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`
	To        int64 `json:"to"`
}

// Len returns how many offsets there are in the span.
func (s Span) Len() int64 { return max(s.To-s.From, 0) }

// log is a topic as its leaders tell of it now.
type log struct {
	id      origin.TopicID
	leaders map[int32]int32
	spans   []Span // by partition, from the log start to the end
}

// ErrNoTopic says that a topic does not exist.
var ErrNoTopic = errors.New("no such topic")

// log looks a topic up. A source ends at its last stable offset, because a worker sees committed records only.
func (c *Client) log(ctx context.Context, topic string) (log, error) {
	details, err := c.adm.ListTopics(ctx, topic)
	if err != nil {
		return log{}, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	d := details[topic]
	switch {
	case !details.Has(topic) || errors.Is(d.Err, kerr.UnknownTopicOrPartition):
		return log{}, fmt.Errorf("topic %s: %w", topic, ErrNoTopic)
	case d.Err != nil:
		return log{}, fmt.Errorf("look up topic %s: %w", topic, d.Err)
	}
	l := log{id: origin.TopicID(d.ID), leaders: make(map[int32]int32, len(d.Partitions))}
	for p, detail := range d.Partitions {
		l.leaders[p] = detail.Leader
	}
	starts, err := c.listed(ctx, c.adm.ListStartOffsets, topic)
	if err != nil {
		return log{}, err
	}
	ends, err := c.listed(ctx, c.adm.ListCommittedOffsets, topic)
	if err != nil {
		return log{}, err
	}
	for _, p := range slices.Sorted(maps.Keys(l.leaders)) {
		l.spans = append(l.spans, Span{Partition: p, From: starts[p], To: ends[p]})
	}
	return l, nil
}

func (c *Client) listed(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), topic string) (map[int32]int64, error) {
	answer, err := list(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	out := make(map[int32]int64, len(answer[topic]))
	for p, o := range answer[topic] {
		if o.Err != nil {
			return nil, fmt.Errorf("list offsets of %s/%d: %w", topic, p, o.Err)
		}
		out[p] = o.Offset
	}
	return out, nil
}

// after returns, by partition, the first offset whose timestamp is not before t, or the end.
func (c *Client) after(ctx context.Context, topic string, t time.Time) (map[int32]int64, error) {
	return c.listed(ctx, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return c.adm.ListOffsetsAfterMilli(ctx, t.UnixMilli(), topics...)
	}, topic)
}

// fetchBytes is how much is asked for at once, compressed. Two such answers are in memory while a partition is read, and may
// be twenty times as large there.
const fetchBytes = 1 << 20

// oneBytes is how much is asked for where one record is wanted; a broker sends a larger one whole.
const oneBytes = 16 << 10

// fetchWait is how long a broker may hold an answer that has nothing in it.
const fetchWait = 100 * time.Millisecond

// errStop is what a visitor returns to end a reading early without an error.
var errStop = errors.New("stop")

// read calls visit for every committed record in the span, in the order of the log. It goes over gaps and markers, and waits
// out a leader that moves. The next answer is fetched while the last one is visited. A record is valid until visit returns;
// its bytes may be kept.
func (c *Client) read(ctx context.Context, topic string, l log, span Span, visit func(*kgo.Record) error) error {
	return c.readBy(ctx, topic, l, span, fetchBytes, visit)
}

func (c *Client) readBy(ctx context.Context, topic string, l log, span Span, bytes int32, visit func(*kgo.Record) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan []*kgo.Record)
	ended := make(chan error, 1)
	go func() {
		defer close(answers)
		ended <- c.fetchAll(ctx, topic, l, span, bytes, answers)
	}()
	err := visitAll(answers, visit)
	cancel()
	for range answers {
	}
	fetchErr := <-ended
	switch {
	case errors.Is(err, errStop):
		return nil
	case err != nil:
		return err
	}
	return fetchErr
}

func visitAll(answers <-chan []*kgo.Record, visit func(*kgo.Record) error) error {
	for records := range answers {
		for _, r := range records {
			if err := visit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchAll hands over the records of a span, an answer at a time.
func (c *Client) fetchAll(ctx context.Context, topic string, l log, span Span, bytes int32, answers chan<- []*kgo.Record) error {
	leader := l.leaders[span.Partition]
	for at := span.From; at < span.To; {
		records, next, err := c.fetch(ctx, fetchSpec{topic: topic, id: l.id, leader: leader, at: at, partition: span.Partition, bytes: bytes})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, kerr.OffsetOutOfRange): // the records were deleted since the span was looked up
			if at, err = c.logStart(ctx, topic, span.Partition); err != nil {
				return err
			}
			continue
		case err != nil && !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err):
			return fmt.Errorf("read %s/%d at %d: %w", topic, span.Partition, at, err)
		case err != nil:
			if leader, err = c.newLeader(ctx, topic, span.Partition, leader); err != nil {
				return err
			}
			continue
		}
		for len(records) > 0 && records[len(records)-1].Offset >= span.To {
			records = records[:len(records)-1]
		}
		if at = next; len(records) == 0 {
			continue
		}
		select {
		case answers <- records:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *Client) logStart(ctx context.Context, topic string, partition int32) (int64, error) {
	starts, err := c.listed(ctx, c.adm.ListStartOffsets, topic)
	return starts[partition], err
}

// newLeader waits a little, and asks who leads a partition now.
func (c *Client) newLeader(ctx context.Context, topic string, partition, old int32) (int32, error) {
	wait := time.NewTimer(fetchWait)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return old, context.Cause(ctx)
	}
	details, err := c.adm.ListTopics(ctx, topic)
	if err != nil {
		return old, fmt.Errorf("look up the leader of %s/%d: %w", topic, partition, err)
	}
	if p, ok := details[topic].Partitions[partition]; ok && p.Leader >= 0 {
		return p.Leader, nil
	}
	return old, nil
}

type fetchSpec struct {
	topic     string
	id        origin.TopicID
	leader    int32
	partition int32
	at        int64
	bytes     int32
}

// fetch makes one fetch request. next is the offset behind what was read, markers and aborted records included.
func (c *Client) fetch(ctx context.Context, s fetchSpec) (records []*kgo.Record, next int64, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(fetchWait.Milliseconds()), 1, s.bytes
	req.SessionEpoch, req.IsolationLevel = -1, 1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = s.topic, s.id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = s.partition, s.at, s.bytes, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	answer, err := req.RequestWith(ctx, c.cl.Broker(int(s.leader)))
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		return nil, s.at, fmt.Errorf("fetch: %w", err)
	}
	if len(answer.Topics) == 0 || len(answer.Topics[0].Partitions) == 0 {
		return nil, s.at, kerr.UnknownTopicOrPartition
	}
	rp := &answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
		return nil, s.at, fmt.Errorf("fetch: %w", err)
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: s.at, Topic: s.topic, Partition: s.partition, IsolationLevel: kgo.ReadCommitted(),
	}, rp, kgo.DefaultDecompressor(), nil)
	return got.Records, max(next, s.at), got.Err
}

// one reads the first committed record at or behind an offset, or nil if there is none.
func (c *Client) one(ctx context.Context, topic string, l log, partition int32, at int64) (*kgo.Record, error) {
	for _, s := range l.spans {
		if s.Partition != partition {
			continue
		}
		s.From = max(s.From, at)
		var found *kgo.Record
		err := c.readBy(ctx, topic, l, s, oneBytes, func(r *kgo.Record) error { found = r; return errStop })
		return found, err
	}
	return nil, nil
}
