//go:build synctests

package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

const (
	sourceTopic = "orders"
	groupName   = "billing"

	callTimeout = 4 * time.Second
	callGrace   = time.Second
	drainTime   = 3 * time.Second

	sessionTimeout   = 6 * time.Second
	rebalanceTimeout = 4 * time.Second
)

// setup describes a world.
type setup struct {
	partitions int
	brokers    int
	members    int
	topic      processor.Topic
	start      time.Time
	disturbed  bool // members die, or lose their lanes without knowing it
}

// world is one cluster with its workers.
type world struct {
	seed    uint64
	rng     *rand.Rand
	cfg     setup
	vn      *kfake.VirtualNetwork
	cluster *kfake.Cluster
	names   retrytopics.Names
	client  *kgo.Client // the oracle's
	admin   *kadm.Client
	ledger  ledger
	watch   watcher
	onCall  func(*call)

	onMessage func(*processor.Message) error // handles everything, in stories without a plan

	mu      sync.Mutex
	plan    []*record
	members []*member
	live    []*member
	stats   stats
}

// stats count what a world went through.
type stats struct {
	records, calls, effects, repeats, retries, dead, duplicates, rebalances int
	kills, isolations, deploys, joins, moves, produceFaults, commitFaults   int
	kicks, lost, late, slow, faults                                         int
}

func (s *stats) add(o stats) {
	s.records += o.records
	s.calls += o.calls
	s.effects += o.effects
	s.repeats += o.repeats
	s.retries += o.retries
	s.dead += o.dead
	s.duplicates += o.duplicates
	s.rebalances += o.rebalances
	s.kills += o.kills
	s.isolations += o.isolations
	s.deploys += o.deploys
	s.joins += o.joins
	s.moves += o.moves
	s.produceFaults += o.produceFaults
	s.commitFaults += o.commitFaults
	s.kicks += o.kicks
	s.lost += o.lost
	s.late += o.late
	s.slow += o.slow
	s.faults += o.faults
}

// longFetch is how long the broker holds a fetch that finds nothing. A worker asks for far less; in virtual time short waits
// only make a world dear.
const longFetch = 2000

func newWorld(seed uint64, cfg setup) (*world, error) {
	w := &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), cfg: cfg, vn: new(kfake.VirtualNetwork)}
	ports := make([]int, cfg.brokers)
	for i := range ports {
		ports[i] = 9092 + i
	}
	var err error
	w.cluster, err = kfake.NewCluster(
		kfake.ListenFn(w.vn.Listen), kfake.NumBrokers(cfg.brokers), kfake.Ports(ports...), kfake.GroupMinSessionTimeout(time.Second),
		kfake.SeedTopics(int32(cfg.partitions), sourceTopic),
	)
	if err != nil {
		return nil, err
	}
	w.cluster.ControlKey(keyFetch, func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		f := r.(*kmsg.FetchRequest)
		if f.MaxWaitMillis < longFetch {
			f.MaxWaitMillis = longFetch
		}
		return nil, nil, false
	})
	w.cluster.ControlKey(int16(kmsg.OffsetForLeaderEpoch), w.watch.epochEnd)
	if w.names, err = retrytopics.NewNames("", sourceTopic, groupName); err != nil {
		return nil, err
	}
	w.client, err = kgo.NewClient(
		kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.vn.DialContext), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.DisableClientMetrics(), kgo.ProducerLinger(0),
	)
	if err != nil {
		return nil, err
	}
	w.admin = kadm.NewClient(w.client)
	w.watch.w = w
	if err := w.createTopics(); err != nil {
		return nil, err
	}
	w.cfg.start = time.Now()
	return w, w.watch.start(w)
}

// createTopics creates what a worker would, so that the oracle reads it from the start.
func (w *world) createTopics() error {
	ctx := context.Background()
	want := retrytopics.Want{Names: w.names, Policy: w.cfg.topic.Retry, NoIdempotency: w.cfg.topic.Idempotency.Mode == processor.DedupeOff}
	state, err := retrytopics.Read(ctx, w.admin, want)
	if err != nil {
		return err
	}
	return retrytopics.Apply(ctx, w.admin, retrytopics.Plan(want, state))
}

func (w *world) close() {
	w.watch.stop()
	w.client.Close()
	w.cluster.Close()
}

// find returns the planned record of a message.
func (w *world) find(m *processor.Message) *record {
	for i := len(m.Headers) - 1; i >= 0; i-- {
		if m.Headers[i].Key != "n" {
			continue
		}
		id, err := strconv.Atoi(string(m.Headers[i].Value))
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil || id >= len(w.plan) {
			return nil
		}
		return w.plan[id]
	}
	return nil
}

// add plans a record.
func (w *world) add(r *record) *record {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.id, r.offset = len(w.plan), -1
	if r.x == "" {
		r.x = fmt.Sprint("x", r.id)
	}
	w.plan = append(w.plan, r)
	return r
}

// produce writes planned records to the source, in their order.
func (w *world) produce(ctx context.Context, records ...*record) error {
	var out []*kgo.Record
	for _, r := range records {
		k := &kgo.Record{
			Topic: sourceTopic, Partition: r.partition, Value: fmt.Append(nil, r.will, " ", r.id),
			Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, r.id)}, {Key: "x", Value: []byte(r.x)}},
		}
		if r.key != "" {
			k.Key = []byte(r.key)
		}
		out = append(out, k)
	}
	if err := w.client.ProduceSync(ctx, out...).FirstErr(); err != nil {
		return fmt.Errorf("produce to the source: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range records {
		r.offset = out[i].Offset
	}
	return nil
}

// member is one process.
type member struct {
	world  *world
	name   string
	host   *host
	p      *processor.Processor
	stop   context.CancelFunc
	killed chan struct{}
	ended  chan struct{}
	err    error // of Run, once it has ended

	mu      sync.Mutex
	deadAt  time.Time // when it was killed
	outages []outage  // when it could not reach the brokers, or was thrown out
	stopped time.Time // when it was asked to end
}

type outage struct{ from, to time.Time }

// spawn starts a process.
func (w *world) spawn(change ...func(*processor.Config)) (*member, error) {
	w.mu.Lock()
	n := len(w.members)
	w.mu.Unlock()
	m := &member{
		world: w, name: fmt.Sprint("m", n), host: newHost(w.vn, w.seed<<8|uint64(n)), killed: make(chan struct{}), ended: make(chan struct{}),
	}
	m.host.onCommit = func(b []byte) { w.watch.sent(m.name, b) }
	cfg := processor.Config{
		Brokers: w.cluster.ListenAddrs(), Group: groupName, Topics: []processor.Topic{w.cfg.topic}, AutoCreateTopics: true,
		Session:  processor.Session{Timeout: sessionTimeout, Heartbeat: time.Second, Rebalance: rebalanceTimeout},
		Shutdown: processor.Shutdown{Drain: drainTime}, CommitInterval: 500 * time.Millisecond,
		ClientOptions: []kgo.Opt{kgo.Dialer(m.host.dial), kgo.ClientID(m.name)},
		Logger:        logger(m.name),
	}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if m.p, err = processor.New(cfg, processor.HandlerFunc(m.handle)); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	w.mu.Lock()
	w.members = append(w.members, m)
	w.live = append(w.live, m)
	w.mu.Unlock()
	go func() {
		defer close(m.ended)
		m.err = m.p.Run(ctx)
	}()
	return m, nil
}

// kill ends a process as a power failure does: no drain, no commit, no farewell. Requests that have left it arrive.
func (m *member) kill() {
	m.mu.Lock()
	m.deadAt = time.Now()
	m.mu.Unlock()
	m.host.cut()
	m.world.ledger.kill(m)
	close(m.killed)
	m.stop()
	m.world.bury(m)
}

// leave ends a process in good order.
func (m *member) leave() {
	m.mu.Lock()
	m.stopped = time.Now()
	m.mu.Unlock()
	m.world.bury(m)
	m.stop()
	<-m.ended
}

func (w *world) bury(m *member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, l := range w.live {
		if l == m {
			w.live = append(w.live[:i:i], w.live[i+1:]...)
			return
		}
	}
}

func (w *world) anyLive() *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live) == 0 {
		return nil
	}
	return w.live[w.rng.IntN(len(w.live))]
}

// isolate cuts a process off for a while. It does not know, and goes on.
func (m *member) isolate(d time.Duration) {
	o := outage{from: time.Now(), to: time.Now().Add(d)}
	m.mu.Lock()
	m.outages = append(m.outages, o)
	m.mu.Unlock()
	m.host.cut()
	pause(d, m.killed)
	select {
	case <-m.killed:
	default:
		m.host.mend()
	}
}

// pause lets virtual time pass.
func pause(d time.Duration, until <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-until:
	}
}

func logger(name string) *slog.Logger {
	if os.Getenv("LANEWAY_SIM_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With(slog.String("process", name))
}

// userKey is the idempotency key of worlds whose records have one.
func userKey() dedupe.Key { return dedupe.FromHeader("x") }
