package worker

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/metric"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/retrytopics"
)

// Config describes a worker. Every field but InstanceID, Hooks, MaxCalls and MeterProvider must be set; package processor fills in defaults.
type Config struct {
	Group      string
	InstanceID string
	Name       string // version and host, as they are written into headers and claims
	Topics     []Topic
	Options    []kgo.Opt // for every client: seed brokers, TLS, SASL, dialer

	SessionTimeout   time.Duration
	Heartbeat        time.Duration
	RebalanceTimeout time.Duration
	CommitInterval   time.Duration
	Drain            time.Duration // how long handlers are waited for when a lane is given up
	Total            time.Duration // how long Run takes to return at most once its context has ended
	KeepSettled      time.Duration // how long settled records stay in the delay topics
	LaneBytes        int64
	TotalBytes       int64
	MaxWaiting       int64 // records that wait in all lanes together, past which no source is fetched (R44)
	MaxCalls         int   // handler calls at once in all topics together; 0: no limit

	Logger        *slog.Logger
	Hooks         Hooks
	MeterProvider metric.MeterProvider // nil: nothing is measured
}

// Topic is one source topic.
type Topic struct {
	Names       retrytopics.Names
	Stages      []Stage // every stage topic that exists, by growing delay
	Policy      retrytopics.Policy
	Classifier  retrytopics.Classifier
	Key         dedupe.Key
	Mode        lane.Mode
	Ordering    lane.Ordering
	Handle      HandleFunc
	Concurrency int
	Timeout     time.Duration
	Grace       time.Duration
	StuckCrash  bool
	Start       Start
	MarkWindow  time.Duration  // how long finished work is remembered
	Window      offsets.Config // limits of admission; zero: the defaults
}

// Stage is one delay topic.
type Stage struct {
	Topic  string
	Delay  time.Duration
	Target bool // false: no longer configured, only drained
}

// Start says where to begin in a partition that the group has never committed.
type Start struct {
	Latest bool
	At     time.Time // zero: the earliest record
}

// HandleFunc calls the user's handler. scratch is one word that the caller may keep from call to call of one slot.
type HandleFunc func(ctx context.Context, scratch *any, d *Delivery) error

// Delivery is one record in the hands of a handler; it is valid during the call.
type Delivery struct {
	Record   *kgo.Record           // as it was read: from the source, or from a stage
	Envelope *retrytopics.Envelope // nil for a record that comes straight from the source
	Headers  []kgo.RecordHeader    // the user's
	Attempt  int                   // 1 for the first
	Fence    int64
	lane     *tenure
}

// Hooks tells an observer what happens. Any field may be nil. The functions are called from a lane's goroutine and must not
// block.
type Hooks struct {
	Lane   func(LaneEvent)   // a lane changes its phase
	Record func(RecordEvent) // a record ends in another way than done, or a copy of it is written
}

// LaneEvent is a change of a lane.
type LaneEvent struct {
	Topic     string
	Partition int32
	Phase     lane.Phase
	Tenure    int64
	Clean     bool // of Closed: the last commit was acknowledged
}

// RecordEvent is what became of a record.
type RecordEvent struct {
	Identity retrytopics.Identity
	Key      []byte
	Outcome  string // retried, followed, snoozed, dead, skipped
	Reason   string
	Rule     string // of the classification
	Class    string
	Attempt  int
	Stage    string // topic that the copy went to
	Due      time.Time
}

// markPause is the time between two writes of one chunk of done marks, in ms. Shorter costs the broker more, and with it the
// throughput of whoever shares its processors: without it a lane that is never idle writes a chunk at every round trip. Longer
// widens the window in which a crash repeats what was finished.
const markPause = 5

func (t *Topic) laneConfig() lane.Config {
	p := t.Policy
	c := lane.Config{
		Mode: t.Mode, Ordering: t.Ordering, UserKeys: !t.Key.Default() && t.Mode != lane.Off,
		MaxAttempts: p.MaxAttempts, Jitter: max(p.Jitter, 0), MaxJitter: p.MaxJitter.Milliseconds(),
		MarkPause: markPause, Turns: true, MaxSnoozes: p.MaxSnoozes, MaxSnooze: p.MaxSnoozeAge.Milliseconds(), Window: t.Window,
	}
	for _, s := range t.Stages {
		c.Stages = append(c.Stages, lane.Stage{Delay: s.Delay.Milliseconds(), Target: s.Target})
	}
	return c
}

// topic is a source topic at run time.
type topic struct {
	Topic
	pool   *dispatch.Pool
	parts  []string // topic names by lane.Part
	counts counters
	first  atomic.Int32 // partitions of the source when this process saw the group without any commit; 0 if it did not
	meter  *topicMeter
}

func newTopic(t Topic, gate *dispatch.Gate, w *Worker) *topic {
	r := &topic{
		Topic: t, parts: []string{t.Names.Source(), t.Names.Replay()}, meter: w.instruments.of(t.Names.Source(), w.cfg.Group),
	}
	for _, s := range t.Stages {
		r.parts = append(r.parts, s.Topic)
	}
	stuck := dispatch.Abandon
	if t.StuckCrash {
		stuck = dispatch.Crash
	}
	r.pool = dispatch.New(dispatch.Config{
		Slots: t.Concurrency, Timeout: t.Timeout, Grace: t.Grace, Gate: gate, Stuck: stuck, OnStuck: w.logStuck,
	}, r.call)
	return r
}

func (t *topic) delay(p lane.Part) time.Duration {
	if p < lane.FirstStage {
		return 0
	}
	return t.Stages[p-lane.FirstStage].Delay
}
