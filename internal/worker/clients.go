package worker

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/assign"
)

// stageWait is how long a broker holds a fetch of the stages that finds nothing. A partition that is resumed waits for the
// fetch that is under way, so this is part of the lateness of a retry; records that are there are answered at once.
const stageWait = 50 * time.Millisecond

// sourceWait is the same for the sources: a partition that was paused and is resumed waits for it.
const sourceWait = 250 * time.Millisecond

// connect makes the clients. The group client comes last: see join.
func (w *Worker) connect(ctx context.Context) error {
	var err error
	if w.lookup, err = kgo.NewClient(w.options(kgo.MetadataMinAge(250 * time.Millisecond))...); err != nil {
		return fmt.Errorf("look-up client: %w", err)
	}
	w.admin = kadm.NewClient(w.lookup)
	if err := w.limits.read(ctx, w); err != nil {
		return err
	}
	if w.marker, err = kgo.NewClient(w.writing()...); err != nil {
		return fmt.Errorf("marker client: %w", err)
	}
	w.producer, err = kgo.NewClient(w.writing(kgo.ProducerBatchMaxBytes(w.limits.smallest()))...)
	if err != nil {
		return fmt.Errorf("producer client: %w", err)
	}
	if w.outputs, err = kgo.NewClient(w.options(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0))...); err != nil {
		return fmt.Errorf("output client: %w", err)
	}
	w.sources, err = newReader(w.cfg.Logger, &w.sourceBeat, w.options(
		kgo.FetchMaxWait(sourceWait), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxBytes(16<<20), kgo.MetadataMinAge(250*time.Millisecond),
	)...)
	if err != nil {
		return fmt.Errorf("source client: %w", err)
	}
	w.stages, err = newReader(w.cfg.Logger, &w.stageBeat, w.options(
		kgo.FetchMaxWait(stageWait), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxBytes(4<<20), kgo.FetchMaxPartitionBytes(256<<10),
		kgo.MetadataMinAge(250*time.Millisecond),
	)...)
	if err != nil {
		return fmt.Errorf("stage client: %w", err)
	}
	return nil
}

// join makes the group client. It fetches nothing: all its topics are paused from the start.
func (w *Worker) join() error {
	var sources, also []string
	for name, t := range w.topics {
		sources = append(sources, name)
		also = append(also, t.parts[1:]...)
	}
	balancer, err := assign.New(assign.Config{Also: func() []string { return also }, Version: w.cfg.Name, Logger: w.cfg.Logger})
	if err != nil {
		return err
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(w.cfg.Group), kgo.ConsumeTopics(sources...), kgo.Balancers(balancer), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(w.cfg.SessionTimeout), kgo.HeartbeatInterval(w.cfg.Heartbeat), kgo.RebalanceTimeout(w.cfg.RebalanceTimeout),
		kgo.OnPartitionsAssigned(w.assigned), kgo.OnPartitionsRevoked(w.revoked), kgo.OnPartitionsLost(w.lost),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.MetadataMaxAge(time.Minute),
	}
	if w.cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(w.cfg.InstanceID))
	}
	if w.group, err = kgo.NewClient(w.options(opts...)...); err != nil {
		return fmt.Errorf("group client: %w", err)
	}
	w.group.PauseFetchTopics(sources...)
	close(w.ready)
	return nil
}

// writing returns the options of a client that writes to our topics.
func (w *Worker) writing(opts ...kgo.Opt) []kgo.Opt {
	return w.options(append([]kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(1 << 20),
		kgo.MetadataMinAge(250 * time.Millisecond),
	}, opts...)...)
}

// options adds what all clients have in common.
func (w *Worker) options(opts ...kgo.Opt) []kgo.Opt {
	all := []kgo.Opt{kgo.ClientID("laneway"), kgo.DisableClientMetrics()}
	return append(append(all, w.cfg.Options...), opts...)
}

// closeClients ends everything that still waits for a broker. It does not wait for writes.
func (w *Worker) closeClients() {
	w.sources.cl.Close()
	w.stages.cl.Close()
	w.lookup.Close()
	w.producer.Close()
	w.marker.Close()
	w.outputs.Close()
}

func (w *Worker) disconnect() {
	for _, cl := range []*kgo.Client{w.lookup, w.producer, w.marker, w.outputs, w.group} {
		if cl != nil {
			cl.Close()
		}
	}
	for _, r := range []*reader{w.sources, w.stages} {
		if r != nil {
			r.cl.Close()
		}
	}
}

// defaultMaxMessage is a little less than the broker's default, in bytes: what a client sends at most if nobody says otherwise.
const defaultMaxMessage = 1_000_012

// limits knows how large a record each of our topics takes.
type limits struct{ max map[string]int }

func (l *limits) of(topic string) int {
	if n := l.max[topic]; n > 0 {
		return n
	}
	return defaultMaxMessage
}

// smallest returns the largest batch that every topic of records takes: the broker refuses a batch as a whole, with the small
// records in it. The client holds each record against the same number.
func (l *limits) smallest() int32 {
	least := math.MaxInt32
	for _, n := range l.max {
		least = min(least, n)
	}
	if least == math.MaxInt32 {
		return defaultMaxMessage
	}
	return int32(max(least, 1024))
}

func (l *limits) read(ctx context.Context, w *Worker) error {
	l.max = map[string]int{}
	var names []string
	for _, t := range w.topics {
		names = append(append(names, t.parts[1:]...), t.Names.DLT())
	}
	configs, err := w.admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return fmt.Errorf("read the settings of our topics: %w", err)
	}
	for _, c := range configs {
		for _, kv := range c.Configs {
			if kv.Key == "max.message.bytes" && kv.Value != nil {
				if n, err := strconv.Atoi(*kv.Value); err == nil {
					l.max[c.Name] = n
				}
			}
		}
	}
	return nil
}
