package httphandler

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// request returns the POST for m. An error means that the record cannot be sent over HTTP as it is, and is permanent.
func (h *Handler) request(ctx context.Context, m *processor.Message) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.cfg.URL, bytes.NewReader(m.Value))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("User-Agent", "laneway")
	for name, value := range h.cfg.Headers {
		set(r.Header, name, value)
	}
	r.Header.Set("Content-Type", h.cfg.ContentType)
	if err := h.recordHeaders(r.Header, m); err != nil {
		return nil, retrytopics.Permanent(err)
	}
	setTraceContext(ctx, r.Header, m)
	id := dedupe.IdempotencyKeyHeader(m.IdempotencyKey())
	set(r.Header, "Idempotency-Key", id)
	r.Header.Set("Laneway-Attempt", strconv.Itoa(m.Attempt))
	r.Header.Set("Laneway-Origin", m.Origin.String())
	r.Header.Set("Laneway-Fence", strconv.FormatInt(m.Fence, 10))
	if m.Key != nil {
		r.Header.Set("Laneway-Key", percentEncode(m.Key))
	}
	if m.Value == nil {
		r.Header.Set("Laneway-Tombstone", "true")
	}
	if len(h.signer) > 0 {
		r.Header.Set("Webhook-Id", id)
		timestamp, signature := h.signer.sign(id, h.now(), m.Value)
		r.Header.Set("Webhook-Timestamp", timestamp)
		r.Header.Set("Webhook-Signature", signature)
	}
	return r, nil
}

// recordHeaders adds the record's own headers that are to be sent: content type, those of a CloudEvent, and the listed ones.
func (h *Handler) recordHeaders(header http.Header, m *processor.Message) error {
	event := isCloudEvent(m.Headers)
	for _, rh := range m.Headers {
		name, value := rh.Key, string(rh.Value)
		attribute, isAttribute := strings.CutPrefix(name, "ce_")
		switch {
		case strings.EqualFold(name, "content-type"):
			header.Set("Content-Type", value)
		case event && isAttribute && validName(attribute):
			header.Set("Ce-"+attribute, percentEncode(rh.Value))
			continue // any value is valid now
		case h.forward[strings.ToLower(name)]:
			add(header, name, value)
		default:
			continue
		}
		if !validValue(value) {
			return fmt.Errorf("record header %q has control characters and cannot be sent over HTTP", name)
		}
	}
	return nil
}

// isCloudEvent reports whether the record is a CloudEvent in binary mode. One in structured mode is told by its content type
// alone, which is the same in Kafka and in HTTP.
func isCloudEvent(headers []processor.Header) bool {
	for _, h := range headers {
		if h.Key == "ce_specversion" {
			return true
		}
	}
	return false
}

// percentEncode writes b as CloudEvents attributes are written in HTTP headers: all but printable ASCII, and of that space,
// quotation mark and percent sign, as %XX.
func percentEncode(b []byte) string {
	const hexDigits = "0123456789ABCDEF"
	var s strings.Builder
	for _, c := range b {
		if c > ' ' && c < 0x7f && c != '"' && c != '%' {
			s.WriteByte(c)
			continue
		}
		s.WriteByte('%')
		s.WriteByte(hexDigits[c>>4])
		s.WriteByte(hexDigits[c&15])
	}
	return s.String()
}

// setTraceContext sets the W3C headers of the span that the call runs in; without one, those that came with the record.
func setTraceContext(ctx context.Context, header http.Header, m *processor.Message) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	if header.Get("Traceparent") != "" {
		return
	}
	for _, h := range m.Headers {
		if (h.Key == "traceparent" || h.Key == "tracestate") && validValue(string(h.Value)) {
			header.Set(h.Key, string(h.Value))
		}
	}
}

func set(header http.Header, name, value string) { header[spelled(name)] = []string{value} }

func add(header http.Header, name, value string) {
	name = spelled(name)
	header[name] = append(header[name], value)
}

// spelled returns the spelling of a header's name. Two are spelled in lower case, which means the same to the endpoint: in
// their usual spelling [http.Transport] takes them as the leave to send a request a second time when a connection breaks, and
// in claim_first mode a second time is what must not be (R42).
func spelled(name string) string {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Idempotency-Key", "X-Idempotency-Key":
		return strings.ToLower(name)
	}
	return name
}
