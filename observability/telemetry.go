package observability

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Config names the process. What is sent by OTLP, where to, and how is said by the standard OTEL_* variables of the
// environment: nothing is unless OTEL_EXPORTER_OTLP_ENDPOINT (or its form for one signal) is set, or OTEL_METRICS_EXPORTER or
// OTEL_TRACES_EXPORTER names otlp; either of these switches its signal off with none. Only http/protobuf is spoken.
type Config struct {
	Service string       // service.name where OTEL_SERVICE_NAME does not say it; default "laneway"
	Version string       // service.version; default: not said
	Unread  bool         // nobody scrapes: there are metrics only if they are sent
	Logger  *slog.Logger // is told of exports that fail, of all SDKs in the process; default: none
}

// Telemetry is a running SDK. Its fields do not change.
type Telemetry struct {
	Meters  metric.MeterProvider // nil: nobody reads metrics
	Tracers trace.TracerProvider // nil: nobody wants traces
	Metrics http.Handler         // nil if [Config.Unread]; what Prometheus scrapes: all metrics of Meters, and those of the Go runtime

	ends []func(context.Context) error
}

// New starts the SDK. It connects to nothing yet. ctx is for the detection of resources alone.
func New(ctx context.Context, cfg Config) (*Telemetry, error) {
	if cfg.Logger != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			cfg.Logger.Warn("telemetry was not exported", slog.Any("error", err))
		}))
	}
	res, err := describe(ctx, cfg)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{}
	if err := errors.Join(t.measure(ctx, res, !cfg.Unread), t.trace(ctx, res)); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

// Shutdown exports what is left and ends the SDK. It blocks until that is done or ctx ends.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, end := range t.ends {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}

func describe(ctx context.Context, cfg Config) (*resource.Resource, error) {
	attrs := []resource.Option{
		resource.WithAttributes(semconv.ServiceName(cmp.Or(cfg.Service, "laneway"))),
		resource.WithTelemetrySDK(), resource.WithHost(),
	}
	if cfg.Version != "" {
		attrs = append(attrs, resource.WithAttributes(semconv.ServiceVersion(cfg.Version)))
	}
	res, err := resource.New(ctx, append(attrs, resource.WithFromEnv())...) // the environment has the last word
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("describe the process: %w", err)
	}
	return res, nil
}

// measure makes the meter provider with its readers, if it has any.
func (t *Telemetry) measure(ctx context.Context, res *resource.Resource, scraped bool) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(res)}
	if scraped {
		reader, err := t.scrape()
		if err != nil {
			return err
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	wanted, err := pushes("METRICS")
	if err != nil {
		return err
	}
	if wanted {
		pushed, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return fmt.Errorf("make the OTLP exporter of metrics: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(pushed)))
	}
	if scraped || wanted {
		provider := sdkmetric.NewMeterProvider(options...)
		t.ends = append(t.ends, provider.Shutdown)
		t.Meters = provider
	}
	return nil
}

// scrape makes the page for Prometheus, and what fills it.
func (t *Telemetry) scrape() (sdkmetric.Reader, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("make the Prometheus exporter: %w", err)
	}
	t.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}) // exemplars need OpenMetrics
	return reader, nil
}

// trace makes the tracer provider, if traces are wanted. Its sampler is that of OTEL_TRACES_SAMPLER.
func (t *Telemetry) trace(ctx context.Context, res *resource.Resource) error {
	wanted, err := pushes("TRACES")
	if !wanted || err != nil {
		return err
	}
	pushed, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("make the OTLP exporter of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(pushed))
	t.ends = append(t.ends, provider.Shutdown)
	t.Tracers = provider
	return nil
}

// pushes says whether a signal is to be sent by OTLP.
func pushes(signal string) (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	endpoint := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	wanted := endpoint != ""
	if named := os.Getenv("OTEL_" + signal + "_EXPORTER"); named != "" {
		wanted = slices.Contains(strings.Split(named, ","), "otlp")
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if wanted && protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q: want http/protobuf", protocol)
	}
	return wanted, nil
}
