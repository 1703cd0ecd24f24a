package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/lane"
)

// reader fetches partitions for the lanes that own them, each from the offset that its lane asks for. Its poll loop never
// waits for a lane.
type reader struct {
	cl   *kgo.Client
	log  *slog.Logger
	beat *beat

	mu     sync.Mutex
	routes map[topicPartition]route
	errs   map[topicPartition]error // partitions whose fetches fail, and why: said once
}

type topicPartition struct {
	topic     string
	partition int32
}

type route struct {
	lane *tenure
	part lane.Part
}

func newReader(log *slog.Logger, beat *beat, opts ...kgo.Opt) (*reader, error) {
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &reader{cl: cl, log: log, beat: beat, routes: map[topicPartition]route{}, errs: map[topicPartition]error{}}, nil
}

// add begins to fetch a part of a lane.
func (r *reader) add(t *tenure, p lane.Part, from int64) {
	name := t.topic.parts[p]
	key := topicPartition{name, t.partition}
	r.mu.Lock()
	defer r.mu.Unlock() // see recreated
	r.routes[key] = route{t, p}
	// Pausing outlives removal in the client, so what an earlier tenure left behind is undone here.
	r.cl.ResumeFetchPartitions(map[string][]int32{name: {t.partition}})
	r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{name: {t.partition: kgo.NewOffset().At(from)}})
}

// remove ends it. Records of the part that a poll returns later go nowhere.
func (r *reader) remove(t *tenure, p lane.Part) {
	name := t.topic.parts[p]
	key := topicPartition{name, t.partition}
	r.mu.Lock()
	if r.routes[key].lane == t {
		delete(r.routes, key)
		delete(r.errs, key)
	}
	r.mu.Unlock()
	r.cl.RemoveConsumePartitions(map[string][]int32{name: {t.partition}})
	r.cl.ResumeFetchPartitions(map[string][]int32{name: {t.partition}})
}

func (r *reader) pause(topic string, partition int32, pause bool) {
	set := map[string][]int32{topic: {partition}}
	if pause {
		r.cl.PauseFetchPartitions(set)
	} else {
		r.cl.ResumeFetchPartitions(set)
	}
}

// run polls until ctx ends.
func (r *reader) run(ctx context.Context) {
	backoff := time.NewTimer(0)
	defer backoff.Stop()
	defer r.beat.end()
	for ctx.Err() == nil {
		r.beat.end()
		fetches := r.cl.PollFetches(ctx)
		r.beat.begin(time.Now())
		if fetches.IsClientClosed() {
			return
		}
		records := 0
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			records += len(p.Records)
			r.deliver(p)
		})
		if records == 0 && ctx.Err() == nil {
			// Only errors: a partition whose topic is gone fails at once, again and again.
			backoff.Reset(100 * time.Millisecond)
			select {
			case <-backoff.C:
			case <-ctx.Done():
			}
		}
	}
}

func (r *reader) deliver(p kgo.FetchTopicPartition) {
	key := topicPartition{p.Topic, p.Partition}
	r.mu.Lock()
	to, ok := r.routes[key]
	known := r.errs[key]
	if ok && !errors.Is(p.Err, known) {
		r.errs[key] = p.Err
	}
	r.mu.Unlock()
	if !ok {
		return
	}
	if p.Err != nil && !errors.Is(p.Err, known) {
		r.log.Warn("fetch fails", slog.String("topic", p.Topic), slog.Int("partition", int(p.Partition)), slog.Any("error", p.Err))
	}
	if errors.Is(p.Err, kerr.UnknownTopicID) {
		r.recreated(p.Topic)
		return
	}
	if isTruncation(p.Err) {
		to.lane.in.put(func(n *news) { n.truncated = true })
		return
	}
	if len(p.Records) == 0 {
		return
	}
	b := batch{part: to.part, records: p.Records, bytes: sizeOf(p.Records)}
	to.lane.in.put(func(n *news) { n.fetched = append(n.fetched, b) })
}

// sizeOf estimates what records take in memory, from up to 16 of them: looking at each would fetch it into the processor's
// cache long before anybody works on it.
func sizeOf(records []*kgo.Record) int64 {
	stride := (len(records) + 15) / 16
	bytes, looked := int64(0), int64(0)
	for i := 0; i < len(records); i += stride {
		bytes += int64(len(records[i].Key) + len(records[i].Value))
		looked++
	}
	return (bytes/looked + recordOverhead) * int64(len(records))
}

// recreated makes the client forget a topic that exists under another id, or no more: it would ask for the old one for ever.
// All lanes of the topic begin anew. Nothing is added between the two, or it would be forgotten, too.
func (r *reader) recreated(topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cl.PurgeTopicsFromClient(topic)
	for key, to := range r.routes {
		if key.topic != topic {
			continue
		}
		delete(r.routes, key)
		delete(r.errs, key)
		to.lane.in.put(func(n *news) { n.truncated = true })
	}
}

// recordOverhead is about what a record takes in memory besides its key and its value: kgo.Record is 208 bytes.
const recordOverhead = 208

func isTruncation(err error) bool {
	var loss *kgo.ErrDataLoss
	return errors.As(err, &loss) || errors.Is(err, kerr.OffsetOutOfRange)
}
