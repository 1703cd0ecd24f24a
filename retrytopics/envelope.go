package retrytopics

import (
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/origin"
)

// Origin names one record of a source topic, as Kafka does.
type Origin = origin.Origin

// Identity is one life of a source record: its origin and a run, which is 0 until somebody replays it.
type Identity = origin.Identity

// Envelope is what a record carries on its way through the stages, in headers whose keys begin with "laneway-". The zero
// value of a field means that its header is left out; run, hop and attempt are always there.
type Envelope struct {
	Origin          Origin
	OriginTimestamp time.Time // the source record's, to the millisecond; what the handler sees
	Run             uint32
	Hop             uint32 // forwards so far: of two copies, the one with the higher hop is the live one
	Attempt         int    // attempts used
	Snoozes         int
	Due             time.Time // start of the next try; see [ClampDue]
	Until           time.Time // end of a snooze that is longer than the stage it waits in
	Force           bool      // of a replay: run again though another identity of its key is done

	FirstFailedAt time.Time
	LastFailedAt  time.Time
	Reason        Reason
	ErrorClass    string
	ErrorMessage  string // at most [MaxErrorMessage] bytes are kept
	ErrorStack    string // at most [MaxErrorStack] bytes are kept

	IdempotencyKey    string // any bytes
	Group             string
	Worker            string // version and host of the process that wrote this
	ReplayID          string
	OriginTraceparent string // trace context of the source record
	ValueOmitted      bool   // the value did not fit and is only at the origin; see [Fit]
}

// Identity returns the origin and run.
func (e *Envelope) Identity() Identity { return Identity{Origin: e.Origin, Run: e.Run} }

// maxText bounds the short texts of an envelope, in bytes. A group's name has no limit of Kafka's below 32 KiB; the names
// of topics, which hold it, keep it below this one.
const maxText = 512

const (
	textTrue    = "true"
	textOmitted = "omitted"
)

// Set returns the user's headers, in their order and bit for bit, followed by those of the envelope. Headers of ours among
// the input are left out: they are replaced, never added to. The result is a new slice; values are shared with the input.
func (e *Envelope) Set(user []kgo.RecordHeader) []kgo.RecordHeader {
	const most = 22 // headers of an envelope
	out := make([]kgo.RecordHeader, 0, len(user)+most)
	for _, h := range user {
		if !isOurs(h) {
			out = append(out, h)
		}
	}
	w := headerWriter{out: out}
	e.write(&w)
	return slices.Clip(w.out)
}

func (e *Envelope) write(w *headerWriter) {
	if e.Origin.Topic != "" {
		w.text(HeaderOrigin, e.Origin.String())
		w.text(HeaderOriginID, e.Origin.IDString())
	}
	w.time(HeaderOriginTimestamp, e.OriginTimestamp)
	w.number(HeaderRun, uint64(e.Run))
	w.number(HeaderHop, uint64(e.Hop))
	w.number(HeaderAttempt, uint64(max(e.Attempt, 0)))
	if e.Snoozes > 0 {
		w.number(HeaderSnoozes, uint64(e.Snoozes))
	}
	w.timeUp(HeaderDue, e.Due)
	w.timeUp(HeaderUntil, e.Until)
	w.flag(HeaderForce, e.Force, textTrue)
	w.time(HeaderFirstFailedAt, e.FirstFailedAt)
	w.time(HeaderLastFailedAt, e.LastFailedAt)
	w.text(HeaderReason, Text(string(e.Reason), maxReason))
	w.text(HeaderErrorClass, Text(e.ErrorClass, maxErrorClass))
	w.text(HeaderErrorMessage, Text(e.ErrorMessage, MaxErrorMessage))
	w.text(HeaderErrorStack, Text(e.ErrorStack, MaxErrorStack))
	if e.IdempotencyKey != "" {
		w.text(HeaderIdempotencyKey, EncodeKey(e.IdempotencyKey))
	}
	w.text(HeaderGroup, Text(e.Group, maxText))
	w.text(HeaderWorker, Text(e.Worker, maxText))
	w.text(HeaderReplayID, Text(e.ReplayID, maxText))
	w.text(HeaderOriginTraceparent, Text(e.OriginTraceparent, maxText))
	w.flag(HeaderValue, e.ValueOmitted, textOmitted)
}

// headerWriter appends headers and leaves out the empty ones.
type headerWriter struct {
	out []kgo.RecordHeader
}

func (w *headerWriter) text(key, value string) {
	if value != "" {
		w.out = append(w.out, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
}

func (w *headerWriter) number(key string, n uint64) { w.text(key, strconv.FormatUint(n, 10)) }

func (w *headerWriter) time(key string, t time.Time) {
	if !t.IsZero() {
		w.text(key, formatTime(t))
	}
}

func (w *headerWriter) timeUp(key string, t time.Time) {
	if !t.IsZero() {
		w.text(key, formatTimeUp(t))
	}
}

func (w *headerWriter) flag(key string, on bool, value string) {
	if on {
		w.text(key, value)
	}
}
