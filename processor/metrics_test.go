//go:build synctests

package processor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"        //nolint:depguard // reads what the library has measured
	"go.opentelemetry.io/otel/sdk/metric/metricdata" //nolint:depguard // as above

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
)

// meters read a provider's numbers by "name{label=value,…}".
type meters struct {
	*sdk.MeterProvider
	reader *sdk.ManualReader
}

func newMeters() meters {
	reader := sdk.NewManualReader()
	return meters{sdk.NewMeterProvider(sdk.WithReader(reader)), reader}
}

// read returns the numbers of the instruments with one of the prefixes; a histogram's is its count.
func (m meters) read(t *testing.T, prefixes ...string) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	put := func(name string, labels attribute.Set, v float64) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				out[name+"{"+labels.Encoded(attribute.DefaultEncoder())+"}"] = v
			}
		}
	}
	for _, scope := range all.ScopeMetrics {
		for _, k := range scope.Metrics {
			switch data := k.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					put(k.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					put(k.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					put(k.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					put(k.Name, p.Attributes, float64(p.Count))
				}
			default:
				t.Errorf("%s has data of type %T", k.Name, data)
			}
		}
	}
	return out
}

func (m meters) expect(t *testing.T, want map[string]float64, prefixes ...string) {
	t.Helper()
	if diff := cmp.Diff(want, m.read(t, prefixes...)); diff != "" {
		t.Errorf("%v (-want +got):\n%s", prefixes, diff)
	}
}

// settle lets virtual time pass in which the worker works.
func settle(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestMetricsSayWhatBecameOfEveryRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		m := newMeters()
		cfg := c.config(processor.Topic{Idempotency: processor.Idempotency{Key: dedupe.FromRecordKey()}})
		cfg.MeterProvider = m
		for _, key := range []string{"a", "b", "a", "fails twice", "is wrong", "panics once", "is not wanted"} {
			c.produce(t, &kgo.Record{Key: []byte(key)})
		}
		_, stop := run(t, cfg, func(_ context.Context, m *processor.Message) error {
			switch key := string(m.Key); {
			case key == "fails twice" && m.Attempt < 3:
				return errors.New("not yet")
			case key == "is wrong":
				return processor.Permanent(errors.New("wrong"))
			case key == "panics once" && m.Attempt == 1:
				panic("once")
			case key == "is not wanted":
				return processor.Skip("not wanted")
			}
			return nil
		})
		settle(2 * time.Second)
		m.expect(t, map[string]float64{
			"laneway.retry.waiting.records{tier=5s,topic=orders}":  2,
			"laneway.retry.waiting.records{tier=1m,topic=orders}":  0,
			"laneway.retry.waiting.records{tier=10m,topic=orders}": 0,
			"laneway.retry.overdue{tier=5s,topic=orders}":          0,
			"laneway.retry.overdue{tier=1m,topic=orders}":          0,
			"laneway.retry.overdue{tier=10m,topic=orders}":         0,
		}, "laneway.retry.waiting", "laneway.retry.overdue")

		settle(2 * time.Minute)
		m.expect(t, map[string]float64{
			"laneway.records{outcome=done,topic=orders}":      4,
			"laneway.records{outcome=dead,topic=orders}":      1,
			"laneway.records{outcome=skipped,topic=orders}":   1,
			"laneway.records{outcome=duplicate,topic=orders}": 1,
		}, "laneway.records")
		m.expect(t, map[string]float64{
			"laneway.retry.scheduled{error_class=*errors.errorString,tier=5s,topic=orders}":       1,
			"laneway.retry.scheduled{error_class=*errors.errorString,tier=1m,topic=orders}":       1,
			"laneway.retry.scheduled{error_class=panic,tier=5s,topic=orders}":                     1,
			"laneway.dead_letters{error_class=*errors.errorString,reason=permanent,topic=orders}": 1,
			"laneway.dedupe{result=duplicate,topic=orders}":                                       1,
			"laneway.panics{topic=orders}":                                                        1,
			"laneway.retry.lateness{topic=orders}":                                                3,
			"laneway.retry.waiting.records{tier=5s,topic=orders}":                                 0,
			"laneway.retry.waiting.records{tier=1m,topic=orders}":                                 0,
			"laneway.retry.waiting.records{tier=10m,topic=orders}":                                0,
			"laneway.lanes{state=running}":                                                        1,
			"laneway.lanes{state=scanning}":                                                       0,
			"laneway.lanes{state=taking}":                                                         0,
			"laneway.lanes{state=giving}":                                                         0,
			"laneway.lanes{state=leaving}":                                                        0,
			"laneway.lanes{state=waiting}":                                                        0,
			"laneway.lane.restore{topic=orders}":                                                  1,
			"laneway.rebalances{}":                                                                1,
			"laneway.commit.age{}":                                                                0,
			"laneway.lag.records{partition=0,topic=orders}":                                       0,
			"laneway.oldest_unsettled.age{partition=0,topic=orders}":                              0,
		}, "laneway.retry.scheduled", "laneway.retry.waiting", "laneway.dead_letters", "laneway.dedupe", "laneway.panics",
			"laneway.retry.lateness", "laneway.lane", "laneway.rebalances", "laneway.commit", "laneway.lag", "laneway.oldest_unsettled")
		const call = "messaging.consumer.group.name=billing,messaging.destination.name=orders,messaging.operation.name=process,messaging.system=kafka"
		m.expect(t, map[string]float64{
			"messaging.process.duration{" + call + "}":                   4,
			"messaging.process.duration{error.type=_OTHER," + call + "}": 4, // two of the first, the wrong one, the one not wanted
		}, "messaging")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		// Gauges end with the worker, counters stay.
		m.expect(t, map[string]float64{
			"laneway.records{outcome=done,topic=orders}":      4,
			"laneway.records{outcome=dead,topic=orders}":      1,
			"laneway.records{outcome=skipped,topic=orders}":   1,
			"laneway.records{outcome=duplicate,topic=orders}": 1,
		}, "laneway.records", "laneway.lag", "laneway.lanes", "laneway.heartbeat")
	})
}

func TestMetricsTellAnIdleLaneFromOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.close()
		m := newMeters()
		cfg := c.config(processor.Topic{Timeout: 20 * time.Minute})
		cfg.MeterProvider = m
		began := time.Now()
		for n := range 4 {
			c.produce(t, &kgo.Record{Partition: 0, Key: []byte("k"), Value: fmt.Append(nil, n), Timestamp: began.Add(-time.Minute)})
		}
		hang := make(chan struct{})
		_, stop := run(t, cfg, func(context.Context, *processor.Message) error { <-hang; return nil })
		settle(10 * time.Minute)
		lane := m.read(t, "laneway.lag", "laneway.oldest_unsettled")
		busy := laneOf(lane)
		want := map[string]float64{}
		for _, p := range []int{0, 1} {
			lag, age := 0.0, 0.0
			if p == busy {
				lag, age = 4, time.Since(began.Add(-time.Minute)).Seconds()
			}
			want[fmt.Sprintf("laneway.lag.records{partition=%d,topic=orders}", p)] = lag
			want[fmt.Sprintf("laneway.oldest_unsettled.age{partition=%d,topic=orders}", p)] = age
		}
		if diff := cmp.Diff(want, lane); diff != "" {
			t.Errorf("lag (-want +got):\n%s", diff)
		}
		calls := m.read(t, "laneway.inflight", "laneway.last_progress", "laneway.heartbeat")
		if n := calls["laneway.inflight.records{topic=orders}"]; n != 1 {
			t.Errorf("%v calls in flight, want 1", n)
		}
		if age := calls["laneway.inflight.oldest_age{topic=orders}"]; age < 590 || age > 600 {
			t.Errorf("oldest call is %v s old, want about 10 min", age)
		}
		now := float64(time.Now().Unix())
		progress := calls[fmt.Sprintf("laneway.last_progress.timestamp{partition=%d,topic=orders}", busy)]
		if since := now - progress; since < 590 || since > 600 {
			t.Errorf("last progress was %v s ago, want about 10 min", since)
		}
		if beat := calls["laneway.heartbeat.timestamp{}"]; now-beat > 1 {
			t.Errorf("heartbeat was %v s ago", now-beat)
		}
		close(hang)
		settle(10 * time.Second)
		for name, v := range m.read(t, "laneway.lag", "laneway.oldest_unsettled", "laneway.inflight") {
			if v != 0 {
				t.Errorf("%s = %v after everything settled", name, v)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// laneOf returns the partition that lags.
func laneOf(lag map[string]float64) int {
	if lag["laneway.lag.records{partition=1,topic=orders}"] > 0 {
		return 1
	}
	return 0
}

func TestMetricsOfALaneEndWhenItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.close()
		m := newMeters()
		cfg := c.config(processor.Topic{})
		cfg.MeterProvider = m
		nothing := func(context.Context, *processor.Message) error { return nil }
		_, stop := run(t, cfg, nothing)
		settle(10 * time.Second)
		if n := len(m.read(t, "laneway.lag")); n != 2 {
			t.Errorf("%d lanes have a lag, want 2", n)
		}
		_, stopOther := run(t, c.config(processor.Topic{}), nothing)
		settle(30 * time.Second)
		if got := m.read(t, "laneway.lag", "laneway.last_progress"); len(got) != 2 {
			t.Errorf("series of one lane: %v", got)
		}
		if n := m.read(t, "laneway.rebalances")["laneway.rebalances{}"]; n < 2 {
			t.Errorf("%v rebalances, want 2 or more", n)
		}
		if err := errors.Join(stop(), stopOther()); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestAStuckCallIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		m := newMeters()
		cfg := c.config(processor.Topic{Timeout: time.Second, Grace: time.Second})
		cfg.MeterProvider = m
		c.produce(t, &kgo.Record{Value: []byte("x")})
		hang := make(chan struct{})
		_, stop := run(t, cfg, func(_ context.Context, m *processor.Message) error {
			if m.Attempt == 1 {
				<-hang
			}
			return nil
		})
		settle(20 * time.Second)
		want := map[string]float64{
			"laneway.handler.stuck{topic=orders}": 1, "laneway.handler.timeouts{topic=orders}": 1, "laneway.handler.timeout{topic=orders}": 1,
		}
		m.expect(t, want, "laneway.handler")
		close(hang)
		settle(time.Second)
		want["laneway.handler.stuck{topic=orders}"] = 0
		m.expect(t, want, "laneway.handler")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestALagThatIsNotKnownIsNotZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		m := newMeters()
		cfg := c.config(processor.Topic{})
		cfg.MeterProvider = m
		_, stop := run(t, cfg, func(context.Context, *processor.Message) error { return nil })
		settle(10 * time.Second)
		zero := map[string]float64{"laneway.lag.records{partition=0,topic=orders}": 0}
		m.expect(t, zero, "laneway.lag")
		refuse := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, Topic: "orders", Count: -1})
		settle(2 * time.Minute)
		m.expect(t, map[string]float64{}, "laneway.lag")
		refuse.Remove()
		settle(10 * time.Second)
		m.expect(t, zero, "laneway.lag")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestARetryThatIsNotFetchedIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		m := newMeters()
		cfg := c.config(processor.Topic{})
		cfg.MeterProvider = m
		c.produce(t, &kgo.Record{Value: []byte("x")})
		refuse := c.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders.billing.retry-5s", Err: kerr.TopicAuthorizationFailed, Count: -1,
		})
		_, stop := run(t, cfg, func(_ context.Context, m *processor.Message) error {
			if m.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		settle(66 * time.Second) // due after 5 s to 6 s
		const series = "laneway.retry.overdue{tier=5s,topic=orders}"
		if overdue := m.read(t, "laneway.retry.overdue")[series]; overdue < 58 || overdue > 62 {
			t.Errorf("overdue for %v s, want about a minute", overdue)
		}
		refuse.Remove()
		settle(10 * time.Second)
		if overdue := m.read(t, "laneway.retry.overdue")[series]; overdue != 0 {
			t.Errorf("overdue for %v s after it was fetched", overdue)
		}
		m.expect(t, map[string]float64{"laneway.records{outcome=done,topic=orders}": 1}, "laneway.records")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
