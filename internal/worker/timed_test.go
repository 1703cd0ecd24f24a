package worker

import (
	"context"
	"errors"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// TestAMeasuredCallAllocatesNothing: with a provider every handler call is measured.
func TestAMeasuredCallAllocatesNothing(t *testing.T) {
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader()))
	w := New(Config{Group: "billing", Logger: discard(), MeterProvider: provider})
	failed := errors.New("no")
	var result error
	n := &topic{meter: w.instruments.of("orders", "billing"), Topic: Topic{Handle: func(context.Context, *any, *Delivery) error { return result }}}
	if !n.meter.on {
		t.Fatal("a provider was given, and nothing is measured")
	}
	for _, result = range []error{nil, failed} {
		got := testing.AllocsPerRun(1000, func() {
			if err := n.timed(t.Context(), nil, nil, 1); !errors.Is(err, result) {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("a call that returns %v costs %v allocations", result, got)
		}
	}
}
