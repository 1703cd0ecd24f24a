package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// consume is the bare client: a group that polls, counts, and commits what it has polled once a second.
func consume(ctx context.Context, b *bench, group string) (sample, error) {
	return b.bare(ctx, group, func(cl *kgo.Client, fetches kgo.Fetches, w *watch) {
		cl.MarkCommitRecords(fetches.Records()...)
		w.add(int64(fetches.NumRecords()))
	})
}

// mark is the bare client that also writes one 60-byte mark a record.
func mark(ctx context.Context, b *bench, group string) (sample, error) {
	topic := group + "-marks"
	if err := b.create(ctx, topic); err != nil {
		return sample{}, err
	}
	defer func() { _, _ = b.admin.DeleteTopics(context.WithoutCancel(ctx), topic) }()
	if err := b.writeFirst(ctx, topic, []byte("first")); err != nil {
		return sample{}, err
	}
	value := make([]byte, 40)
	return b.bare(ctx, group, func(cl *kgo.Client, fetches kgo.Fetches, w *watch) {
		fetches.EachRecord(func(r *kgo.Record) {
			cl.Produce(ctx, &kgo.Record{Topic: topic, Key: r.Headers[0].Value, Value: value}, func(_ *kgo.Record, err error) {
				if err == nil {
					w.add(1)
				}
			})
		})
		cl.MarkCommitRecords(fetches.Records()...)
	})
}

func (b *bench) bare(ctx context.Context, group string, handle func(*kgo.Client, kgo.Fetches, *watch)) (sample, error) {
	cl, err := kgo.NewClient(b.options(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(b.topic), kgo.AutoCommitMarks(), kgo.AutoCommitInterval(time.Second),
	)...)
	if err != nil {
		return sample{}, fmt.Errorf("client: %w", err)
	}
	defer cl.Close()
	w := newWatch(b.cfg.Records)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			handle(cl, cl.PollFetches(ctx), w)
		}
	}()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	err = ctx.Err()
	cancel()
	<-ended
	return w.result, err
}

// worker is the processor with a handler that only counts.
func worker(topic processor.Topic) measure {
	return func(ctx context.Context, b *bench, group string) (sample, error) {
		if err := b.warm(ctx, group, topic); err != nil {
			return sample{}, err
		}
		w := newWatch(b.cfg.Records)
		topic.Name = b.topic
		p, err := processor.New(processor.Config{
			Brokers: b.cfg.Brokers, ClientOptions: b.cfg.Options, Group: group, AutoCreateTopics: true, Logger: b.cfg.Logger,
			Topics: []processor.Topic{topic}, Session: processor.Session{Timeout: 30 * time.Second},
		}, processor.HandlerFunc(func(context.Context, *processor.Message) error { w.add(1); return nil }))
		if err != nil {
			return sample{}, err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		select {
		case <-w.done:
		case err := <-ended:
			return sample{}, errors.Join(err, errors.New("the worker ended before it was done"))
		}
		cancel()
		return w.result, errors.Join(<-ended, b.cleanUp(context.WithoutCancel(ctx), group))
	}
}

// warm makes the worker's topics and writes a first record to each partition that it will write marks to: the first write to a
// new partition costs a broker 30 to 40 ms of processor time, which is none of the worker's speed.
func (b *bench) warm(ctx context.Context, group string, topic processor.Topic) error {
	names, err := retrytopics.NewNames("", b.topic, group)
	if err != nil {
		return err
	}
	dedupeOff := topic.Idempotency.Mode == processor.DedupeOff
	want := retrytopics.Want{Names: names, NoIdempotency: dedupeOff}
	state, err := retrytopics.Read(ctx, b.admin, want)
	if err != nil {
		return err
	}
	if err := retrytopics.Apply(ctx, b.admin, retrytopics.Plan(want, state)); err != nil || dedupeOff {
		return err
	}
	nothing := dedupe.Mark{Kind: dedupe.Position, Tombstone: true}
	return b.writeFirst(ctx, names.Idempotency(), nothing.AppendKey(nil))
}

// writeFirst writes a record without a value to every partition of a topic.
func (b *bench) writeFirst(ctx context.Context, topic string, key []byte) error {
	cl, err := kgo.NewClient(b.options(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer cl.Close()
	var first []*kgo.Record
	for p := range b.cfg.Partitions {
		first = append(first, &kgo.Record{Topic: topic, Partition: int32(p), Key: key})
	}
	if err := cl.ProduceSync(ctx, first...).FirstErr(); err != nil {
		return fmt.Errorf("write to %s: %w", topic, err)
	}
	return nil
}

// cleanUp deletes the topics of a worker's run.
func (b *bench) cleanUp(ctx context.Context, group string) error {
	return b.deleteTopics(ctx, func(t string) bool { return strings.HasPrefix(t, b.topic+".") || t == group+".control" })
}

// drop deletes a source topic and those of the group of the same name.
func (b *bench) drop(ctx context.Context, topic string) error {
	return b.deleteTopics(ctx, func(t string) bool { return t == topic || strings.HasPrefix(t, topic+".") })
}

func (b *bench) deleteTopics(ctx context.Context, ours func(string) bool) error {
	topics, err := b.admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	names := slices.DeleteFunc(topics.Names(), func(t string) bool { return !ours(t) })
	if _, err = b.admin.DeleteTopics(ctx, names...); err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	return nil
}
