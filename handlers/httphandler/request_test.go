package httphandler

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// posted sends m and returns what arrived, without the headers of every HTTP request.
func posted(t *testing.T, m *processor.Message, change func(*Config)) (header http.Header, body string) {
	t.Helper()
	h := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.RequestURI() != "/orders?token=hidden" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		header, body = r.Header, string(b)
	}, change)
	if err := h.Handle(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Accept-Encoding", "Content-Length", "User-Agent"} {
		header.Del(name)
	}
	return header, body
}

// always is what each request of message has.
func always(more http.Header) http.Header {
	h := http.Header{
		"Content-Type":    {"application/octet-stream"},
		"Idempotency-Key": {dedupe.IdempotencyKeyHeader(dedupe.OriginKey(message("").Origin))},
		"Laneway-Attempt": {"2"},
		"Laneway-Origin":  {"orders/3/1042"},
		"Laneway-Fence":   {"17"},
		"Laneway-Key":     {"k%201"},
	}
	maps.Copy(h, more)
	return h
}

func TestTheValueIsPostedAndOnlyListedHeadersGoAlong(t *testing.T) {
	m := message("\x00\xff binary")
	m.Headers = []processor.Header{
		{Key: "tenant", Value: []byte("a")},
		{Key: "Tenant", Value: []byte("b")},
		{Key: "secret", Value: []byte("s")},
		{Key: "ce_id", Value: []byte("no event: there is no ce_specversion")},
		{Key: "laneway-origin", Value: []byte("forged")},
		{Key: "idempotency-key", Value: []byte("forged")},
	}
	header, body := posted(t, m, func(c *Config) {
		c.ForwardHeaders = []string{"TENANT"}
		c.Headers = map[string]string{"Authorization": "Bearer x"}
	})
	if diff := cmp.Diff(always(http.Header{"Tenant": {"a", "b"}, "Authorization": {"Bearer x"}}), header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if body != "\x00\xff binary" {
		t.Errorf("body %q, want the value", body)
	}
}

func TestATombstoneDiffersFromAnEmptyValue(t *testing.T) {
	m := message("")
	header, body := posted(t, m, nil)
	if header.Get("Laneway-Tombstone") != "" || body != "" {
		t.Errorf("an empty value: %v %q", header, body)
	}
	m.Value, m.Key = nil, nil
	header, body = posted(t, m, nil)
	if header.Get("Laneway-Tombstone") != "true" || body != "" || header["Laneway-Key"] != nil {
		t.Errorf("a tombstone without a key: %v %q", header, body)
	}
}

func TestACloudEventInKafkasBinaryModeBecomesOneInHTTPs(t *testing.T) {
	m := message(`{"amount":1}`)
	m.Headers = []processor.Header{
		{Key: "ce_specversion", Value: []byte("1.0")},
		{Key: "ce_id", Value: []byte("A234")},
		{Key: "ce_source", Value: []byte("/shop/é \"50%\"\n")},
		{Key: "ce_type", Value: []byte("order.placed")},
		{Key: "ce_partitionkey", Value: []byte("k")},
		{Key: "ce_bad name", Value: []byte("left out")},
		{Key: "content-type", Value: []byte("application/json; charset=utf-8")},
	}
	header, _ := posted(t, m, nil)
	want := always(http.Header{
		"Content-Type":   {"application/json; charset=utf-8"},
		"Ce-Specversion": {"1.0"}, "Ce-Id": {"A234"}, "Ce-Source": {"/shop/%C3%A9%20%2250%25%22%0A"},
		"Ce-Type": {"order.placed"}, "Ce-Partitionkey": {"k"},
	})
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestPercentEncodingLosesNothingAndIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		s := percentEncode(b)
		back, err := url.PathUnescape(s)
		if err != nil || back != string(b) {
			t.Fatalf("%q reads as %q, %v", s, back, err)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
			t.Fatalf("%q is not printable", s)
		}
	})
}

func TestTheSpanOfTheCallGoesBeforeTheTraceOfTheRecord(t *testing.T) {
	m := message("v")
	m.Headers = []processor.Header{{Key: "traceparent", Value: []byte(traceparent)}, {Key: "tracestate", Value: []byte("x=y")}}
	header, _ := posted(t, m, nil)
	if header.Get("Traceparent") != traceparent || header.Get("Tracestate") != "x=y" {
		t.Errorf("without a span: %v, want the record's", header)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0: 1}, SpanID: trace.SpanID{0: 2}, TraceFlags: trace.FlagsSampled,
	})
	header = http.Header{}
	setTraceContext(trace.ContextWithSpanContext(t.Context(), span), header, m)
	want := http.Header{"Traceparent": {"00-01000000000000000000000000000000-0200000000000000-01"}}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("with a span (-want +got):\n%s", diff)
	}
}

func TestARecordThatHTTPCannotCarryIsPermanentAndNotSent(t *testing.T) {
	h := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }, func(c *Config) {
		c.ForwardHeaders = []string{"tenant"}
	})
	for _, name := range []string{"tenant", "content-type"} {
		m := message("v")
		m.Headers = []processor.Header{{Key: name, Value: []byte("a\r\nInjected: b")}}
		err := h.Handle(t.Context(), m)
		if verdict(err) != retrytopics.VerdictPermanent || !strings.Contains(err.Error(), name) {
			t.Errorf("Handle = %v, want a permanent error that names %s", err, name)
		}
	}
}

func TestARequestIsSignedAsStandardWebhooksAsks(t *testing.T) {
	// The example of the specification's reference libraries.
	s, err := newSigner([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	if err != nil {
		t.Fatal(err)
	}
	timestamp, signature := s.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if timestamp != "1614265330" || signature != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signature %q at %s", signature, timestamp)
	}
}

func TestEachSecretSignsSoThatOneCanBeReplaced(t *testing.T) {
	secrets := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	header, body := posted(t, message("v"), func(c *Config) { c.SigningSecrets = secrets })
	id := dedupe.IdempotencyKeyHeader(dedupe.OriginKey(message("").Origin))
	var want []string
	for _, secret := range secrets {
		s, err := newSigner([]string{secret})
		if err != nil {
			t.Fatal(err)
		}
		_, signature := s.sign(id, now(), []byte(body))
		want = append(want, signature)
	}
	if header.Get("Webhook-Id") != id || header.Get("Webhook-Timestamp") != "1767366245" ||
		header.Get("Webhook-Signature") != strings.Join(want, " ") || want[0] == want[1] {
		t.Errorf("headers %v, want the signatures %q", header, want)
	}
}

func TestNewNamesEveryFieldThatIsWrongAndNoSecret(t *testing.T) {
	_, err := New(Config{
		URL: "ftp://user:hidden@host/", Timeout: -1, ConnectTimeout: -1, Concurrency: -1, ContentType: "a\nb",
		ForwardHeaders: []string{"Laneway-Attempt", "a b"}, Headers: map[string]string{"Host": "x", "X": "hidden\n"},
		SigningSecrets: []string{"hidden"},
	})
	if err == nil {
		t.Fatal("New takes anything")
	}
	for _, field := range []string{
		"url", "timeout -1", "connect timeout", "concurrency -1", "content type", `"Laneway-Attempt"`, `"a b"`, `"Host"`, `"X"`,
		"signing secret 0",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("New: %v\nwant a word about %s", err, field)
		}
	}
	if strings.Contains(err.Error(), "hidden") {
		t.Errorf("New shows a secret: %v", err)
	}
}
