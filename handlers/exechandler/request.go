package exechandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.opentelemetry.io/otel/propagation"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
)

// timestampLayout is RFC 3339 with the milliseconds that a Kafka timestamp has.
const timestampLayout = "2006-01-02T15:04:05.000Z07:00"

// request is the line that a process reads. The id stays the first field: a shell script finds it there without a parser.
type request struct {
	ID             uint64      `json:"id"`
	Topic          string      `json:"topic"`
	Partition      int32       `json:"partition"`
	Offset         int64       `json:"offset"`
	Key            any         `json:"key,omitempty"`
	KeyBase64      []byte      `json:"key_base64,omitempty"`
	Value          any         `json:"value,omitempty"`
	ValueBase64    []byte      `json:"value_base64,omitempty"`
	Headers        [][2]octets `json:"headers"`
	Timestamp      string      `json:"timestamp"`
	Attempt        int         `json:"attempt"`
	Run            uint32      `json:"run"`
	IdempotencyKey string      `json:"idempotency_key"`
	Origin         string      `json:"origin"`
	Fence          int64       `json:"fence"`
	Traceparent    string      `json:"traceparent,omitempty"`
	Tracestate     string      `json:"tracestate,omitempty"`
}

// encodeRequest returns the line for m, with its newline.
func encodeRequest(ctx context.Context, id uint64, m *processor.Message) ([]byte, error) {
	r := request{
		ID: id, Topic: m.Topic, Partition: m.Partition, Offset: m.Offset,
		Headers:        make([][2]octets, len(m.Headers)),
		Timestamp:      m.Timestamp.UTC().Format(timestampLayout),
		Attempt:        m.Attempt,
		Run:            m.Run,
		IdempotencyKey: dedupe.IdempotencyKeyHeader(m.IdempotencyKey()),
		Origin:         m.Origin.String(),
		Fence:          m.Fence,
	}
	r.Key, r.KeyBase64 = textOrBinary(m.Key)
	r.Value, r.ValueBase64 = textOrBinary(m.Value)
	for i, h := range m.Headers {
		r.Headers[i] = [2]octets{octets(h.Key), h.Value}
		if h.Key == "" {
			r.Headers[i][0] = octets{} // an empty name is no missing one
		}
	}
	r.Traceparent, r.Tracestate = traceContext(ctx, m)

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // shorter, and as easy to read as it was sent
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return b.Bytes(), nil
}

// textOrBinary chooses the field that carries b: text for valid UTF-8 and for nil, else binary. A field that is left out is
// not the same as null: a program that overlooks value_base64 must not take a binary value for a tombstone.
func textOrBinary(b []byte) (text any, binary []byte) {
	switch {
	case b == nil:
		return (*string)(nil), nil // not left out, but null
	case utf8.Valid(b):
		return string(b), nil
	}
	return nil, b
}

// traceContext returns the W3C headers of the span that the call runs in; without one, those that came with the record.
func traceContext(ctx context.Context, m *processor.Message) (traceparent, tracestate string) {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if carrier["traceparent"] != "" {
		return carrier["traceparent"], carrier["tracestate"]
	}
	for _, h := range m.Headers {
		switch h.Key {
		case "traceparent":
			traceparent = string(h.Value)
		case "tracestate":
			tracestate = string(h.Value)
		}
	}
	return traceparent, tracestate
}

// octets is a header's name or value: a JSON string where it is valid UTF-8, null where it is nil, and else an object with
// the bytes in base64.
type octets []byte

type binaryOctets struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements [json.Marshaler].
func (o octets) MarshalJSON() ([]byte, error) {
	text, binary := textOrBinary(o)
	if binary != nil {
		return json.Marshal(binaryOctets{binary}) //nolint:wrapcheck // package json says whose method failed
	}
	return json.Marshal(text) //nolint:wrapcheck // as above
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *octets) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var b binaryOctets
		if err := strictUnmarshal(data, &b); err != nil {
			return err
		}
		if b.Base64 == nil {
			return errors.New(`object without "base64"`)
		}
		*o = b.Base64
		return nil
	}
	var s *string
	if err := strictUnmarshal(data, &s); err != nil {
		return err
	}
	*o = nil
	if s != nil {
		*o = append(octets{}, *s...)
	}
	return nil
}
