package observability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/laneway-go/laneway/processor"
)

// OpsConfig describes a listener for operators and orchestrators.
type OpsConfig struct {
	Listen  string       // host:port; a loopback address, since whoever reaches the listener may use it
	Metrics http.Handler // of /metrics; nil: there is no such page
	PProf   bool         // serve profiles at /debug/pprof/
	Logger  *slog.Logger // default: none
}

// Watched is what the listener tells of: a [processor.Processor].
type Watched interface {
	Health() processor.Health
	Lanes() []processor.Lane
}

// ErrNotLoopback says that the listener was to be reached from other machines.
var ErrNotLoopback = errors.New("want a loopback address, such as 127.0.0.1:9464: the listener has no authentication")

// Ops is an open listener.
//
// It serves /metrics for Prometheus; /livez, /readyz and /startupz, with status 200 or 503 and the reasons as a
// [processor.Check] in JSON; /lanes, the list of [processor.Lane] in JSON; and profiles if they are switched on. All of it
// is for reading. No page shows keys or payloads.
type Ops struct {
	cfg      OpsConfig
	listener net.Listener
}

// Listen opens the listener. Nothing is served before [Ops.Serve]; what comes earlier waits.
func Listen(cfg OpsConfig) (*Ops, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if !isLoopback(cfg.Listen) {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Listen, ErrNotLoopback)
	}
	l, err := net.Listen("tcp", cfg.Listen) //nolint:noctx // it takes no time
	if err != nil {
		return nil, fmt.Errorf("listen for operators: %w", err)
	}
	return &Ops{cfg: cfg, listener: l}, nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Addr returns the address that the listener has.
func (o *Ops) Addr() net.Addr { return o.listener.Addr() }

// Close closes a listener that is not served.
func (o *Ops) Close() error {
	if err := o.listener.Close(); err != nil {
		return fmt.Errorf("close the listener: %w", err)
	}
	return nil
}

const (
	headerTimeout = 5 * time.Second
	closeTimeout  = 2 * time.Second // for requests that are under way at the end
)

// Serve answers requests about w until ctx ends; then it closes the listener. It returns nil then, and else why it could not
// go on.
func (o *Ops) Serve(ctx context.Context, w Watched) error {
	server := &http.Server{
		Handler: o.handler(w), ReadHeaderTimeout: headerTimeout,
		ErrorLog: slog.NewLogLogger(o.cfg.Logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(o.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve operators: %w", err)
	case <-ctx.Done():
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer stop()
	if server.Shutdown(closing) != nil {
		_ = server.Close() // a profile may take longer than anybody waits
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve operators: %w", err)
	}
	return nil
}

func (o *Ops) handler(w Watched) http.Handler {
	mux := http.NewServeMux()
	check := func(of func(processor.Health) processor.Check) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			c := of(w.Health())
			status := http.StatusOK
			if !c.OK {
				status = http.StatusServiceUnavailable
			}
			answer(rw, status, c)
		}
	}
	mux.HandleFunc("GET /livez", check(func(h processor.Health) processor.Check { return h.Live }))
	mux.HandleFunc("GET /readyz", check(func(h processor.Health) processor.Check { return h.Ready }))
	mux.HandleFunc("GET /startupz", check(func(h processor.Health) processor.Check { return h.Started }))
	mux.HandleFunc("GET /lanes", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, http.StatusOK, sortedLanes(w)) })
	if o.cfg.Metrics != nil {
		mux.Handle("GET /metrics", o.cfg.Metrics)
	}
	if o.cfg.PProf {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func sortedLanes(w Watched) []processor.Lane {
	lanes := append([]processor.Lane{}, w.Lanes()...)
	slices.SortFunc(lanes, func(a, b processor.Lane) int {
		if a.Topic != b.Topic {
			return strings.Compare(a.Topic, b.Topic)
		}
		return int(a.Partition - b.Partition)
	})
	return lanes
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // it fails only if nobody reads on
}
