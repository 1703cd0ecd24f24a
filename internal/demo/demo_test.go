package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
)

func config(t *testing.T, out *bytes.Buffer) Config {
	t.Helper()
	return Config{
		Rate: 1000, Tiers: []time.Duration{20 * time.Millisecond, 40 * time.Millisecond, 60 * time.Millisecond}, Seed: 3, JSON: true,
		Out: out, Logger: slog.New(slog.DiscardHandler),
	}
}

func TestSummaryAddsUpAndIsTheLastObject(t *testing.T) {
	var out bytes.Buffer
	cfg := config(t, &out)
	cfg.Records = 200
	s, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.Read != 200 || s.Done+s.Dead+s.Duplicates+s.Skipped != 200 || s.Waiting != 0 {
		t.Errorf("%+v does not add up to 200", s)
	}
	if s.Dead == 0 || s.Duplicates == 0 || s.Skipped == 0 {
		t.Errorf("%+v: something is not shown", s)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last Summary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last != s {
		t.Errorf("last line %s, want %+v (%v)", lines[len(lines)-1], s, err)
	}
	for _, kind := range []string{"retried", "followed", "dead", "snoozed"} {
		if !strings.Contains(out.String(), `"event":"`+kind+`"`) {
			t.Errorf("no event %q", kind)
		}
	}
}

func TestASecondRunGoesOnWithWhatTheFirstLeft(t *testing.T) {
	var out bytes.Buffer
	cfg := config(t, &out)
	cfg.Data = t.TempDir()
	cfg.Tiers = []time.Duration{200 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	cfg.Handler = processor.HandlerFunc(func(context.Context, *processor.Message) error {
		once.Do(cancel) // the first run ends with a record that has just failed
		return errDown
	})
	cfg.Input = strings.NewReader(`{"key": "k", "value": "v"}`)
	first, err := Run(ctx, cfg)
	if err != nil || first.Read != 1 || first.Waiting != 1 {
		t.Fatalf("first run: %+v, %v", first, err)
	}
	cfg.Handler, cfg.Input = nil, strings.NewReader("")
	second, err := Run(t.Context(), cfg)
	if want := (Summary{Read: 1, Done: 1, Found: 1}); err != nil || second != want {
		t.Errorf("second run: %+v, %v, want %+v", second, err, want)
	}
}

func TestInputLines(t *testing.T) {
	var got []*kgo.Record
	err := readLines(strings.NewReader(`{"key": "a", "value": {"x": 1}, "headers": {"h": "1", "g": "2"}}

{"value": "text"}
{"key": "", "value": null}
`), func(r *kgo.Record) error { got = append(got, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []*kgo.Record{
		{Key: []byte("a"), Value: []byte(`{"x": 1}`), Headers: []kgo.RecordHeader{{Key: "g", Value: []byte("2")}, {Key: "h", Value: []byte("1")}}},
		{Value: []byte("text")},
		{Key: []byte("")},
	}
	for i := range want {
		if d := cmp.Diff(want[i].Key, got[i].Key) + cmp.Diff(want[i].Value, got[i].Value) + cmp.Diff(want[i].Headers, got[i].Headers); d != "" {
			t.Errorf("record %d: %s", i, d)
		}
	}
}

func TestInputLineThatIsNoRecordIsNamed(t *testing.T) {
	err := readLines(strings.NewReader("{\"value\": 1}\n{\"valu\": 1}"), func(*kgo.Record) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "valu") {
		t.Errorf("error %v", err)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"key": "a", "value": {"x": [1, null]}, "headers": {"h": ""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := parseLine(text)
		if (rec == nil) == (err == nil) {
			t.Errorf("parseLine(%q) = %v, %v", text, rec, err)
		}
	})
}
