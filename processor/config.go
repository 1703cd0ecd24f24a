package processor

import (
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/retrytopics"
)

// Config describes a [Processor]. Only Brokers, Group and Topics are needed; the zero value of any other field means the
// default that its comment names.
type Config struct {
	Brokers []string // host:port
	Group   string   // the consumer group; part of the name of every topic that Laneway keeps
	Topics  []Topic  // at least one, each name once

	// InstanceID makes the member static (group.instance.id): a restart within the session timeout moves no partition.
	// Empty: a dynamic member.
	InstanceID string

	Session  Session
	Shutdown Shutdown
	Buffers  Buffers

	// CommitInterval is the time between two commits of a lane with news. Default 500 ms.
	CommitInterval time.Duration
	// KeepSettled is how long settled records stay in the delay and replay topics, for people who look for a record's story;
	// then the owner deletes them. Default 24 h.
	KeepSettled time.Duration
	// TopicTemplate names our topics. Default "{source}.{group}.{role}".
	TopicTemplate string
	// AutoCreateTopics lets Run create and widen what is missing, as "processor topics apply" does.
	AutoCreateTopics bool

	// ClientOptions are added to every Kafka client: TLS, SASL, dialers. They must not change group, consumption or acks.
	ClientOptions []kgo.Opt

	// Events is told of every record that is retried, put off, held back or given up. It is called from many goroutines and
	// must not block. Default: nobody.
	Events func(Event)

	Logger         *slog.Logger         // default: none
	TracerProvider trace.TracerProvider // default: none
	MeterProvider  metric.MeterProvider // default: none
}

// Session is the group membership's timing.
type Session struct {
	Timeout   time.Duration // default 15 s: a worker that was killed is replaced after it
	Heartbeat time.Duration // default 500 ms: how soon a rebalance is noticed
	Rebalance time.Duration // default 30 s: how long a member may take to rejoin
}

// Shutdown bounds how long Run takes to return once its context has ended.
type Shutdown struct {
	Drain time.Duration // default 20 s: handlers that run are waited for; after it their context ends
	Total time.Duration // default 25 s: after it Run returns whatever is still out
}

// Buffers bounds the fetched records that wait in memory, in decompressed bytes.
type Buffers struct {
	Lane  int64 // default 16 MiB: of one lane
	Total int64 // default 256 MiB: of the process

	// Waiting bounds the records of all lanes together that wait in delay topics: the process remembers where each of them is, in
	// about 100 bytes. Past it no new records are taken, until enough of those have settled. Default 5,000,000.
	Waiting int64
}

// Topic is one source topic and how its records are worked on.
type Topic struct {
	Name    string
	Handler Handler // default: the one given to [New]

	Ordering    Ordering      // default OrderByKey
	Concurrency int           // handler calls at once in this process; default 64
	Timeout     time.Duration // of one handler call; default 30 s
	Grace       time.Duration // past Timeout + Grace a call counts as stuck; default 10 s
	Stuck       StuckPolicy   // default StuckAbandon

	Retry       retrytopics.Policy     // zero fields: their defaults
	Classifier  retrytopics.Classifier // asked first; default: the built-in rules alone
	Idempotency Idempotency
	Start       Start // where a partition starts that the group has no offset of; default StartEarliest
}

// Ordering says which records wait for one another.
type Ordering uint8

// The orderings.
const (
	OrderByKey       Ordering = iota // records of one key run one after the other, in the order of the source
	OrderByPartition                 // records of one partition run one after the other
	Unordered                        // no record waits for another
)

// String returns the ordering's name in the configuration file.
func (o Ordering) String() string {
	switch o {
	case OrderByKey:
		return "key"
	case OrderByPartition:
		return "partition"
	case Unordered:
		return "none"
	}
	return "unknown"
}

// Mode says what is worse, a duplicate or a loss, when a worker dies between a side effect and its mark.
type Mode uint8

// The modes.
const (
	RecordAfter Mode = iota // the mark is written after the effect: a crash between the two repeats the effect
	ClaimFirst              // a claim is written before the effect: a crash between the two parks the record in the dlt as uncertain
	DedupeOff               // no marks: a crash may repeat whatever was not committed yet
)

// String returns the mode's name in the configuration file.
func (m Mode) String() string {
	switch m {
	case RecordAfter:
		return "record_after"
	case ClaimFirst:
		return "claim_first"
	case DedupeOff:
		return "off"
	}
	return "unknown"
}

// Idempotency says how finished work is remembered.
type Idempotency struct {
	Key    dedupe.Key    // default: the record's origin
	Mode   Mode          // default RecordAfter
	Window time.Duration // how long a mark is kept; default: computed from the source's retention and the retry policy
}

// StuckPolicy says what happens to a handler call that ignores its time limit.
type StuckPolicy uint8

// The policies.
const (
	StuckAbandon StuckPolicy = iota // its slot is replaced, the record goes on as timed out, a late return is ignored
	StuckCrash                      // Run returns [ErrStuck]; the record is a crash suspect of the next owner
)

// Start says where to begin in a partition that the group has never committed. The zero value is the earliest record.
type Start struct {
	latest bool
	at     time.Time
}

// StartEarliest begins at the first record that the broker still has.
func StartEarliest() Start { return Start{} }

// StartLatest begins behind the last record.
func StartLatest() Start { return Start{latest: true} }

// StartAt begins at the first record whose timestamp is not before t.
func StartAt(t time.Time) Start { return Start{at: t} }

// String returns "earliest", "latest" or the time in RFC 3339.
func (s Start) String() string {
	switch {
	case s.latest:
		return "latest"
	case s.at.IsZero():
		return "earliest"
	}
	return s.at.UTC().Format(time.RFC3339)
}
