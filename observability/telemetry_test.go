package observability_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/metric"

	"github.com/laneway-go/laneway/observability"
)

// collector is an OTLP receiver that notes what it is asked.
type collector struct {
	mu    sync.Mutex
	paths []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths = append(c.paths, r.URL.Path)
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	return c
}

func (c *collector) got() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.paths)
	return slices.Compact(c.paths)
}

// useAll makes a measurement and a span, and ends the SDK.
func useAll(t *testing.T, tel *observability.Telemetry) {
	t.Helper()
	c, err := tel.Meters.Meter("test").Int64Counter("laneway.tested", metric.WithUnit("{record}"))
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 3)
	if tel.Tracers != nil {
		_, span := tel.Tracers.Tracer("test").Start(t.Context(), "process orders")
		span.End()
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestMetricsAreScrapedByPrometheusNames(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "billing-worker")
	tel, err := observability.New(t.Context(), observability.Config{Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := tel.Meters.Meter("test").Int64Counter("laneway.tested", metric.WithUnit("{record}"))
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 3)
	if tel.Tracers != nil {
		t.Error("there are traces, and nobody wants them")
	}
	page := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, want := range []string{"\nlaneway_tested_total 3\n", "\ngo_goroutines ", `service_name="billing-worker"`, `service_version="v1.2.3"`} {
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheStandardVariablesDecideWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{name: "an endpoint is enough", want: []string{"/v1/metrics", "/v1/traces"}},
		{name: "none switches a signal off", env: map[string]string{"OTEL_TRACES_EXPORTER": "none"}, want: []string{"/v1/metrics"}},
		{name: "another exporter, too", env: map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, want: []string{"/v1/traces"}},
		{name: "no SDK, nothing", env: map[string]string{"OTEL_SDK_DISABLED": "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := newCollector(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			tel, err := observability.New(t.Context(), observability.Config{})
			if err != nil {
				t.Fatal(err)
			}
			useAll(t, tel)
			if got := to.got(); !slices.Equal(got, c.want) {
				t.Errorf("sent to %v, want %v", got, c.want)
			}
		})
	}
}

func TestAProtocolThatIsNotSpokenIsRefused(t *testing.T) {
	newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := observability.New(t.Context(), observability.Config{}); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("error %v", err)
	}
}
