package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/laneway-go/laneway/internal/config"
	"github.com/laneway-go/laneway/processor"
)

// patient is a worker in a fixed state.
type patient processor.Health

func (p patient) Health() processor.Health { return processor.Health(p) }
func (patient) Lanes() []processor.Lane    { return nil }

func TestHealthcheckPassesTheAnswerOn(t *testing.T) {
	seen, err := openLookout(t.Context(), config.Ops{Listen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	state := patient{Live: processor.Check{OK: true}, Ready: processor.Check{Reasons: []string{"has not joined", "drains"}}}
	address := seen.ops.Addr().String()
	err = seen.during(t.Context(), state, func(context.Context) error {
		for args, want := range map[string]result{
			"":                   {code: 0, stdout: "live\n"},
			"live":               {code: 0, stdout: "live\n"},
			"ready":              {code: 1, stderr: "processor: not ready: has not joined; drains\n"},
			"started":            {code: 1, stderr: "processor: not started: \n"},
			"ready --ops :0":     {code: 1},
			"--ops off":          {code: 1, stderr: "processor: the worker has no listener to ask: \"off\"\n"},
			"-c testdata/no.yml": {code: 0, stdout: "live\n"}, // --ops is enough
		} {
			got := invoke(t, append([]string{"healthcheck", "--ops", address}, strings.Fields(args)...)...)
			if got.code != want.code || got.stdout != want.stdout || want.stderr != "" && got.stderr != want.stderr {
				t.Errorf("healthcheck %s: %+v, want %+v", args, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := invoke(t, "healthcheck", "--ops", address); got.code != exitError || !strings.Contains(got.stderr, "ask the worker") {
		t.Errorf("nobody listens: %+v", got)
	}
}

func TestHealthcheckReadsTheAddressFromTheConfiguration(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:9999": "127.0.0.1:9999", "0.0.0.0:9999": "127.0.0.1:9999", "[::]:9999": "127.0.0.1:9999", "localhost:9999": "localhost:9999",
	} {
		env := &environment{file: "testdata/clean.yaml", overrides: []string{"ops.listen=" + listen, "ops.auth.viewer.token=t"}}
		h := healthcheckFlags{env: env}
		if got, err := h.address(); got != want || err != nil {
			t.Errorf("ops.listen %s: %q, %v, want %q", listen, got, err, want)
		}
	}
}

func TestALookoutThatIsOffServesAndMeasuresNothing(t *testing.T) {
	seen, err := openLookout(t.Context(), config.Ops{Listen: "off"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if seen.ops != nil || seen.Meters != nil {
		t.Errorf("lookout %+v", seen)
	}
	worked := false
	if err := seen.during(t.Context(), patient{}, func(context.Context) error { worked = true; return nil }); err != nil || !worked {
		t.Errorf("worked: %v, %v", worked, err)
	}
}

func TestALookoutServesMetrics(t *testing.T) {
	seen, err := openLookout(t.Context(), config.Ops{Listen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	resp := make(chan int, 1)
	err = seen.during(t.Context(), patient{}, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+seen.ops.Addr().String()+"/metrics", nil)
		if err != nil {
			return err
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		resp <- r.StatusCode
		return r.Body.Close()
	})
	if err != nil || <-resp != http.StatusOK {
		t.Errorf("metrics: %v", err)
	}
}

func TestAnAddressBeyondThisMachineIsRefused(t *testing.T) {
	_, err := openLookout(t.Context(), config.Ops{Listen: "0.0.0.0:0"}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "loopback") || !strings.Contains(err.Error(), "ops.listen") {
		t.Errorf("error %v", err)
	}
}
