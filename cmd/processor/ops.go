package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/laneway-go/laneway/internal/config"
	"github.com/laneway-go/laneway/observability"
)

// lookout is what others see of a running worker: its telemetry, and the listener for operators.
type lookout struct {
	*observability.Telemetry
	ops *observability.Ops // nil: off
	log *slog.Logger
}

// openLookout starts the telemetry and opens the listener, unless it is off.
func openLookout(ctx context.Context, ops config.Ops, log *slog.Logger) (*lookout, error) {
	off := ops.Listen == "off"
	info, _ := debug.ReadBuildInfo() // nil without module support
	telemetry, err := observability.New(ctx, observability.Config{Version: newBuild(info).Version, Unread: off, Logger: log})
	if err != nil {
		return nil, err
	}
	l := &lookout{Telemetry: telemetry, log: log}
	if off {
		return l, nil
	}
	l.ops, err = observability.Listen(observability.OpsConfig{Listen: ops.Listen, Metrics: telemetry.Metrics, PProf: ops.PProf, Logger: log})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (ops.listen is another address, or off)", err), telemetry.Shutdown(ctx))
	}
	log.Info("operators are served", slog.String("address", l.ops.Addr().String()))
	return l, nil
}

// flushTime bounds how long the last metrics and spans may take on their way.
const flushTime = 3 * time.Second

// during serves w while work runs, its drain included, and then ends. What fails of that is logged: it is no failure of the
// work.
func (l *lookout) during(ctx context.Context, w observability.Watched, work func(context.Context) error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served := make(chan error, 1)
	if l.ops == nil {
		served <- nil
	} else {
		go func() { served <- l.ops.Serve(serving, w) }()
	}
	err := work(ctx)
	stop()
	flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if failed := errors.Join(<-served, l.Shutdown(flushing)); failed != nil {
		l.log.Warn("telemetry did not end well", slog.Any("error", failed))
	}
	return err
}

// close ends a lookout that never got to serve.
func (l *lookout) close(ctx context.Context) {
	var err error
	if l.ops != nil {
		err = l.ops.Close()
	}
	if err = errors.Join(err, l.Shutdown(ctx)); err != nil {
		l.log.Warn("telemetry did not end well", slog.Any("error", err))
	}
}
