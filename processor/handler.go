package processor

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/origin"
)

// Header is a record header. Keys may repeat; values may be nil, empty or binary.
type Header = kgo.RecordHeader

// Origin names the source record that a message came from.
type Origin = origin.Origin

// Message is one record in the hands of a handler. It, its slices and the handler's context are valid until the handler
// returns; a handler that keeps something for longer copies it. The fields are for reading only.
type Message struct {
	Topic     string // the source topic, also when the record was read from a delay topic or from a replay
	Partition int32
	Offset    int64 // of the source record
	Key       []byte
	Value     []byte    // nil for a tombstone
	Headers   []Header  // as the producer sent them, without Laneway's own
	Timestamp time.Time // of the source record

	Attempt       int       // 1 for the first call; a snooze uses no attempt
	Snoozes       int       // calls that ended with [RetryAfter]
	FirstFailedAt time.Time // zero before the first failure
	Run           uint32    // 0, or the number of the replay that sent the record again
	Origin        Origin    // name of the source record

	// Fence grows with each owner of the partition. A database that stores it beside what a handler writes can refuse the
	// late write of an older owner.
	Fence int64

	call *call
}

// IdempotencyKey returns what makes two records the same work: the user's key, or else the origin. It is the same in every
// attempt and in every run, so that a receiver can tell a repetition by it.
func (m *Message) IdempotencyKey() []byte {
	if m.call == nil {
		return dedupe.OriginKey(m.Origin) // a message that a test has made
	}
	return m.call.delivery.IdempotencyKey()
}

// Produce writes an output record. The write is acknowledged by all in-sync replicas before the message settles, and the
// message is retried when that fails. Produce itself does not block on the broker, except for room in the client's buffer;
// its error is that of ctx. It is for use inside the handler's call only, from any goroutine.
func (m *Message) Produce(ctx context.Context, r *kgo.Record) error { return m.call.produce(ctx, r) }

// Handler does the work that a record asks for.
//
// A nil return means that all side effects are finished: only then is the record marked as done and its offset committed.
// Any error is a failed attempt, and is classified: see [Permanent], [RetryAfter], [Skip], [Uncertain] and
// [Topic.Classifier]. A panic is a failed attempt, too. ctx ends at the time limit of the call ([Topic.Timeout]) or when the
// lane is given up and the drain deadline has passed; [context.Cause] tells which.
//
// Handle is called from many goroutines at once; with the default ordering never twice at the same time for one key.
type Handler interface {
	Handle(ctx context.Context, m *Message) error
}

// HandlerFunc makes a function a [Handler].
type HandlerFunc func(ctx context.Context, m *Message) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, m *Message) error { return f(ctx, m) }
