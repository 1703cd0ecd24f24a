package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/internal/origin"
)

// topicIDs returns the ids of topics, in their order.
func (w *Worker) topicIDs(ctx context.Context, topics []string) ([]origin.TopicID, error) {
	details, err := w.admin.ListTopics(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("look up topics: %w", err)
	}
	ids := make([]origin.TopicID, len(topics))
	for i, name := range topics {
		d, ok := details[name]
		if !ok {
			return nil, fmt.Errorf("look up topic %s: %w", name, kerr.UnknownTopicOrPartition)
		}
		if d.Err != nil {
			return nil, fmt.Errorf("look up topic %s: %w", name, d.Err)
		}
		ids[i] = origin.TopicID(d.ID)
	}
	return ids, nil
}

// bounds returns the log start and end of one partition of each topic.
func (w *Worker) bounds(ctx context.Context, topics []string, partition int32) ([]span, error) {
	starts, err := w.admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list start offsets: %w", err)
	}
	ends, err := w.admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list end offsets: %w", err)
	}
	out := make([]span, len(topics))
	for i, name := range topics {
		s, ok := starts.Lookup(name, partition)
		e, found := ends.Lookup(name, partition)
		if !ok || !found {
			return nil, fmt.Errorf("partition %s/%d: %w", name, partition, kerr.UnknownTopicOrPartition)
		}
		if s.Err != nil || e.Err != nil {
			return nil, fmt.Errorf("list offsets of %s/%d: %w", name, partition, firstOf(s.Err, e.Err))
		}
		out[i] = span{s.Offset, e.Offset}
	}
	return out, nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// epochEnd asks where a leader epoch of a partition ends. answered is the epoch that the answer is about: the one asked for,
// or the one before it that the leader knows; -1 if it knows none.
func (w *Worker) epochEnd(ctx context.Context, topic string, partition, epoch int32) (answered int32, end int64, err error) {
	var req kadm.OffsetForLeaderEpochRequest
	req.Add(topic, partition, epoch)
	resp, err := w.admin.OffsetForLeaderEpoch(ctx, req)
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the end of epoch %d of %s/%d: %w", epoch, topic, partition, err)
	}
	o, ok := resp[topic][partition]
	if !ok {
		return 0, 0, fmt.Errorf("ask for the end of epoch %d of %s/%d: %w", epoch, topic, partition, kerr.UnknownTopicOrPartition)
	}
	if o.Err != nil {
		return 0, 0, fmt.Errorf("ask for the end of epoch %d of %s/%d: %w", epoch, topic, partition, o.Err)
	}
	return o.LeaderEpoch, o.EndOffset, nil
}

func (w *Worker) leaderEpoch(ctx context.Context, topic string, partition int32) (int32, error) {
	details, err := w.admin.ListTopics(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	return details[topic].Partitions[partition].LeaderEpoch, nil
}

// scanWait is how long a broker may hold a fetch of a scan that finds nothing; it is asked again until the end is reached.
const scanWait = 100 // ms

// scan reads a partition from an offset to the end that the leader gives now, and at least to the high watermark of the last
// fetch (R25), and calls each for every record. It goes over gaps and markers, and waits out a leader that moves.
func (w *Worker) scan(ctx context.Context, topic string, partition int32, from int64, each func(*kgo.Record)) error {
	s := scanner{w: w, topic: topic, partition: partition, at: from, each: each}
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		done, err := s.step(ctx)
		switch {
		case done:
			return nil
		case err == nil:
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err):
			return fmt.Errorf("scan %s/%d at %d: %w", topic, partition, s.at, err)
		}
		retry.Reset(100 * time.Millisecond)
		select {
		case <-retry.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

type scanner struct {
	w         *Worker
	topic     string
	partition int32
	at, end   int64
	bounded   bool // at and end are within the log of now
	leader    int32
	id        [16]byte
	each      func(*kgo.Record)
}

func (s *scanner) step(ctx context.Context) (done bool, err error) {
	if !s.bounded {
		if err := s.locate(ctx); err != nil {
			return false, err
		}
		s.bounded = true
	}
	if s.at >= s.end {
		return true, nil
	}
	if err := s.fetch(ctx); err != nil {
		s.bounded = false // the leader may have moved
		return false, err
	}
	return false, nil
}

func (s *scanner) locate(ctx context.Context) error {
	details, err := s.w.admin.ListTopics(ctx, s.topic)
	if err != nil {
		return fmt.Errorf("look up the leader: %w", err)
	}
	d := details[s.topic]
	if d.Err != nil {
		return d.Err
	}
	p, ok := d.Partitions[s.partition]
	if !ok {
		return kerr.UnknownTopicOrPartition
	}
	s.leader, s.id = p.Leader, d.ID
	b, err := s.w.bounds(ctx, []string{s.topic}, s.partition)
	if err != nil {
		return err
	}
	s.at, s.end = max(s.at, b[0].start), max(s.end, b[0].end)
	return nil
}

func (s *scanner) fetch(ctx context.Context) error {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = scanWait, 1, 8<<20
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = s.topic, s.id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = s.partition, s.at, 4<<20, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	f, err := req.RequestWith(ctx, s.w.lookup.Broker(int(s.leader)))
	if err == nil {
		err = kerr.ErrorForCode(f.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	if len(f.Topics) == 0 || len(f.Topics[0].Partitions) == 0 {
		return kerr.UnknownTopicOrPartition
	}
	rp := &f.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: s.at, Topic: s.topic, Partition: s.partition,
	}, rp, kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		return got.Err
	}
	for _, rec := range got.Records {
		s.each(rec)
	}
	s.at = max(s.at, next)
	s.end = max(s.end, rp.HighWatermark)
	return nil
}
