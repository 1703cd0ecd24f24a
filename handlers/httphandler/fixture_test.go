package httphandler

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// now is the handler's clock in tests.
func now() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }

func newHandler(t *testing.T, url string, change func(*Config)) *Handler {
	t.Helper()
	cfg := Config{URL: url}
	if change != nil {
		change(&cfg)
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.now = now
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// serve starts an endpoint and returns a handler that posts to it.
func serve(t *testing.T, endpoint http.HandlerFunc, change func(*Config)) *Handler {
	t.Helper()
	s := httptest.NewServer(endpoint)
	t.Cleanup(s.Close)
	return newHandler(t, s.URL+"/orders?token=hidden", change)
}

// serveTCP starts an endpoint that talks for itself. talk gets each connection with the number of those before it.
func serveTCP(t *testing.T, talk func(n int, conn net.Conn)) *Handler {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			talk(n, conn)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return newHandler(t, "http://"+l.Addr().String(), nil)
}

// readRequest reads a whole request from the connection.
func readRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	buf := make([]byte, 1024)
	for {
		if _, err := req.Body.Read(buf); err != nil {
			return nil //nolint:nilerr // it has been read to its end
		}
	}
}

func message(value string) *processor.Message {
	return &processor.Message{
		Topic: "orders", Partition: 3, Offset: 1042, Key: []byte("k 1"), Value: []byte(value), Attempt: 2, Fence: 17,
		Origin: origin.Origin{Topic: "orders", Partition: 3, Offset: 1042, LeaderEpoch: 4},
	}
}

func verdict(err error) retrytopics.Verdict { return retrytopics.Classify(err, nil).Verdict }

func wantStatus(t *testing.T, err error, code int) *StatusError {
	t.Helper()
	e, ok := errors.AsType[*StatusError](err)
	if !ok || e.StatusCode() != code {
		t.Fatalf("Handle = %v, want status %d", err, code)
	}
	return e
}
