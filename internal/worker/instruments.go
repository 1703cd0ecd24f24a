package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// meterName is the scope of the instruments.
const meterName = "github.com/laneway-go/laneway"

// instruments are what the worker measures with. Counters are fed from the lanes' own counts a few times a second, gauges when
// somebody reads them: a record on the plain path pays for none of them but, where a provider was given, the clock around its
// call.
type instruments struct {
	on    bool // a provider was given
	meter metric.Meter

	records    metric.Int64Counter
	scheduled  metric.Int64Counter
	dead       metric.Int64Counter
	dedupe     metric.Int64Counter
	timeouts   metric.Int64Counter
	panics     metric.Int64Counter
	rebalances metric.Int64Counter
	lateness   metric.Float64Histogram
	restore    metric.Float64Histogram
	duration   metric.Float64Histogram

	lag, waiting, inflight, stuck, lanes, buffer, pauses, build         metric.Int64ObservableGauge
	oldest, overdue, inflightAge, limit, commitAge, progress, heartbeat metric.Float64ObservableGauge

	classes classes
}

// newInstruments makes the instruments; with a nil provider they do nothing. Names and units are constants, so it only fails
// for a provider that refuses them: then there are no metrics, and the log says so.
func newInstruments(provider metric.MeterProvider, log *slog.Logger) *instruments {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	i, err := makeInstruments(provider.Meter(meterName))
	if err != nil {
		log.Error("instruments were refused, there are no metrics", slog.Any("error", err))
		i, _ = makeInstruments(noop.NewMeterProvider().Meter(meterName)) // never fails
		return i
	}
	_, isNoop := provider.(noop.MeterProvider)
	i.on = !isNoop
	return i
}

// makeInstruments is the list of them. Prometheus puts underscores for dots, and adds the unit and _total.
func makeInstruments(m metric.Meter) (*instruments, error) {
	k := maker{meter: m}
	i := &instruments{
		meter: m,

		records:    k.counter("laneway.records", "{record}", "Records that ended, by topic and outcome: done, dead, skipped, duplicate."),
		scheduled:  k.counter("laneway.retry.scheduled", "{record}", "Failed and put-off records that were written to a delay topic, by topic, tier and error_class."),
		dead:       k.counter("laneway.dead_letters", "{record}", "Records that were written to the dead letter topic, by topic, reason and error_class."),
		dedupe:     k.counter("laneway.dedupe", "{record}", "Records and copies that were recognized as finished or superseded, by topic and result: duplicate, ghost."),
		timeouts:   k.counter("laneway.handler.timeouts", "{call}", "Handler calls that reached their time limit, by topic."),
		panics:     k.counter("laneway.panics", "{call}", "Handler calls that panicked, by topic."),
		rebalances: k.counter("laneway.rebalances", "{rebalance}", "Generations of the consumer group that this process took part in."),

		lateness: k.histogram("laneway.retry.lateness", "Time between a retry's due time and its start, by topic.", .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300),
		restore:  k.histogram("laneway.lane.restore", "Time from a lane's assignment to its first start, by topic.", .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
		duration: k.histogram("messaging.process.duration", "Duration of processing operation.", .005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30, 60),

		lag:      k.gauge("laneway.lag.records", "{record}", "Records of the source that have not settled, by topic and partition. What waits in a delay topic is not among them."),
		waiting:  k.gauge("laneway.retry.waiting.records", "{record}", "Records in a delay topic that have not settled, by topic and tier."),
		inflight: k.gauge("laneway.inflight.records", "{record}", "Handler calls that run, by topic; those that were given up as stuck are not among them."),
		stuck:    k.gauge("laneway.handler.stuck", "{call}", "Handler calls that ignored their time limit and still run, by topic."),
		lanes:    k.gauge("laneway.lanes", "{lane}", "Partitions that this process owns, by state."),
		buffer:   k.gauge("laneway.buffer", "By", "Fetched records that wait for their turn in memory, decompressed, by topic."),
		pauses:   k.gauge("laneway.pauses", "{partition}", "Partitions that are not fetched at the moment, by topic and reason."),
		build:    k.gauge("laneway.build.info", "{build}", "Always 1; the version that runs is in the labels."),

		oldest:      k.age("laneway.oldest_unsettled.age", "Age of the oldest source record that has not settled, by topic and partition; 0 if there is none."),
		overdue:     k.age("laneway.retry.overdue", "How long the first waiting record of a delay topic is due without having been fetched, by topic and tier; 0 if none is."),
		inflightAge: k.age("laneway.inflight.oldest_age", "Age of the oldest handler call that runs, stuck ones included, by topic; 0 if none runs."),
		limit:       k.age("laneway.handler.timeout", "Time limit of one handler call, by topic."),
		commitAge:   k.age("laneway.commit.age", "How long finished work has waited for its commit, of the partition that waits longest; 0 if none does."),
		progress:    k.age("laneway.last_progress.timestamp", "Unix time at which a record last went on, by topic and partition."),
		heartbeat:   k.age("laneway.heartbeat.timestamp", "Unix time at which every loop of the process was last known to be well."),
	}
	return i, errors.Join(k.errs...)
}

// maker makes instruments and collects what goes wrong.
type maker struct {
	meter metric.Meter
	errs  []error
}

func (k *maker) counter(name, unit, text string) metric.Int64Counter {
	c, err := k.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	k.errs = append(k.errs, err)
	return c
}

func (k *maker) histogram(name, text string, bounds ...float64) metric.Float64Histogram {
	h, err := k.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(bounds...))
	k.errs = append(k.errs, err)
	return h
}

func (k *maker) gauge(name, unit, text string) metric.Int64ObservableGauge {
	g, err := k.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	k.errs = append(k.errs, err)
	return g
}

// age is a gauge in seconds.
func (k *maker) age(name, text string) metric.Float64ObservableGauge {
	g, err := k.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	k.errs = append(k.errs, err)
	return g
}

// classes bounds how many error classes become labels: they come from the users' errors.
type classes struct {
	mu    sync.Mutex
	known map[string]bool
}

const (
	maxClasses  = 100
	otherClass  = "_other"
	noClass     = "_none" // nothing was classified
	labelTopic  = "topic"
	labelClass  = "error_class"
	labelReason = "reason"
	labelTier   = "tier"
)

func (c *classes) label(class string) string {
	if class == "" {
		return noClass
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.known[class]:
	case len(c.known) == maxClasses:
		return otherClass
	case c.known == nil:
		c.known = map[string]bool{class: true}
	default:
		c.known[class] = true
	}
	return class
}

// topicMeter holds the labels of one topic's measurements, made once.
type topicMeter struct {
	*instruments
	topic attribute.KeyValue
	plain metric.MeasurementOption // no label but the topic

	asDone, asDead, asSkipped, asDuplicate metric.MeasurementOption
	resultDuplicate, resultGhost           metric.MeasurementOption
	callLate, callOK, callFailed           []metric.RecordOption // lists, or each call would make one
}

func (i *instruments) of(topic, group string) *topicMeter {
	name := attribute.String(labelTopic, topic)
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(more, name)...))
	}
	outcome := func(s string) metric.MeasurementOption { return with(attribute.String("outcome", s)) }
	result := func(s string) metric.MeasurementOption { return with(attribute.String("result", s)) }
	call := func(more ...attribute.KeyValue) []metric.RecordOption {
		return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(append(more, semconv.MessagingSystemKafka,
			semconv.MessagingOperationName("process"), semconv.MessagingDestinationName(topic), semconv.MessagingConsumerGroupName(group),
		)...))}
	}
	return &topicMeter{
		instruments: i, topic: name, plain: with(),
		asDone: outcome("done"), asDead: outcome("dead"), asSkipped: outcome("skipped"), asDuplicate: outcome("duplicate"),
		resultDuplicate: result("duplicate"), resultGhost: result("ghost"),
		callLate: []metric.RecordOption{with()}, callOK: call(), callFailed: call(semconv.ErrorTypeOther),
	}
}

// add counts what a lane has counted since before.
func (m *topicMeter) add(ctx context.Context, now, before Counts) {
	for _, c := range []struct {
		to metric.Int64Counter
		as metric.MeasurementOption
		n  int64
	}{
		{m.records, m.asDone, now.Done - before.Done},
		{m.records, m.asDead, now.Dead - before.Dead},
		{m.records, m.asSkipped, now.Skipped - before.Skipped},
		{m.records, m.asDuplicate, now.Duplicates - before.Duplicates},
		{m.dedupe, m.resultDuplicate, now.Duplicates - before.Duplicates},
		{m.dedupe, m.resultGhost, now.Ghosts - before.Ghosts},
	} {
		if c.n > 0 {
			c.to.Add(ctx, c.n, c.as)
		}
	}
}

// buildLabels say which version runs.
func buildLabels() metric.MeasurementOption {
	version, revision, tool := "unknown", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version, tool = moduleVersion(info), info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return metric.WithAttributes(
		attribute.String("version", version), attribute.String("revision", revision), attribute.String("go_version", tool))
}

// moduleVersion returns the version of this module in a program: its own, or that of a dependency.
func moduleVersion(info *debug.BuildInfo) string {
	for _, d := range info.Deps {
		if d.Path == meterName {
			return d.Version
		}
	}
	return info.Main.Version
}
