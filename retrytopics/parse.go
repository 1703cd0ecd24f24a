package retrytopics

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/origin"
)

// ParseEnvelope reads what [Envelope.Set] wrote and returns the user's headers, in their order and without ours, in a new
// slice. It trusts nothing: whatever the input, it does not panic, and what it returns is bounded as Set bounds it.
//
// The error joins what is wrong or missing: an unreadable value, a header of ours that stands twice (the first counts), no
// origin, run, hop or attempt. The envelope holds what could be read all the same. Headers of ours that this release does
// not know are dropped without an error; a later one may have written them.
func ParseEnvelope(headers []kgo.RecordHeader) (e Envelope, user []kgo.RecordHeader, err error) {
	r := headerReader{values: make(map[string]string)}
	user = make([]kgo.RecordHeader, 0, len(headers))
	for _, h := range headers {
		if !isOurs(h) {
			user = append(user, h)
			continue
		}
		r.add(h)
	}
	e.read(&r)
	return e, user, errors.Join(r.errs...)
}

func (e *Envelope) read(r *headerReader) {
	e.Origin = r.origin()
	e.OriginTimestamp = r.time(HeaderOriginTimestamp)
	e.Run = uint32(r.count(HeaderRun, 32, required))
	e.Hop = uint32(r.count(HeaderHop, 32, required))
	e.Attempt = int(r.count(HeaderAttempt, 31, required))
	e.Snoozes = int(r.count(HeaderSnoozes, 31, optional))
	e.Due = r.dueTime(HeaderDue)
	e.Until = r.dueTime(HeaderUntil)
	e.Force = r.flag(HeaderForce, textTrue)
	e.FirstFailedAt = r.time(HeaderFirstFailedAt)
	e.LastFailedAt = r.time(HeaderLastFailedAt)
	e.Reason = r.reason()
	e.ErrorClass = r.text(HeaderErrorClass, maxErrorClass)
	e.ErrorMessage = r.text(HeaderErrorMessage, MaxErrorMessage)
	e.ErrorStack = r.text(HeaderErrorStack, MaxErrorStack)
	e.IdempotencyKey = r.key()
	e.Group = r.text(HeaderGroup, maxText)
	e.Worker = r.text(HeaderWorker, maxText)
	e.ReplayID = r.text(HeaderReplayID, maxText)
	e.OriginTraceparent = r.text(HeaderOriginTraceparent, maxText)
	e.ValueOmitted = r.flag(HeaderValue, textOmitted)
}

// headerReader holds the first value of each header of ours, and what was found wrong.
type headerReader struct {
	values map[string]string
	errs   []error
}

// maxProblems bounds the error of a hostile record.
const maxProblems = 16

const (
	optional = false
	required = true
)

var (
	errMissing = errors.New("missing")
	errTwice   = errors.New("stands twice")
	errLong    = errors.New("too long")
)

func (r *headerReader) add(h kgo.RecordHeader) {
	if !known(h.Key) {
		return
	}
	if _, seen := r.values[h.Key]; seen {
		r.wrong(h.Key, errTwice)
		return
	}
	r.values[h.Key] = string(h.Value)
}

// wrong notes a problem. Values are not part of it: they may be the user's data.
func (r *headerReader) wrong(key string, err error) {
	if len(r.errs) < maxProblems {
		r.errs = append(r.errs, fmt.Errorf("header %q: %w", Cut(key, maxText), err))
	}
}

func (r *headerReader) origin() Origin {
	text, ok := r.values[HeaderOrigin]
	if !ok {
		r.wrong(HeaderOrigin, errMissing)
		return Origin{}
	}
	id := r.values[HeaderOriginID]
	if len(text) > maxText || len(id) > maxText {
		r.wrong(HeaderOrigin, errLong)
		return Origin{}
	}
	o, err := origin.Parse(text, "")
	if err != nil {
		r.wrong(HeaderOrigin, err)
		return Origin{}
	}
	full, err := origin.Parse(text, id)
	if err != nil {
		r.wrong(HeaderOriginID, err)
		return o
	}
	return full
}

func (r *headerReader) count(key string, bits int, must bool) uint64 {
	text, ok := r.values[key]
	if !ok {
		if must {
			r.wrong(key, errMissing)
		}
		return 0
	}
	n, err := parseCount(text, bits)
	if err != nil {
		r.wrong(key, err)
	}
	return n
}

func (r *headerReader) time(key string) time.Time {
	text, ok := r.values[key]
	if !ok {
		return time.Time{}
	}
	t, err := parseTime(text)
	if err != nil {
		r.wrong(key, err)
	}
	return t
}

// dueTime reads a time before which nothing may happen: others may have written it with more digits than we do.
func (r *headerReader) dueTime(key string) time.Time { return roundUp(r.time(key)) }

func (r *headerReader) flag(key, on string) bool {
	text, ok := r.values[key]
	if ok && text != on {
		r.wrong(key, fmt.Errorf("want %q or no header", on))
	}
	return text == on
}

func (r *headerReader) reason() Reason {
	text, ok := r.values[HeaderReason]
	if !ok {
		return ""
	}
	if reason := Reason(text); reason.wellFormed() {
		return reason
	}
	r.wrong(HeaderReason, fmt.Errorf("want at most %d small letters", maxReason))
	return ""
}

func (r *headerReader) key() string {
	key, err := DecodeKey(r.values[HeaderIdempotencyKey])
	if err != nil {
		r.wrong(HeaderIdempotencyKey, err)
	}
	return key
}

func (r *headerReader) text(key string, most int) string { return Text(r.values[key], most) }
