package retrytopics

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HeaderRoom is how much larger than the source's the max.message.bytes of a stage, the replay and the dead letter topic
// are: room for the envelope. The two long texts take 9 KiB of it at most.
const HeaderRoom = 64 << 10

// Fit returns a new record with the topic, partition, key, value, timestamp and user headers of rec and the headers of the
// envelope, no larger than maxBytes by [Size]. What does not fit is given up in this order:
//
//  1. the error's stack;
//  2. the error's message;
//  3. the value: what is left points to its origin and says "laneway-value: omitted" ([IsStub]), with all the evidence
//     again if that fits;
//  4. the user's headers;
//  5. the evidence, the key and the idempotency key.
//
// The last of these is returned even if it does not fit either; no topic that a record came from is that narrow. Key and
// value are never changed, only left out. Neither rec nor e is changed; the bytes are shared with rec.
func Fit(rec *kgo.Record, e *Envelope, maxBytes int) *kgo.Record {
	var out *kgo.Record
	for _, c := range [...]contents{
		{stack: true, message: true, value: true, user: true, keys: true},
		{message: true, value: true, user: true, keys: true},
		{value: true, user: true, keys: true},
		{stack: true, message: true, user: true, keys: true},
		{message: true, user: true, keys: true},
		{user: true, keys: true},
		{stack: true, message: true, keys: true},
		{message: true, keys: true},
		{keys: true},
		{},
	} {
		out = c.build(rec, *e)
		if Size(out) <= maxBytes {
			break
		}
	}
	return out
}

// contents says what a record keeps.
type contents struct {
	stack, message, value, user, keys bool
}

func (c contents) build(rec *kgo.Record, e Envelope) *kgo.Record {
	out := &kgo.Record{
		Topic:     rec.Topic,
		Partition: rec.Partition,
		Timestamp: rec.Timestamp,
		Context:   rec.Context,
	}
	if !c.stack {
		e.ErrorStack = ""
	}
	if !c.message {
		e.ErrorMessage = ""
	}
	if c.value {
		out.Value = rec.Value
	} else {
		e.ValueOmitted = true
	}
	if c.keys {
		out.Key = rec.Key
	} else {
		e.IdempotencyKey = ""
	}
	var user []kgo.RecordHeader
	if c.user {
		user = rec.Headers
	}
	out.Headers = e.Set(user)
	return out
}

// IsStub tells whether the headers are those of a record whose value did not fit.
func IsStub(headers []kgo.RecordHeader) bool {
	v, ok := Header(headers, HeaderValue)
	return ok && string(v) == textOmitted
}

// batchOverhead is the length of a batch of format 2 without its records, 61 bytes, and of the length in front of it,
// which the client counts too.
const batchOverhead = 61 + 4

// Size returns the length in bytes of a batch that holds this record alone and uncompressed: the number that a client
// compares with its limit, and that a broker compares with max.message.bytes unless compression makes it smaller.
func Size(rec *kgo.Record) int {
	n := 1 + // attributes
		1 + // timestamp, relative to the batch
		1 + // offset, relative to the batch
		sizeOfBytes(len(rec.Key)) + sizeOfBytes(len(rec.Value)) + sizeOfVarint(len(rec.Headers))
	for _, h := range rec.Headers {
		n += sizeOfBytes(len(h.Key)) + sizeOfBytes(len(h.Value))
	}
	return batchOverhead + sizeOfBytes(n)
}

func sizeOfBytes(n int) int { return sizeOfVarint(n) + n }

func sizeOfVarint(n int) int {
	var buf [binary.MaxVarintLen64]byte
	return binary.PutVarint(buf[:], int64(n))
}
