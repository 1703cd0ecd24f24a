package worker

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/metric/noop"
)

// register writes down which instruments are made, by the names that Prometheus shows.
type register struct {
	noop.Meter
	lines []string
}

func (r *register) add(kind, name, unit string, as otlptranslator.MetricType) {
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	shown, err := namer.Build(otlptranslator.Metric{Name: name, Unit: unit, Type: as})
	if err != nil {
		shown = err.Error()
	}
	r.lines = append(r.lines, fmt.Sprintf("%s %s %s %s", shown, kind, name, unit))
}

func (r *register) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	r.add("counter", name, metric.NewInt64CounterConfig(o...).Unit(), otlptranslator.MetricTypeMonotonicCounter)
	return noop.Int64Counter{}, nil
}

func (r *register) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	r.add("histogram", name, metric.NewFloat64HistogramConfig(o...).Unit(), otlptranslator.MetricTypeHistogram)
	return noop.Float64Histogram{}, nil
}

func (r *register) Int64ObservableGauge(name string, o ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	r.add("gauge", name, metric.NewInt64ObservableGaugeConfig(o...).Unit(), otlptranslator.MetricTypeGauge)
	return noop.Int64ObservableGauge{}, nil
}

func (r *register) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	r.add("gauge", name, metric.NewFloat64ObservableGaugeConfig(o...).Unit(), otlptranslator.MetricTypeGauge)
	return noop.Float64ObservableGauge{}, nil
}

// TestNamesOfMetricsStay compares the names with a golden file: dashboards and alerts of users depend on them.
func TestNamesOfMetricsStay(t *testing.T) {
	var r register
	if _, err := makeInstruments(&r); err != nil {
		t.Fatal(err)
	}
	slices.Sort(r.lines)
	got := strings.Join(r.lines, "\n") + "\n"
	const file = "testdata/metrics.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestErrorClassesAreCapped(t *testing.T) {
	var c classes
	for n := range maxClasses {
		if name := fmt.Sprint("class", n); c.label(name) != name {
			t.Fatalf("label(%q) = %q", name, c.label(name))
		}
	}
	for class, want := range map[string]string{"one too many": otherClass, "class0": "class0", "": noClass} {
		if got := c.label(class); got != want {
			t.Errorf("label(%q) = %q, want %q", class, got, want)
		}
	}
}

// refusing makes meters whose counters have errors.
type refusing struct{ embedded.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusal{} }

type refusal struct{ noop.Meter }

func (refusal) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errors.New("no")
}

func TestAProviderThatRefusesMeansNoMetrics(t *testing.T) {
	i := newInstruments(refusing{}, discard())
	if i.on {
		t.Error("instruments are on")
	}
	i.panics.Add(t.Context(), 1)
}
