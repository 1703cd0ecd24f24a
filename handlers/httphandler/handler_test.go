package httphandler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

func TestTheStatusIsTheOutcome(t *testing.T) {
	const (
		ok        = retrytopics.VerdictOK
		retryable = retrytopics.VerdictRetryable
		permanent = retrytopics.VerdictPermanent
		uncertain = retrytopics.VerdictUncertain
	)
	var status int
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, nil)
	for code, want := range map[int]retrytopics.Verdict{
		200: ok, 201: ok, 202: ok, 204: ok, 299: ok,
		300: permanent, 301: permanent, 304: permanent, 307: permanent,
		400: permanent, 401: permanent, 404: permanent, 409: permanent, 422: permanent, 499: permanent,
		408: uncertain, 425: uncertain,
		429: retryable, 503: retryable,
		500: uncertain, 501: uncertain, 502: uncertain, 504: uncertain, 599: uncertain,
		600: permanent, 999: permanent,
	} {
		status = code
		err := h.Handle(t.Context(), message("v"))
		if got := verdict(err); got != want {
			t.Errorf("status %d: %v (%v), want %v", code, got, err, want)
		}
		if err != nil {
			wantStatus(t, err, code)
		}
	}
}

func TestAUsersClassifierMayCureARefusal(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, nil)
	err := h.Handle(t.Context(), message("v"))
	d := retrytopics.Classify(err, func(error) (retrytopics.Verdict, bool) { return retrytopics.VerdictRetryable, true })
	if d.Verdict != retrytopics.VerdictRetryable {
		t.Errorf("verdict %v, want the classifier's", d.Verdict)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var calls atomic.Int32
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}, nil)
	err := h.Handle(t.Context(), message("v"))
	e := wantStatus(t, err, 307)
	if calls.Load() != 1 || !strings.Contains(e.Error(), "redirects are not followed (to /elsewhere)") {
		t.Errorf("%d requests, error %q", calls.Load(), e)
	}
}

func TestRetryAfterIsHonouredOn429And503Alone(t *testing.T) {
	var status int
	var value string
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", value)
		w.WriteHeader(status)
	}, nil)
	for _, test := range []struct {
		status int
		value  string
		want   time.Duration
	}{
		{429, "120", 2 * time.Minute},
		{503, " 5 ", 5 * time.Second},
		{503, "Fri, 02 Jan 2026 15:14:05 GMT", 10 * time.Minute},
		{503, "Friday, 02-Jan-26 15:14:05 GMT", 10 * time.Minute},
		{503, "Fri, 02 Jan 2026 15:04:04 GMT", 0}, // a second ago
		{429, "", 0},
		{429, "0", 0},
		{429, "-1", 0},
		{429, "1.5", 0},
		{429, "soon", 0},
		{429, "604801", 0},
		{429, "99999999999999999999", 0},
		{500, "120", 0},
		{400, "120", 0},
	} {
		status, value = test.status, test.value
		err := h.Handle(t.Context(), message("v"))
		d := retrytopics.Classify(err, nil)
		if got := wantStatus(t, err, status).RetryAfter(); got != test.want || d.RetryAfter != test.want ||
			(d.Verdict == retrytopics.VerdictSnooze) != (test.want > 0) {
			t.Errorf("status %d, Retry-After %q: %v, decision %+v, want %v", status, value, got, d, test.want)
		}
	}
}

func TestTheErrorSaysWhatTheAnswerSays(t *testing.T) {
	var body string
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, body)
	}, nil)
	long := strings.Repeat("é", 1000)
	for answer, want := range map[string]string{
		"amount:\n\t negative ":   "endpoint answered 422 Unprocessable Entity: amount: negative",
		"":                        "endpoint answered 422 Unprocessable Entity",
		"binary \xff\xfe":         "endpoint answered 422 Unprocessable Entity",
		long:                      "endpoint answered 422 Unprocessable Entity: " + long[:maxErrorText],
		"x" + long:                "endpoint answered 422 Unprocessable Entity: x" + long[:maxErrorText-2],
		"x" + long[:maxErrorText]: "endpoint answered 422 Unprocessable Entity: x" + long[:maxErrorText-2],
	} {
		body = answer
		if got := h.Handle(t.Context(), message("v")).Error(); got != want {
			t.Errorf("error %q, want %q", got, want)
		}
	}
}

func TestNobodyListeningIsRetryableForCertain(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	h := newHandler(t, "http://user:hidden@"+l.Addr().String()+"/path?token=hidden", nil)
	err = h.Handle(t.Context(), message("v"))
	if !errors.Is(err, syscall.ECONNREFUSED) || verdict(err) != retrytopics.VerdictRetryable {
		t.Errorf("Handle = %v, want refused and retryable", err)
	}
	if s := fmt.Sprint(err); strings.Contains(s, "hidden") || !strings.Contains(s, l.Addr().String()+"/path") {
		t.Errorf("error %q, want the endpoint without its secrets", s)
	}
}

func TestAConnectionThatBreaksAfterTheRequestIsUncertainAndNotTriedAgain(t *testing.T) {
	var requests atomic.Int32
	h := serveTCP(t, func(n int, conn net.Conn) {
		defer conn.Close()
		r := bufio.NewReader(conn)
		for i := 0; readRequest(r) == nil; i++ {
			requests.Add(1)
			if i > 0 || n > 0 { // the second request on the kept connection, where net/http would like to repeat it
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	if err := h.Handle(t.Context(), message("v")); err != nil {
		t.Fatal(err)
	}
	if err := h.Handle(t.Context(), message("v")); verdict(err) != retrytopics.VerdictUncertain {
		t.Errorf("Handle = %v, want uncertain", err)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests for two attempts", n)
	}
}

func TestAHalfClosedOrSenselessAnswerIsUncertain(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":      "",
		"half a line":  "HTTP/1.1 20",
		"half a head":  "HTTP/1.1 200 OK\r\nContent-Le",
		"no HTTP":      "SSH-2.0-OpenSSH\r\n",
		"endless head": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxAnswerHeader) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := serveTCP(t, func(_ int, conn net.Conn) {
				defer conn.Close()
				_ = readRequest(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, answer)
				_ = conn.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, conn) // half closed, until the handler gives up
			})
			if err := h.Handle(t.Context(), message("v")); verdict(err) != retrytopics.VerdictUncertain {
				t.Errorf("Handle = %v, want uncertain", err)
			}
		})
	}
}

func TestASuccessStaysOneWhenItsBodyBreaksOff(t *testing.T) {
	h := serveTCP(t, func(_ int, conn net.Conn) {
		defer conn.Close()
		_ = readRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	})
	if err := h.Handle(t.Context(), message("v")); err != nil {
		t.Errorf("Handle = %v, want success, as the status says", err)
	}
}

func TestABodyThatNeverEndsHoldsUpNobody(t *testing.T) {
	gone := make(chan struct{})
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the handler hangs up
	}, nil)
	if err := h.Handle(t.Context(), message("v")); err != nil {
		t.Errorf("Handle = %v, want success, as the status says", err)
	}
	<-gone
}

func TestAHugeAnswerIsNotReadToItsEnd(t *testing.T) {
	hungUp := make(chan struct{})
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(hungUp)
		w.WriteHeader(http.StatusBadRequest)
		for {
			if _, err := io.WriteString(w, strings.Repeat("a", 1024)); err != nil {
				return
			}
		}
	}, nil)
	e := wantStatus(t, h.Handle(t.Context(), message("v")), http.StatusBadRequest)
	if e.Body != strings.Repeat("a", maxErrorText) {
		t.Errorf("the error keeps %d bytes, want %d", len(e.Body), maxErrorText)
	}
	<-hungUp
}

func TestAnAnswerIsWaitedForUntilTheTimeoutOnly(t *testing.T) {
	var arrived atomic.Bool
	release := make(chan struct{})
	h := serve(t, func(http.ResponseWriter, *http.Request) { arrived.Store(true); <-release }, func(c *Config) {
		c.Timeout = 50 * time.Millisecond
	})
	defer close(release)
	err := h.Handle(t.Context(), message("v"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("Handle = %v, want a timeout", err)
	}
	if arrived.Load() && verdict(err) != retrytopics.VerdictUncertain { // a slow machine may not get as far
		t.Errorf("Handle = %v, want it uncertain", err)
	}
}

func TestTheCauseOfTheCallersContextIsTold(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	h := serve(t, func(http.ResponseWriter, *http.Request) { close(arrived); <-release }, nil)
	defer close(release)
	ctx, cancel := context.WithCancelCause(t.Context())
	lost := errors.New("lane was given up")
	go func() { <-arrived; cancel(lost) }()
	if err := h.Handle(ctx, message("v")); !errors.Is(err, lost) || verdict(err) != retrytopics.VerdictUncertain {
		t.Errorf("Handle = %v, want the uncertain cause", err)
	}
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	h := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Handle(ctx, message("v")); !errors.Is(err, context.Canceled) || verdict(err) == retrytopics.VerdictUncertain {
		t.Errorf("Handle = %v, want a certain error", err)
	}
}

func TestConnectionsAreKeptForAsManyRecordsAsAreWorkedOnAtOnce(t *testing.T) {
	const parallel, rounds = 8, 5
	var conns sync.Map
	var arrived sync.WaitGroup
	h := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		conns.Store(r.RemoteAddr, true)
		arrived.Done()
		arrived.Wait() // all at once
	}, func(c *Config) { c.Concurrency = parallel })
	for range rounds {
		arrived.Add(parallel)
		var calls sync.WaitGroup
		for range parallel {
			calls.Go(func() {
				if err := h.Handle(t.Context(), message("v")); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	// net/http dials while it waits for a connection, so that a few more may be opened than are needed.
	if n > 2*parallel {
		t.Errorf("%d connections for %d rounds of %d, want them kept", n, rounds, parallel)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "-1", "Fri, 02 Jan 2026 15:14:05 GMT", "99999999999", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d := parseRetryAfter(s, now()); d < 0 || d > maxRetryAfter {
			t.Errorf("parseRetryAfter(%q) = %v", s, d)
		}
	})
}
