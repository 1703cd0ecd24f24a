package observability_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/laneway-go/laneway/observability"
	"github.com/laneway-go/laneway/processor"
)

// fixed is a processor in a fixed state.
type fixed struct {
	health processor.Health
	lanes  []processor.Lane
}

func (f fixed) Health() processor.Health { return f.health }
func (f fixed) Lanes() []processor.Lane  { return f.lanes }

// serve opens a listener and returns its base address.
func serve(t *testing.T, cfg observability.OpsConfig, w observability.Watched) string {
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	ops, err := observability.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ops.Serve(ctx, w) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + ops.Addr().String()
}

func request(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestEachProbeHasItsOwnAnswer(t *testing.T) {
	base := serve(t, observability.OpsConfig{}, fixed{health: processor.Health{
		Live: processor.Check{OK: true}, Ready: processor.Check{Reasons: []string{"lane orders/3 is not restored: scanning"}}, Started: processor.Check{},
	}})
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/livez":        {200, `{"ok":true}`},
		"/readyz":       {503, `{"ok":false,"reasons":["lane orders/3 is not restored: scanning"]}`},
		"/startupz":     {503, `{"ok":false}`},
		"/metrics":      {404, "404 page not found"},
		"/debug/pprof/": {404, "404 page not found"},
	} {
		if status, body := request(t, http.MethodGet, base+path); status != want.status || strings.TrimSpace(body) != want.body {
			t.Errorf("%s: %d %q, want %d %q", path, status, body, want.status, want.body)
		}
	}
	if status, _ := request(t, http.MethodPost, base+"/livez"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", status)
	}
}

func TestPagesOfTheListener(t *testing.T) {
	lanes := []processor.Lane{
		{Topic: "orders", Partition: 7, Phase: "running", Waiting: map[string]int{}},
		{Topic: "orders", Partition: 2, Phase: "taking", Tiers: []processor.Tier{{Delay: "5s", Waiting: 4}}},
		{Topic: "invoices", Partition: 9, Phase: "running"},
	}
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "laneway_up 1\n") })
	base := serve(t, observability.OpsConfig{Metrics: metrics, PProf: true}, fixed{lanes: lanes})
	if status, body := request(t, http.MethodGet, base+"/metrics"); status != http.StatusOK || body != "laneway_up 1\n" {
		t.Errorf("metrics: %d %q", status, body)
	}
	if status, body := request(t, http.MethodGet, base+"/debug/pprof/goroutine?debug=1"); status != http.StatusOK || !strings.Contains(body, "goroutine profile") {
		t.Errorf("profile: status %d", status)
	}
	_, body := request(t, http.MethodGet, base+"/lanes")
	var got []processor.Lane
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := []processor.Lane{lanes[2], lanes[1], lanes[0]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func TestNoLanesAreAnEmptyList(t *testing.T) {
	base := serve(t, observability.OpsConfig{}, fixed{})
	if _, body := request(t, http.MethodGet, base+"/lanes"); strings.TrimSpace(body) != "[]" {
		t.Errorf("lanes: %s", body)
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:80", "nonsense"} {
		if ops, err := observability.Listen(observability.OpsConfig{Listen: address}); !errors.Is(err, observability.ErrNotLoopback) {
			t.Errorf("%s: %v", address, err)
			if ops != nil {
				_ = ops.Close()
			}
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		ops, err := observability.Listen(observability.OpsConfig{Listen: address})
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		if err := ops.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNobodyReadsNothingIsMeasured(t *testing.T) {
	tel, err := observability.New(t.Context(), observability.Config{Unread: true})
	if err != nil || tel.Meters != nil || tel.Metrics != nil {
		t.Errorf("telemetry %+v, error %v", tel, err)
	}
}
