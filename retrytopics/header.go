package retrytopics

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HeaderPrefix begins the key of every header that belongs to us. A record of a source topic may carry such headers too,
// since anyone may write there; they mean nothing and are replaced.
const HeaderPrefix = "laneway-"

// Keys of the envelope's headers.
const (
	HeaderOrigin            = HeaderPrefix + "origin"           // topic/partition/offset in the source
	HeaderOriginID          = HeaderPrefix + "origin-id"        // topic id/leader epoch
	HeaderOriginTimestamp   = HeaderPrefix + "origin-timestamp" // of the source record
	HeaderRun               = HeaderPrefix + "run"
	HeaderHop               = HeaderPrefix + "hop"
	HeaderAttempt           = HeaderPrefix + "attempt" // attempts used
	HeaderSnoozes           = HeaderPrefix + "snoozes"
	HeaderDue               = HeaderPrefix + "due"
	HeaderUntil             = HeaderPrefix + "until" // end of a snooze
	HeaderForce             = HeaderPrefix + "force"
	HeaderFirstFailedAt     = HeaderPrefix + "first-failed-at"
	HeaderLastFailedAt      = HeaderPrefix + "last-failed-at"
	HeaderReason            = HeaderPrefix + "reason"
	HeaderErrorClass        = HeaderPrefix + "error-class"
	HeaderErrorMessage      = HeaderPrefix + "error-message"
	HeaderErrorStack        = HeaderPrefix + "error-stack"
	HeaderIdempotencyKey    = HeaderPrefix + "idempotency-key"
	HeaderGroup             = HeaderPrefix + "group"
	HeaderWorker            = HeaderPrefix + "worker" // version and host
	HeaderReplayID          = HeaderPrefix + "replay-id"
	HeaderOriginTraceparent = HeaderPrefix + "origin-traceparent"
	HeaderValue             = HeaderPrefix + "value" // "omitted" where the value did not fit
)

// known tells whether the key is one of the envelope's.
func known(key string) bool {
	switch key {
	case HeaderOrigin, HeaderOriginID, HeaderOriginTimestamp, HeaderRun, HeaderHop, HeaderAttempt, HeaderSnoozes,
		HeaderDue, HeaderUntil, HeaderForce, HeaderFirstFailedAt, HeaderLastFailedAt, HeaderReason, HeaderErrorClass,
		HeaderErrorMessage, HeaderErrorStack, HeaderIdempotencyKey, HeaderGroup, HeaderWorker, HeaderReplayID,
		HeaderOriginTraceparent, HeaderValue:
		return true
	}
	return false
}

// Keys of the W3C trace context, which are ordinary headers that a forward replaces with [SetHeader].
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
)

// SetHeader returns a copy of the headers with the key set to the value: in the place of the first header of that key, or
// at the end; further ones of that key are gone.
func SetHeader(headers []kgo.RecordHeader, key, value string) []kgo.RecordHeader {
	set := kgo.RecordHeader{Key: key, Value: []byte(value)}
	out := make([]kgo.RecordHeader, 0, len(headers)+1)
	done := false
	for _, h := range headers {
		switch {
		case h.Key != key:
			out = append(out, h)
		case !done:
			out, done = append(out, set), true
		}
	}
	if !done {
		out = append(out, set)
	}
	return out
}

// DropHeader returns a copy of the headers without those of the key.
func DropHeader(headers []kgo.RecordHeader, key string) []kgo.RecordHeader {
	return slices.DeleteFunc(slices.Clone(headers), func(h kgo.RecordHeader) bool { return h.Key == key })
}

// Header returns the value of the first header with the key, and whether there is one.
func Header(headers []kgo.RecordHeader, key string) ([]byte, bool) {
	for _, h := range headers {
		if h.Key == key {
			return h.Value, true
		}
	}
	return nil, false
}

// UserHeaders returns the headers that do not belong to us, in their order, in a new slice. The values are shared.
func UserHeaders(headers []kgo.RecordHeader) []kgo.RecordHeader {
	return slices.DeleteFunc(slices.Clone(headers), isOurs)
}

func isOurs(h kgo.RecordHeader) bool { return strings.HasPrefix(h.Key, HeaderPrefix) }
