package retrytopics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rt "github.com/laneway-go/laneway/retrytopics"
)

type httpError struct {
	code int
	wait time.Duration
}

func (e *httpError) Error() string             { return "http error" }
func (e *httpError) StatusCode() int           { return e.code }
func (e *httpError) RetryAfter() time.Duration { return e.wait }

type sqlError string

func (e sqlError) Error() string    { return "sql error" }
func (e sqlError) SQLState() string { return string(e) }

// brokenError panics in the method that a rule asks.
type brokenError struct{}

func (brokenError) Error() string   { return "broken" }
func (brokenError) StatusCode() int { panic("no status") }

// listError cannot be compared, as the errors of many validators cannot.
type listError []string

func (e listError) Error() string { return strings.Join(e, ", ") }

func jsonError(t *testing.T, text string, into any) error {
	t.Helper()
	err := json.Unmarshal([]byte(text), into)
	if err == nil {
		t.Fatalf("%q is valid", text)
	}
	return err
}

func dialError(cause error) error {
	return &url.Error{Op: "Post", URL: "http://shop", Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", cause)}}
}

func TestClassifyBuiltInRules(t *testing.T) {
	var number int
	for _, tt := range []struct {
		name string
		err  error
		want rt.Decision
	}{
		{"nil", nil, rt.Decision{Verdict: rt.VerdictOK, Rule: "ok"}},
		{"refused", dialError(syscall.ECONNREFUSED), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "connection-refused", Class: "connection-refused"}},
		{"reset", dialError(syscall.ECONNRESET), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "connection-reset", Class: "connection-reset"}},
		{"broken pipe", dialError(syscall.EPIPE), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "connection-reset", Class: "connection-reset"}},
		{"network timeout", dialError(syscall.ETIMEDOUT), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "net-timeout", Class: "timeout"}},
		{"i/o timeout", os.ErrDeadlineExceeded, rt.Decision{Verdict: rt.VerdictRetryable, Rule: "net-timeout", Class: "timeout"}},
		{"unreachable", dialError(syscall.EHOSTUNREACH), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "net-error", Class: "syscall.Errno"}},
		{"no such host", &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, rt.Decision{Verdict: rt.VerdictRetryable, Rule: "net-error", Class: "*net.DNSError"}},
		{"deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "deadline", Class: "timeout"}},
		{"canceled is an error like any other", fmt.Errorf("call: %w", context.Canceled), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "canceled", Class: "canceled"}},
		{"json syntax", fmt.Errorf("decode: %w", jsonError(t, "{", &number)), rt.Decision{Verdict: rt.VerdictPermanent, Rule: "json-syntax", Class: "*json.SyntaxError"}},
		{"json type", jsonError(t, `"x"`, &number), rt.Decision{Verdict: rt.VerdictPermanent, Rule: "json-type", Class: "*json.UnmarshalTypeError"}},
		{"unknown", errors.New("odd"), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "*errors.errorString"}},
		{"unknown, wrapped", fmt.Errorf("a: %w", fmt.Errorf("b: %w", listError{"x"})), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "retrytopics_test.listError"}},
		{"unknown, joined", errors.Join(nil, listError{"x"}), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "retrytopics_test.listError"}},
		{"a method of the error panics", fmt.Errorf("a: %w", brokenError{}), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "error-panic", Class: "panic"}},
		{"what may pass wins", errors.Join(jsonError(t, "{", &number), context.DeadlineExceeded), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "deadline", Class: "timeout"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rt.Classify(tt.err, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClassifyHTTPStatus(t *testing.T) {
	for code, want := range map[int]rt.Verdict{
		400: rt.VerdictPermanent, 401: rt.VerdictPermanent, 404: rt.VerdictPermanent, 422: rt.VerdictPermanent,
		408: rt.VerdictRetryable, 425: rt.VerdictRetryable, 429: rt.VerdictRetryable,
		500: rt.VerdictRetryable, 502: rt.VerdictRetryable, 503: rt.VerdictRetryable, 599: rt.VerdictRetryable,
	} {
		d := rt.Classify(fmt.Errorf("post: %w", &httpError{code: code}), nil)
		if rule := fmt.Sprintf("http-%d", code); d.Verdict != want || d.Rule != rule || d.Class != rule {
			t.Errorf("%d: %+v, want %s", code, d, want)
		}
	}
	for _, code := range []int{0, 200, 302, 600, -1} {
		if d := rt.Classify(&httpError{code: code}, nil); d.Rule != "unknown" || d.Verdict != rt.VerdictRetryable {
			t.Errorf("%d: %+v, want no opinion", code, d)
		}
	}
}

func TestClassifyHonoursRetryAfterOn429And503Only(t *testing.T) {
	for code, snooze := range map[int]bool{429: true, 503: true, 500: false, 408: false, 404: false} {
		d := rt.Classify(&httpError{code: code, wait: time.Minute}, nil)
		if got := d.Verdict == rt.VerdictSnooze; got != snooze || (snooze && d.RetryAfter != time.Minute) {
			t.Errorf("%d: %+v", code, d)
		}
	}
	if d := rt.Classify(&httpError{code: 429, wait: -time.Minute}, nil); d.Verdict != rt.VerdictRetryable || d.RetryAfter != 0 {
		t.Errorf("negative wait: %+v", d)
	}
}

func TestClassifySQLState(t *testing.T) {
	for code, want := range map[sqlError]rt.Decision{
		"40001": {Verdict: rt.VerdictRetryable, Rule: "sqlstate-40001", Class: "sqlstate-40001"},
		"40P01": {Verdict: rt.VerdictRetryable, Rule: "sqlstate-40P01", Class: "sqlstate-40P01"},
		"08006": {Verdict: rt.VerdictRetryable, Rule: "sqlstate-08xxx", Class: "sqlstate-08006"},
		"53300": {Verdict: rt.VerdictRetryable, Rule: "sqlstate-53xxx", Class: "sqlstate-53300"},
		"57P01": {Verdict: rt.VerdictRetryable, Rule: "sqlstate-57P0x", Class: "sqlstate-57P01"},
		"22P02": {Verdict: rt.VerdictPermanent, Rule: "sqlstate-22xxx", Class: "sqlstate-22P02"},
		"23505": {Verdict: rt.VerdictPermanent, Rule: "sqlstate-23xxx", Class: "sqlstate-23505"},
		"40002": {Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "retrytopics_test.sqlError"},
		"57014": {Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "retrytopics_test.sqlError"},
		"":      {Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "retrytopics_test.sqlError"},
		"23;--": {Verdict: rt.VerdictRetryable, Rule: "unknown", Class: "retrytopics_test.sqlError"},
	} {
		if diff := cmp.Diff(want, rt.Classify(fmt.Errorf("insert: %w", code), nil)); diff != "" {
			t.Errorf("%q: %s", string(code), diff)
		}
	}
}

func TestClassifyOutcomesComeFirst(t *testing.T) {
	deny := func(error) (rt.Verdict, bool) {
		t.Error("the classifier was asked about an outcome")
		return rt.VerdictOK, true
	}
	for _, tt := range []struct {
		name string
		err  error
		want rt.Decision
	}{
		{"permanent", rt.Permanent(context.DeadlineExceeded), rt.Decision{Verdict: rt.VerdictPermanent, Rule: "permanent-error", Class: "context.deadlineExceededError"}},
		{"retry after", rt.RetryAfter(io.EOF, time.Minute), rt.Decision{Verdict: rt.VerdictSnooze, Rule: "retry-after-error", Class: "*errors.errorString", RetryAfter: time.Minute}},
		{"retry after, negative", &rt.RetryAfterError{Err: io.EOF, Delay: -1}, rt.Decision{Verdict: rt.VerdictSnooze, Rule: "retry-after-error", Class: "*errors.errorString"}},
		{"retry after, no cause", rt.RetryAfter(nil, 0), rt.Decision{Verdict: rt.VerdictSnooze, Rule: "retry-after-error", Class: "*retrytopics.RetryAfterError"}},
		{"skip", rt.Skip("test order"), rt.Decision{Verdict: rt.VerdictSkip, Rule: "skip-error", Class: "*retrytopics.SkipError"}},
		{"uncertain", rt.Uncertain(io.EOF), rt.Decision{Verdict: rt.VerdictUncertain, Rule: "uncertain-error", Class: "*errors.errorString"}},
		{"the outermost wins", rt.RetryAfter(rt.Permanent(io.EOF), time.Second), rt.Decision{Verdict: rt.VerdictSnooze, Rule: "retry-after-error", Class: "*errors.errorString", RetryAfter: time.Second}},
		{"uncertain wins over all", rt.Permanent(rt.Uncertain(io.EOF)), rt.Decision{Verdict: rt.VerdictUncertain, Rule: "uncertain-error", Class: "*errors.errorString"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rt.Classify(fmt.Errorf("handle: %w", tt.err), deny)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClassifyAsksTheUserBeforeTheTable(t *testing.T) {
	fkMissing := sqlError("23503")
	say := func(v rt.Verdict, ok bool) rt.Classifier {
		return func(error) (rt.Verdict, bool) { return v, ok }
	}
	for _, tt := range []struct {
		name string
		err  error
		user rt.Classifier
		want rt.Decision
	}{
		{"decides", fkMissing, say(rt.VerdictRetryable, true), rt.Decision{Verdict: rt.VerdictRetryable, Rule: "classifier", Class: "retrytopics_test.sqlError"}},
		{"no opinion", fkMissing, say(rt.VerdictOK, false), rt.Decision{Verdict: rt.VerdictPermanent, Rule: "sqlstate-23xxx", Class: "sqlstate-23503"}},
		{"no such verdict", fkMissing, say(99, true), rt.Decision{Verdict: rt.VerdictPermanent, Rule: "sqlstate-23xxx", Class: "sqlstate-23503"}},
		{"snooze takes the error's wait", &httpError{code: 420, wait: time.Hour}, say(rt.VerdictSnooze, true), rt.Decision{Verdict: rt.VerdictSnooze, Rule: "classifier", Class: "*retrytopics_test.httpError", RetryAfter: time.Hour}},
		{"panics", fkMissing, func(error) (rt.Verdict, bool) { panic("bug") }, rt.Decision{Verdict: rt.VerdictRetryable, Rule: "classifier-panic", Class: "retrytopics_test.sqlError"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rt.Classify(tt.err, tt.user)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVerdictsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for v := rt.VerdictOK; v <= rt.VerdictUncertain+1; v++ {
		if seen[v.String()] {
			t.Errorf("two verdicts are called %q", v)
		}
		seen[v.String()] = true
	}
}

type namedError struct{ name string }

func (e namedError) Error() string      { return "failed" }
func (e namedError) ErrorClass() string { return e.name }

func TestClassOfAnErrorThatNamesItself(t *testing.T) {
	for name, want := range map[string]string{"bad_order": "bad_order", "": "retrytopics_test.namedError"} {
		d := rt.Classify(fmt.Errorf("book it: %w", namedError{name}), nil)
		if d.Class != want {
			t.Errorf("class of %q: %q, want %q", name, d.Class, want)
		}
	}
}
