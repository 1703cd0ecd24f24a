// Package observability wires a process that runs a [processor.Processor] to the world that watches it: an OpenTelemetry SDK
// whose metrics Prometheus can scrape and OTLP can push, traces by OTLP, and a listener with metrics, health and profiles.
//
//	t, err := observability.New(ctx, observability.Config{Logger: log})
//	cfg.MeterProvider, cfg.TracerProvider = t.Meters, t.Tracers
//	p, err := processor.New(cfg, handler)
//	ops, err := observability.Listen(observability.OpsConfig{Listen: "127.0.0.1:9464", Metrics: t.Metrics})
//	go ops.Serve(ctx, p)
//	err = p.Run(ctx)
//	err = errors.Join(err, t.Shutdown(context.Background()))
//
// The processor itself knows nothing of this package: a program that has providers of its own hands those to the processor.
package observability
