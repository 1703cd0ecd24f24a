package exechandler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestTheAnswerIsTheOutcome(t *testing.T) {
	r := newRig(t, nil)
	plain := &AnswerError{Message: "no stock", Class: "stock"}
	for answer, want := range map[string]error{
		`"ok":true`: nil,
		`"ok":false,"error":"no stock","class":"stock"`:            plain,
		`"error":"no stock","class":"stock"`:                       plain,
		`"error":"no stock","class":"stock","permanent":true`:      retrytopics.Permanent(plain),
		`"error":"no stock","class":"stock","retry_after":"1m30s"`: retrytopics.RetryAfter(plain, 90*time.Second),
		`"error":"no stock","class":"stock","uncertain":true`:      retrytopics.Uncertain(plain),
		`"skip":"a test order"`:                                    retrytopics.Skip("a test order"),
		`"skip":""`:                                                retrytopics.Skip(""),
		`"ok":true,"error":"","permanent":false,"uncertain":false`: nil,
		`"ok":true,"produce":[]`:                                   nil,
		`"error":"no stock","class":"stock","produce":null`:        plain,
		" \t\"error\" : \"no stock\" , \"class\" : \"stock\"   ":   plain,
	} {
		if diff := cmp.Diff(want, r.do(t.Context(), "answer "+answer)); diff != "" {
			t.Errorf("answer {%s}: outcome (-want +got):\n%s", answer, diff)
		}
	}
	if n := r.log.count("handler process started"); n != 1 {
		t.Errorf("%d processes were started, want 1: an answered record costs none", n)
	}
}

func TestARequestTellsAllAboutTheRecord(t *testing.T) {
	r := newRig(t, nil)
	m := message("echo <&> \u2028")
	m.Headers = []processor.Header{
		{Key: "a", Value: []byte("1")},
		{Key: "a", Value: nil},
		{Key: "", Value: []byte{}},
		{Key: "b", Value: []byte{0xff, 0}},
		{Key: "traceparent", Value: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")},
		{Key: "tracestate", Value: []byte("x=y")},
	}
	if err := r.Handle(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := `{"id":1,"topic":"orders","partition":3,"offset":1042,"key":"k","value":"echo <&> \u2028",` +
		`"headers":[["a","1"],["a",null],["",""],["b",{"base64":"/wA="}],` +
		`["traceparent","00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],["tracestate","x=y"]],` +
		`"timestamp":"2026-01-02T15:04:05.006Z","attempt":2,"run":1,` +
		`"idempotency_key":"` + dedupe.IdempotencyKeyHeader(dedupe.OriginKey(message("").Origin)) + `","origin":"orders/3/1042","fence":17,` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"x=y"}` + "\n"
	if diff := cmp.Diff(want, string(r.produced[0].Value)); diff != "" {
		t.Errorf("request line (-want +got):\n%s", diff)
	}
}

func TestOutputsAreProducedInOrder(t *testing.T) {
	r := newRig(t, nil)
	err := r.do(t.Context(), oneLine(`answer "ok":true,"produce":[
		{"topic":"a","key":"k","value":"v","headers":[["h","1"],["h",null],["b",{"base64":"/wA="}]]},
		{"topic":"b","key_base64":"/w==","value_base64":""},
		{"topic":"c","key":"","value":null}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []*kgo.Record{
		{Topic: "a", Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{
			{Key: "h", Value: []byte("1")}, {Key: "h"}, {Key: "b", Value: []byte{0xff, 0}},
		}},
		{Topic: "b", Key: []byte{0xff}, Value: []byte{}},
		{Topic: "c", Key: []byte{}},
	}
	if diff := cmp.Diff(want, r.produced, cmpopts.IgnoreUnexported(kgo.Record{}, kgo.RecordAttrs{})); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestAnOutputThatCannotBeProducedIsUncertainSinceTheWorkWasDone(t *testing.T) {
	r := newRig(t, nil)
	full := errors.New("buffer full")
	r.produce = func(context.Context, *processor.Message, *kgo.Record) error { return full }
	err := r.do(t.Context(), `answer "ok":true,"produce":[{"topic":"a"}]`)
	if !errors.Is(err, full) || !isUncertain(err) {
		t.Errorf("Handle = %v, want the uncertain cause", err)
	}
}

func TestEachProcessHasOneRecordInHand(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Processes = 3 })
	ctx, cancel := context.WithCancel(t.Context())
	var results []<-chan error
	for range 3 {
		results = append(results, r.inBackground(ctx, "hang"))
	}
	r.log.waitFor("hangs", 3)

	fourth, giveUp := context.WithCancelCause(t.Context())
	waiting := r.inBackground(fourth, `answer "ok":true`)
	tired := errors.New("tired")
	giveUp(tired)
	if err := <-waiting; !errors.Is(err, tired) || isUncertain(err) {
		t.Errorf("the fourth record: %v, want a certain error, as no process was free", err)
	}
	if n := r.log.count("handler process started"); n != 3 {
		t.Errorf("%d processes were started, want 3", n)
	}
	cancel()
	for _, result := range results {
		wantFailure[*HangError](t, <-result, true)
	}
}

func TestManyRecordsOfAllFatesShareFewProcesses(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Processes = 4 })
	fates := []string{`answer "ok":true`, `answer "error":"e"`, "exit 3", "raw nonsense", `answer "skip":"s"`, "twice", "echo"}
	var calls sync.WaitGroup
	for i := range 140 {
		calls.Go(func() {
			fate := fates[i%len(fates)]
			err := r.do(t.Context(), fate)
			if ok := err == nil; ok != (fate == "twice" || fate == "echo" || fate == fates[0]) {
				// A second answer may reach the next record of its process, which then fails, too.
				if p, broken := errors.AsType[*ProtocolError](err); !broken || !strings.Contains(p.Error(), "has id") {
					t.Errorf("%s: %v", fate, err)
				}
			}
		})
	}
	calls.Wait()
	if got := len(r.produced); got > 20 {
		t.Errorf("%d outputs of 20 records", got)
	}
}

func TestACommandThatCannotBeStartedFailsTheRecordForCertain(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Command = []string{"/nonexistent/program"} })
	err := r.do(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), "start /nonexistent/program") || isUncertain(err) {
		t.Errorf("Handle = %v, want a certain error that names the program", err)
	}
}

func TestAProgramThatEndsAtOnceIsNamedWithItsLastWords(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Env = []string{programVar + "=silent-exit"} })
	err := r.do(t.Context(), "x")
	e, ok := errors.AsType[*ExitError](err)
	if !ok || e.State.ExitCode() != 7 || e.Stderr != "cannot start today\n" {
		t.Errorf("Handle = %v, want exit status 7 and its last words", err)
	}
}

func TestAFailedProcessIsReplacedOnlyAfterItsBackoff(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MinBackoff, c.MaxBackoff = time.Hour, time.Hour })
	wantFailure[*ExitError](t, r.do(t.Context(), "exit 1"), true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.do(ctx, `answer "ok":true`); !errors.Is(err, context.DeadlineExceeded) || isUncertain(err) {
		t.Errorf("Handle = %v, want the end of the wait", err)
	}
}

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	c := Config{MinBackoff: 100 * time.Millisecond, MaxBackoff: time.Second}
	var got []time.Duration
	for failures := 1; failures <= 6; failures++ {
		got = append(got, c.backoff(failures))
	}
	ms := time.Millisecond
	if diff := cmp.Diff([]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second}, got); diff != "" {
		t.Errorf("backoff (-want +got):\n%s", diff)
	}
}

func TestAnAnswerEndsTheRowOfFailures(t *testing.T) {
	p := newSlots(Config{Processes: 1, MinBackoff: 1, MaxBackoff: 1}.withDefaults())
	s := <-p.free
	p.discard(s)
	s = <-p.free
	p.discard(s)
	s = <-p.free
	if s.failures != 2 {
		t.Errorf("%d failures in a row, want 2", s.failures)
	}
	p.put(s)
	if s = <-p.free; s.failures != 0 {
		t.Errorf("%d failures in a row after an answer, want 0", s.failures)
	}
}

func TestCloseLetsTheRecordInHandFinish(t *testing.T) {
	r := newRig(t, nil)
	inHand := r.inBackground(t.Context(), "until-eof")
	r.log.waitFor("at work", 1)
	waiting := r.inBackground(t.Context(), `answer "ok":true`)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-inHand; err != nil {
		t.Errorf("the record in hand: %v, want its answer", err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("the waiting record: %v, want ErrClosed", err)
	}
	if err := r.do(t.Context(), `answer "ok":true`); !errors.Is(err, ErrClosed) {
		t.Errorf("a record after Close: %v, want ErrClosed", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestCloseEndsIdleProcessesByTheEndOfTheirInput(t *testing.T) {
	r := newRig(t, nil)
	r.pid(t)
	_ = r.Close()
	if n := r.log.count("bye"); n != 1 {
		t.Errorf("log = %q, want one polite good-bye", r.log.lines())
	}
}

func TestNewNamesEveryFieldThatIsWrong(t *testing.T) {
	_, err := New(Config{
		Env: []string{"=secret"}, Processes: -1, Grace: -1, MinBackoff: -1, MaxAnswer: -1, LogRate: -1,
	})
	for _, field := range []string{"command:", "env:", "processes -1", "grace", "backoff", "max answer -1", "log rate -1"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("New: %v\nwant a word about %q", err, field)
		}
	}
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("New shows the value of a variable: %v", err)
	}
	if _, err := New(Config{Command: []string{"no-such-program-anywhere"}}); err == nil {
		t.Error("New takes a program that is not in PATH")
	}
}

func TestNewStartsNothing(t *testing.T) {
	r := newRig(t, nil)
	if n := len(r.slots.mu.living); n != 0 || r.log.count("handler process started") != 0 {
		t.Errorf("%d processes before the first record", n)
	}
}

// oneLine takes the line breaks out of JSON.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
