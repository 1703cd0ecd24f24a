package httphandler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

const (
	// idleTimeout ends connections that are not used before the endpoint does: Node.js and uvicorn hang up after 5 s, and a
	// request that crosses the hang-up on its way fails.
	idleTimeout = 4 * time.Second

	// maxAnswer and maxDrain bound, in bytes and in time, how much of an answer is read for the sake of its connection. With
	// more to come a new connection is cheaper.
	maxAnswer = 64 << 10
	maxDrain  = time.Second

	maxAnswerHeader = 64 << 10 // bytes
)

// errTimeout is the cause of a request's end after [Config.Timeout].
var errTimeout = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)

// Handler posts records to an endpoint. Make one with [New].
type Handler struct {
	cfg       Config
	endpoint  string // the URL for messages, without its secrets
	forward   map[string]bool
	signer    signer
	transport *http.Transport
	client    *http.Client
	now       func() time.Time
}

var _ processor.Handler = (*Handler)(nil)

// New checks the configuration; its error names every field that is wrong. It does not look whether the endpoint is there.
func New(cfg Config) (*Handler, error) {
	cfg = cfg.withDefaults()
	signer, err := newSigner(cfg.SigningSecrets)
	if err := errors.Join(cfg.validate(), err); err != nil {
		return nil, fmt.Errorf("http handler: %w", err)
	}
	h := &Handler{
		cfg:       cfg,
		endpoint:  withoutSecrets(cfg.URL),
		forward:   make(map[string]bool, len(cfg.ForwardHeaders)),
		signer:    signer,
		transport: newTransport(cfg),
		now:       time.Now,
	}
	for _, name := range cfg.ForwardHeaders {
		h.forward[strings.ToLower(name)] = true
	}
	h.client = &http.Client{
		Transport:     h.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, nil
}

func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        cfg.TLS,
		TLSHandshakeTimeout:    cfg.ConnectTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           cfg.Concurrency,
		MaxIdleConnsPerHost:    cfg.Concurrency,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true, // a small answer must not become a large one
	}
}

// withoutSecrets keeps what names the endpoint: user, password and query may be secret.
func withoutSecrets(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Close ends the connections that wait for the next request. It is for the time after the processor's Run has returned, and
// returns nil.
func (h *Handler) Close() error {
	h.transport.CloseIdleConnections()
	return nil
}

// Handle posts the record and returns what the answer means: see the package's description. It blocks until there is an
// answer, for [Config.Timeout] at most.
//
// Its errors are [*StatusError] for an answer, and those of net and net/http where there was none.
func (h *Handler) Handle(ctx context.Context, m *processor.Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.cfg.Timeout, errTimeout)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The first header goes into the buffer before the buffer goes out, in HTTP/1 and in HTTP/2; WroteHeaders comes
		// behind that in HTTP/2.
		WroteHeaderField: func(string, []string) { sent.Store(true) },
	})
	r, err := h.request(ctx, m)
	if err != nil {
		return err
	}
	resp, err := h.client.Do(r) //nolint:bodyclose // outcome does
	if err != nil {
		err = h.explain(ctx, err)
		if sent.Load() {
			return retrytopics.Uncertain(err)
		}
		return err
	}
	return h.outcome(resp, cancel)
}

// explain replaces the URL in an error of the client, and adds the cause where a context has ended.
func (h *Handler) explain(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("post to %s: %w: %w", h.endpoint, cause, err)
	}
	return fmt.Errorf("post to %s: %w", h.endpoint, err)
}

// outcome reads and closes the answer. hangUp ends the reading when it takes too long; it changes nothing about the outcome,
// which the status has told.
func (h *Handler) outcome(resp *http.Response, hangUp func()) error {
	timer := time.AfterFunc(maxDrain, hangUp)
	defer timer.Stop()
	defer func() { _ = resp.Body.Close() }()
	// Where it does not come whole, what came is all that there is to say.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	e := &StatusError{Code: resp.StatusCode, Body: errorText(body)}
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.retryAfter = parseRetryAfter(resp.Header.Get("Retry-After"), h.now())
	}
	if e.Code >= 300 && e.Code < 400 {
		e.Location = resp.Header.Get("Location")
	}
	return classify(e)
}

// classify adds what the status alone does not tell. The built-in rules know all 4xx and 5xx by their status, and a user's
// classifier is asked before them. What a 4xx, 429 and 503 refuse has not been done; after any other failure it may have been
// (R42), and of that a status is no proof.
func classify(e *StatusError) error {
	switch {
	case e.Code == http.StatusServiceUnavailable:
		return e
	case e.Code == http.StatusRequestTimeout, e.Code == http.StatusTooEarly, e.Code >= 500 && e.Code < 600:
		return retrytopics.Uncertain(e)
	case e.Code >= 400 && e.Code < 500:
		return e
	}
	return retrytopics.Permanent(e) // a redirect, or no status that HTTP knows
}
