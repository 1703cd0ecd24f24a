package exechandler

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/processor"
)

// seen is how a program reads a request by the rules of docs/exec-protocol.md.
type seen struct {
	Key         *string `json:"key"`
	KeyBase64   []byte  `json:"key_base64"`
	Value       *string `json:"value"`
	ValueBase64 []byte  `json:"value_base64"`
	Headers     [][]any `json:"headers"`
}

func TestEveryByteOfARecordReachesTheProgram(t *testing.T) {
	octetsOrNil := rapid.OneOf(
		rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		m := &processor.Message{Key: octetsOrNil.Draw(t, "key"), Value: octetsOrNil.Draw(t, "value")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			m.Headers = append(m.Headers, processor.Header{
				Key: string(octetsOrNil.Draw(t, "name")), Value: octetsOrNil.Draw(t, "header"),
			})
		}
		line, err := encodeRequest(t.Context(), 7, m)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || !bytes.HasPrefix(line, []byte(`{"id":7,`)) {
			t.Fatalf("request %q, want one line that begins with its id", line)
		}
		if bytes.ContainsAny(line, "\r\u2028\u2029") {
			t.Fatalf("request %q has a character that some readers take for the end of a line", line)
		}
		var got seen
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		same(t, "key", m.Key, got.Key, got.KeyBase64)
		same(t, "value", m.Value, got.Value, got.ValueBase64)
		if diff := cmp.Diff(m.Headers, read(t, got.Headers)); diff != "" {
			t.Fatalf("headers (-sent +read):\n%s", diff)
		}
	})
}

func same(t *rapid.T, what string, want []byte, text *string, binary []byte) {
	got := binary
	if text != nil {
		got = append([]byte{}, *text...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-sent +read):\n%s", what, diff)
	}
}

func read(t *rapid.T, headers [][]any) (hs []processor.Header) {
	one := func(v any) []byte {
		switch v := v.(type) {
		case nil:
			return nil
		case string:
			return append([]byte{}, v...)
		}
		var o octets
		b, _ := json.Marshal(v)
		if err := o.UnmarshalJSON(b); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, h := range headers {
		hs = append(hs, processor.Header{Key: string(one(h[0])), Value: one(h[1])})
	}
	return hs
}

func TestABinaryFieldIsNotReadAsMissingOrNull(t *testing.T) {
	for value, want := range map[string]string{
		"\xff": `"value_base64":"/w=="`, "": `"value":""`, "a": `"value":"a"`,
	} {
		line, err := encodeRequest(t.Context(), 1, &processor.Message{Value: []byte(value)})
		if err != nil {
			t.Fatal(err)
		}
		if s := string(line); !strings.Contains(s, want) || strings.Count(s, `"value`) != 1 || !strings.Contains(s, `"key":null`) {
			t.Errorf("request %s, want %s alone and a null key", s, want)
		}
	}
}

func TestTheSpanOfTheCallGoesBeforeTheTraceOfTheRecord(t *testing.T) {
	m := &processor.Message{Headers: []processor.Header{
		{Key: "traceparent", Value: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")},
		{Key: "tracestate", Value: []byte("x=y")},
	}}
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0: 1}, SpanID: trace.SpanID{0: 2}, TraceFlags: trace.FlagsSampled,
	})
	parent, state := traceContext(trace.ContextWithSpanContext(t.Context(), span), m)
	if want := "00-01000000000000000000000000000000-0200000000000000-01"; parent != want || state != "" {
		t.Errorf("trace context %q %q, want %q alone", parent, state, want)
	}
	if parent, state = traceContext(t.Context(), m); parent == "" || state != "x=y" {
		t.Errorf("trace context %q %q without a span, want the record's", parent, state)
	}
}
