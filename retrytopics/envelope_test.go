package retrytopics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/internal/origin"
	rt "github.com/laneway-go/laneway/retrytopics"
)

func fullEnvelope() rt.Envelope {
	at := time.Date(2026, 1, 2, 15, 4, 5, 120_000_000, time.UTC)
	return rt.Envelope{
		Origin:          rt.Origin{Topic: "orders", TopicID: origin.TopicID{0xab, 15: 0x01}, Partition: 3, LeaderEpoch: 7, Offset: 1042},
		OriginTimestamp: at,
		Run:             2, Hop: 4, Attempt: 3, Snoozes: 1,
		Due: at.Add(time.Minute), Until: at.Add(time.Hour), Force: true,
		FirstFailedAt: at.Add(time.Second), LastFailedAt: at.Add(2 * time.Second),
		Reason: rt.ReasonSnoozed, ErrorClass: "http-429", ErrorMessage: "slow down", ErrorStack: "main.go:7",
		IdempotencyKey: "order 17", Group: "billing", Worker: "laneway 1.0.0 on pod-3", ReplayID: "88",
		OriginTraceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ValueOmitted: true,
	}
}

func texts(headers []kgo.RecordHeader) string {
	var b strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\n", h.Key, h.Value)
	}
	return b.String()
}

func TestEnvelopeHeadersAreReadable(t *testing.T) {
	e := fullEnvelope()
	want := `laneway-origin: orders/3/1042
laneway-origin-id: ab000000000000000000000000000001/7
laneway-origin-timestamp: 2026-01-02T15:04:05.120Z
laneway-run: 2
laneway-hop: 4
laneway-attempt: 3
laneway-snoozes: 1
laneway-due: 2026-01-02T15:05:05.120Z
laneway-until: 2026-01-02T16:04:05.120Z
laneway-force: true
laneway-first-failed-at: 2026-01-02T15:04:06.120Z
laneway-last-failed-at: 2026-01-02T15:04:07.120Z
laneway-reason: snoozed
laneway-error-class: http-429
laneway-error-message: slow down
laneway-error-stack: main.go:7
laneway-idempotency-key: order 17
laneway-group: billing
laneway-worker: laneway 1.0.0 on pod-3
laneway-replay-id: 88
laneway-origin-traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
laneway-value: omitted
`
	if diff := cmp.Diff(want, texts(e.Set(nil))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("laneway-run: 0\nlaneway-hop: 0\nlaneway-attempt: 0\n", texts((&rt.Envelope{}).Set(nil))); diff != "" {
		t.Errorf("empty envelope: %s", diff)
	}
}

func TestParseEnvelopeReadsWhatSetWrote(t *testing.T) {
	e := fullEnvelope()
	got, user, err := rt.ParseEnvelope(e.Set([]kgo.RecordHeader{{Key: "a", Value: []byte("b")}}))
	if err != nil || len(user) != 1 || user[0].Key != "a" {
		t.Fatalf("user %v, %v", user, err)
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Error(diff)
	}
}

func drawHeaders(t *rapid.T) []kgo.RecordHeader {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) kgo.RecordHeader {
		return kgo.RecordHeader{
			Key:   rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "b", "traceparent", "laneway", "Laneway-due"})).Draw(t, "key"),
			Value: rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just([]byte{}), rapid.SliceOf(rapid.Byte())).Draw(t, "value"),
		}
	})).Filter(func(hs []kgo.RecordHeader) bool { return cmp.Equal(hs, rt.UserHeaders(hs)) || len(hs) == 0 }).Draw(t, "headers")
}

// drawTime returns a time of which every digit is kept: a whole millisecond.
func drawTime(t *rapid.T, name string) time.Time {
	ms := rapid.OneOf(rapid.Int64Range(-1e13, 1e15), rapid.Int64()).Draw(t, name)
	if at := time.UnixMilli(ms).UTC(); !at.IsZero() {
		return at
	}
	return time.Time{}
}

func drawEnvelope(t *rapid.T) rt.Envelope {
	text := func(name string, n int) string { return rt.Text(rapid.String().Draw(t, name), n) }
	return rt.Envelope{
		Origin: rt.Origin{
			Topic: rapid.StringMatching(`[a-zA-Z0-9._-]{1,30}`).Draw(t, "topic"), TopicID: origin.TopicID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
			Partition: rapid.Int32Min(0).Draw(t, "partition"), LeaderEpoch: rapid.Int32Min(-1).Draw(t, "epoch"), Offset: rapid.Int64Min(0).Draw(t, "offset"),
		},
		OriginTimestamp: drawTime(t, "timestamp"),
		Run:             rapid.Uint32().Draw(t, "run"), Hop: rapid.Uint32().Draw(t, "hop"),
		Attempt: int(rapid.Int32Min(0).Draw(t, "attempt")), Snoozes: int(rapid.Int32Min(0).Draw(t, "snoozes")),
		Due: drawTime(t, "due"), Until: drawTime(t, "until"), Force: rapid.Bool().Draw(t, "force"),
		FirstFailedAt: drawTime(t, "first"), LastFailedAt: drawTime(t, "last"),
		Reason:     rapid.SampledFrom([]rt.Reason{"", rt.ReasonRetryable, rt.ReasonPermanent, rt.ReasonUncertain}).Draw(t, "reason"),
		ErrorClass: text("class", 128), ErrorMessage: text("message", rt.MaxErrorMessage), ErrorStack: text("stack", rt.MaxErrorStack),
		IdempotencyKey: string(rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Just([]byte("b64:eA==")), rapid.Just([]byte("plain"))).Draw(t, "x")),
		Group:          text("group", 249), Worker: text("worker", 100), ReplayID: text("replay", 30), OriginTraceparent: text("traceparent", 60),
		ValueOmitted: rapid.Bool().Draw(t, "omitted"),
	}
}

func TestEnvelopeRoundTripIsBitExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, user := drawEnvelope(t), drawHeaders(t)
		stale := fullEnvelope()
		// The headers of an earlier hop lie around and between the user's.
		cut := rapid.IntRange(0, len(user)).Draw(t, "cut")
		before := append(append(stale.Set(user[:cut]), user[cut:]...), kgo.RecordHeader{Key: "laneway-of-a-later-release"})
		kept := append([]kgo.RecordHeader(nil), before...)

		got, gotUser, err := rt.ParseEnvelope(e.Set(before))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(append([]kgo.RecordHeader{}, user...), gotUser); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(kept, before); diff != "" {
			t.Fatalf("the input was changed: %s", diff)
		}
	})
}

func TestDueTimesAreNeverWrittenEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		e := rt.Envelope{Due: at, Until: at, FirstFailedAt: at}
		got, _, _ := rt.ParseEnvelope(e.Set(nil))
		for _, up := range []time.Time{got.Due, got.Until} {
			if up.Before(at) || up.Sub(at) >= time.Millisecond {
				t.Fatalf("%s became %s", at, up)
			}
		}
		if got.FirstFailedAt.After(at) {
			t.Fatalf("failed at %s, before it happened at %s", got.FirstFailedAt, at)
		}
	})
}

func TestEvidenceIsBounded(t *testing.T) {
	e := rt.Envelope{
		ErrorMessage: strings.Repeat("é", 5000), ErrorStack: "\xff" + strings.Repeat("x", 50_000),
		ErrorClass: strings.Repeat("c", 5000), Worker: strings.Repeat("w", 5000),
	}
	got, _, _ := rt.ParseEnvelope(e.Set(nil))
	if n := len(got.ErrorMessage); n != 1024 {
		t.Errorf("message of %d bytes", n)
	}
	if n := len(got.ErrorStack); n != 8192 || !strings.HasPrefix(got.ErrorStack, "\uFFFDxx") {
		t.Errorf("stack of %d bytes", n)
	}
	if len(got.ErrorClass) != 128 || len(got.Worker) != 512 {
		t.Errorf("class of %d bytes, worker of %d", len(got.ErrorClass), len(got.Worker))
	}
}

func TestParseEnvelopeTellsWhatIsWrongAndKeepsTheRest(t *testing.T) {
	good := fullEnvelope()
	for _, tt := range []struct {
		key, value, problem string
	}{
		{"laneway-origin", "orders/3", `"laneway-origin"`},
		{"laneway-origin", strings.Repeat("o", 1000) + "/3/4", `"laneway-origin"`},
		{"laneway-origin-id", "abc", `"laneway-origin-id"`},
		{"laneway-run", "-1", `"laneway-run"`},
		{"laneway-hop", "4294967296", `"laneway-hop"`},
		{"laneway-attempt", "2147483648", `"laneway-attempt"`},
		{"laneway-snoozes", "", `"laneway-snoozes"`},
		{"laneway-due", "tomorrow", `"laneway-due"`},
		{"laneway-until", "2026-01-02", `"laneway-until"`},
		{"laneway-force", "yes", `"laneway-force"`},
		{"laneway-reason", "<script>", `"laneway-reason"`},
		{"laneway-idempotency-key", "b64:!", `"laneway-idempotency-key"`},
		{"laneway-value", "gone", `"laneway-value"`},
	} {
		got, _, err := rt.ParseEnvelope(rt.SetHeader(good.Set(nil), tt.key, tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s %q: %v", tt.key, tt.value, err)
		}
		if got.Worker != good.Worker || got.ErrorClass != good.ErrorClass {
			t.Errorf("%s %q: the other headers were lost", tt.key, tt.value)
		}
	}
	got, _, err := rt.ParseEnvelope(rt.SetHeader(good.Set(nil), rt.HeaderOriginID, "ab/c"))
	if got.Origin.Offset != 1042 || got.Origin.LeaderEpoch != -1 || got.Origin.TopicID != (origin.TopicID{}) {
		t.Errorf("half an origin id was taken: %+v, %v", got.Origin, err)
	}
}

func TestParseEnvelopeNeedsOriginRunHopAndAttempt(t *testing.T) {
	e := fullEnvelope()
	for _, key := range []string{rt.HeaderOrigin, rt.HeaderRun, rt.HeaderHop, rt.HeaderAttempt} {
		if _, _, err := rt.ParseEnvelope(rt.DropHeader(e.Set(nil), key)); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

func TestParseEnvelopeTakesTheFirstOfTwo(t *testing.T) {
	e := fullEnvelope()
	twice := append(e.Set(nil), kgo.RecordHeader{Key: rt.HeaderHop, Value: []byte("9")})
	got, _, err := rt.ParseEnvelope(twice)
	if got.Hop != e.Hop || err == nil {
		t.Errorf("hop %d, %v", got.Hop, err)
	}
	for range 1000 {
		twice = append(twice, kgo.RecordHeader{Key: rt.HeaderHop})
	}
	if _, _, err := rt.ParseEnvelope(twice); strings.Count(err.Error(), "\n") > 16 {
		t.Error("the error of a hostile record has no bound")
	}
}

func TestReasonsOfALaterReleaseAreKept(t *testing.T) {
	e := fullEnvelope()
	got, _, err := rt.ParseEnvelope(rt.SetHeader(e.Set(nil), rt.HeaderReason, "brand-new"))
	if err != nil || got.Reason != "brand-new" {
		t.Errorf("%q, %v", got.Reason, err)
	}
}

func TestSetHeaderReplaces(t *testing.T) {
	in := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "t", Value: []byte("old")}, {Key: "b"}, {Key: "t", Value: []byte("older")}}
	before := texts(in)
	if got, want := texts(rt.SetHeader(in, "t", "new")), "a: 1\nt: new\nb: \n"; got != want {
		t.Errorf("replaced: %q, want %q", got, want)
	}
	if got, want := texts(rt.SetHeader(in[:1], "t", "new")), "a: 1\nt: new\n"; got != want {
		t.Errorf("added: %q, want %q", got, want)
	}
	if got, want := texts(rt.DropHeader(in, "t")), "a: 1\nb: \n"; got != want {
		t.Errorf("dropped: %q, want %q", got, want)
	}
	if texts(in) != before {
		t.Error("the input was changed")
	}
}

func TestEncodeKey(t *testing.T) {
	for key, want := range map[string]string{
		"order 17":   "order 17",
		"größe":      "größe",
		"":           "",
		"\x00\x01":   "b64:AAE=",
		"two\nlines": "b64:dHdvCmxpbmVz",
		"b64:x":      "b64:YjY0Ong=",
		"\xff":       "b64:/w==",
	} {
		if got := rt.EncodeKey(key); got != want {
			t.Errorf("EncodeKey(%q) = %q, want %q", key, got, want)
		}
	}
}

func FuzzParseEnvelope(f *testing.F) {
	for _, h := range (&rt.Envelope{}).Set(nil) {
		f.Add(h.Key, h.Value, []byte(nil))
	}
	e := fullEnvelope()
	for _, h := range e.Set(nil) {
		f.Add(h.Key, h.Value, []byte("x"))
	}
	f.Add(rt.HeaderDue, []byte("9223372036854775807"), []byte("-9223372036854775808"))
	f.Fuzz(func(t *testing.T, key string, one, two []byte) {
		full := fullEnvelope()
		headers := append(rt.DropHeader(full.Set(nil), key), kgo.RecordHeader{Key: key, Value: one}, kgo.RecordHeader{Key: "u", Value: two}, kgo.RecordHeader{Key: key, Value: two})
		got, user, err := rt.ParseEnvelope(headers)
		if !cmp.Equal(user, rt.UserHeaders(headers)) {
			t.Errorf("user headers %v of %v", user, headers)
		}
		if err != nil && len(err.Error()) > 20_000 {
			t.Errorf("error of %d bytes", len(err.Error()))
		}
		again, _, _ := rt.ParseEnvelope(got.Set(nil))
		if got.Origin.Topic != "" && !cmp.Equal(got, again) {
			t.Errorf("what was read is not what is written: %s", cmp.Diff(got, again))
		}
	})
}
