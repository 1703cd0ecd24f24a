package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
)

// maxBatch is how many records are sent before the progress is written down; at a low rate it is what a second allows.
const maxBatch = 500

// maxBatchBytes bounds the keys and values of a batch.
const maxBatchBytes = 8 << 20

func (e *execution) run(ctx context.Context) error {
	if err := e.connect(ctx); err != nil {
		return err
	}
	defer e.producer.Close()
	e.pace = pace{rate: e.record.spec.rate()}
	w := walk{
		c: e.c, spec: &e.record.spec, source: e.source, control: e.control, number: e.number, next: e.state.Next,
		begin: e.begin, visit: e.visit, end: e.end, pulse: e.pulse,
	}
	return w.run(ctx)
}

// connect makes a producer that writes batches no larger than the replay topic takes.
func (e *execution) connect(ctx context.Context) error {
	const usual = 1 << 20
	limit := int32(usual)
	if configs, err := e.c.adm.DescribeTopicConfigs(ctx, e.source.Want.Names.Replay()); err == nil { // without the permission: as usual
		for _, r := range configs {
			for _, c := range r.Configs {
				if n, err := strconv.ParseInt(c.MaybeValue(), 10, 32); c.Key == "max.message.bytes" && err == nil && n > 0 {
					limit = int32(n)
				}
			}
		}
	}
	const room = 1 << 20
	opts := slices.Concat(e.c.opts, []kgo.Opt{kgo.ProducerBatchMaxBytes(limit), kgo.BrokerMaxWriteBytes(max(limit, 100<<20-room) + room)})
	producer, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("make a Kafka producer: %w", err)
	}
	e.producer = producer
	return nil
}

func (e *execution) begin(ctx context.Context, partition int32) (err error) {
	e.at = Span{Partition: partition, From: e.state.Next[partition]}
	e.bits, e.changed = map[chunkKey]*dedupe.Bits{}, map[chunkKey]bool{}
	if e.record.spec.Kind == KindReplay && !e.record.spec.IncludeUncertain {
		e.marks, err = e.c.loadMarks(ctx, e.source, partition)
	}
	return err
}

// visit takes a record into the batch, and flushes a full one.
func (e *execution) visit(ctx context.Context, it *item, v verdict) error {
	if v == send && e.marks != nil && e.marks.isUncertain(it.origin) {
		v = uncertain
	}
	if v == send && it.omitted {
		if err := e.c.fetchValue(ctx, it); err != nil {
			return err
		}
		if it.unsent != "" {
			v = unsent
		}
	}
	switch v {
	case uncertain:
		e.pending.Uncertain++
	case unsent:
		e.pending.Unsent++
	case repeat, discard:
		e.resolve(it.letter)
	case send:
		e.batch = append(e.batch, it.replayed(&e.record.spec, e.source, e.number))
		e.pending.Sent++
		e.pending.Bytes += it.bytes()
		if it.letter != nil {
			e.resolve(it.letter)
		}
	}
	e.at.From = it.offset() + 1
	if e.pending.Resolved >= maxBatch || len(e.batch) >= e.pace.batch() || e.pending.Bytes >= maxBatchBytes {
		return e.flush(ctx)
	}
	return nil
}

func (it *item) offset() int64 {
	if it.letter != nil {
		return it.letter.Offset
	}
	return it.record.Offset
}

// resolve notes that a dead letter is dealt with.
func (e *execution) resolve(d *DeadLetter) {
	k, bit := chunkOf(d.Topic, d.Partition, d.Offset)
	if e.bits[k] == nil {
		e.bits[k] = &dedupe.Bits{}
		if before := e.control.own[e.number][k]; before != nil {
			*e.bits[k] = *before
		}
	}
	e.bits[k].Set(bit)
	e.changed[k] = true
	e.pending.Resolved++
}

// end flushes what is left of a partition.
func (e *execution) end(ctx context.Context, s Span) error {
	e.at = Span{Partition: s.Partition, From: s.To}
	return e.flush(ctx)
}

// pulse keeps the lease while nothing matches.
func (e *execution) pulse(ctx context.Context, _ int32, next int64) error {
	if time.Since(e.state.At) < e.c.lease/3 {
		return nil
	}
	e.at.From = max(e.at.From, next)
	return e.flush(ctx)
}

// flush sends the batch at the pace of the task, waits until all of it is acknowledged, and only then writes down what is
// resolved and how far the task is.
func (e *execution) flush(ctx context.Context) error {
	if err := e.wait(ctx); err != nil {
		return err
	}
	if err := e.look(ctx); err != nil {
		return err
	}
	if len(e.batch) > 0 {
		if err := e.producer.ProduceSync(ctx, e.batch...).FirstErr(); err != nil {
			return fmt.Errorf("write to %s: %w", e.source.Want.Names.Replay(), err)
		}
	}
	e.pace.sent(len(e.batch), time.Now())
	e.state.Progress.add(e.pending)
	e.state.Next[e.at.Partition] = max(e.state.Next[e.at.Partition], e.at.From)
	records, err := e.resolutions()
	if err != nil {
		return err
	}
	e.batch, e.pending = nil, Progress{}
	return e.save(ctx, records...)
}

// wait keeps the pace, and the lease meanwhile.
func (e *execution) wait(ctx context.Context) error {
	for {
		left := e.pace.left(time.Now())
		if left <= 0 || len(e.batch) == 0 {
			return nil
		}
		timer := time.NewTimer(min(left, e.c.lease/3))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		if left > e.c.lease/3 {
			if err := e.look(ctx); err != nil {
				return err
			}
			if err := e.save(ctx); err != nil {
				return err
			}
		}
	}
}

// resolutions returns the records of the chunks that have changed, in a fixed order, and forgets chunks that are behind.
func (e *execution) resolutions() ([]*kgo.Record, error) {
	keys := make([]chunkKey, 0, len(e.changed))
	for k := range e.changed {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b chunkKey) int { return strings.Compare(a.String(), b.String()) })
	var out []*kgo.Record
	for _, k := range keys {
		v := resolution{V: controlVersion, At: time.Now().UTC(), Bits: e.bits[k].Append(nil)}
		rec, err := controlRecord(v, keyResolved, e.number, k)
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
		if (k.index+1)*dedupe.ChunkSize <= e.at.From {
			delete(e.bits, k)
		}
	}
	clear(e.changed)
	return out, nil
}

// String returns the chunk as it stands in a key.
func (k chunkKey) String() string { return fmt.Sprintf("%s/%d/%d", k.topic, k.partition, k.index) }

func (p *Progress) add(q Progress) {
	p.Sent += q.Sent
	p.Bytes += q.Bytes
	p.Resolved += q.Resolved
	p.Uncertain += q.Uncertain
	p.Unsent += q.Unsent
}

// pace spreads batches over time.
type pace struct {
	rate float64 // records a second, 0 for no limit
	free time.Time
}

// batch returns how many records are sent at once: what a second allows.
func (p *pace) batch() int {
	if p.rate == 0 {
		return maxBatch
	}
	return min(max(int(p.rate), 1), maxBatch)
}

// left returns how long the next batch has to wait.
func (p *pace) left(now time.Time) time.Duration { return p.free.Sub(now) }

// sent takes note of a batch.
func (p *pace) sent(n int, now time.Time) {
	if p.rate == 0 || n == 0 {
		return
	}
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
}
