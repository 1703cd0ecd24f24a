package worker

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/laneway-go/laneway/internal/lane"
)

// observe makes the gauges answer whenever they are read, until stop is called. What it reports is what the lanes publish; a
// lane that is given up vanishes with its series.
func (w *Worker) observe() (stop func()) {
	i := w.instruments
	if !i.on {
		return func() {}
	}
	labels := buildLabels()
	r, err := i.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(i.build, 1, labels)
		w.observeAll(o, time.Now())
		return nil
	}, i.lag, i.waiting, i.inflight, i.stuck, i.lanes, i.buffer, i.pauses, i.build,
		i.oldest, i.overdue, i.inflightAge, i.limit, i.commitAge, i.progress, i.heartbeat)
	if err != nil {
		w.cfg.Logger.Error("gauges were refused", slog.Any("error", err))
		return func() {}
	}
	return func() { _ = r.Unregister() } // it never fails for a callback that is registered
}

func (w *Worker) observeAll(o metric.Observer, now time.Time) {
	i := w.instruments
	s := sums{
		tiers: map[[2]string]tierSum{}, pauses: map[[2]string]int64{}, buffers: map[string]int64{}, states: map[string]int64{},
	}
	for _, p := range []lane.Phase{lane.Scanning, lane.Taking, lane.Running, lane.Giving, lane.Leaving} {
		s.states[p.String()] = 0
	}
	statuses, bare := w.lanes.published()
	s.states[stateWaiting] = int64(bare)
	for _, l := range statuses {
		s.add(l, now)
		w.observeLane(o, l, now)
	}
	for name, t := range w.topics {
		t.observeCalls(o)
		o.ObserveInt64(i.buffer, s.buffers[name], t.meter.plain)
	}
	for k, n := range s.pauses {
		o.ObserveInt64(i.pauses, n, metric.WithAttributes(attribute.String(labelTopic, k[0]), attribute.String(labelReason, k[1])))
	}
	for k, t := range s.tiers {
		labels := metric.WithAttributes(attribute.String(labelTopic, k[0]), attribute.String(labelTier, k[1]))
		o.ObserveInt64(i.waiting, t.waiting, labels)
		o.ObserveFloat64(i.overdue, t.overdue.Seconds(), labels)
	}
	for state, n := range s.states {
		o.ObserveInt64(i.lanes, n, metric.WithAttributes(attribute.String("state", state)))
	}
	o.ObserveFloat64(i.commitAge, s.uncommitted.Seconds())
	o.ObserveFloat64(i.heartbeat, unixSeconds(w.heartbeat(now)))
}

// stateWaiting is the state of a partition that is assigned to us and that nobody works on: its last tenure ended, and the
// next one has not begun.
const stateWaiting = "waiting"

// published returns the status of every lane, and how many partitions have none to show.
func (l *lanes) published() (statuses []*Status, bare int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.view {
		if t == nil {
			bare++
			continue
		}
		s := t.status.Load()
		if s == nil {
			s = &Status{Topic: t.topic.Names.Source(), Partition: t.partition}
		}
		statuses = append(statuses, s)
	}
	return statuses, bare
}

// sums are gauges that have no label for the partition.
type sums struct {
	tiers       map[[2]string]tierSum // by topic and tier
	pauses      map[[2]string]int64   // by topic and reason
	buffers     map[string]int64      // by topic
	states      map[string]int64
	uncommitted time.Duration
}

type tierSum struct {
	waiting int64
	overdue time.Duration
}

func (s *sums) add(l *Status, now time.Time) {
	if l.Phase == lane.Closed {
		return
	}
	s.states[l.Phase.String()]++
	s.buffers[l.Topic] += l.Buffered
	for _, reason := range l.Pauses {
		s.pauses[[2]string{l.Topic, reason}]++
	}
	if !l.Uncommitted.IsZero() {
		s.uncommitted = max(s.uncommitted, now.Sub(l.Uncommitted))
	}
	for _, t := range l.Tiers {
		k := [2]string{l.Topic, t.Name}
		sum := s.tiers[k]
		sum.waiting += t.Waiting
		if !t.Due.IsZero() {
			sum.overdue = max(sum.overdue, now.Sub(t.Due))
		}
		s.tiers[k] = sum
	}
}

// observeLane reports what one lane shows, once it has a position.
func (w *Worker) observeLane(o metric.Observer, l *Status, now time.Time) {
	if l.Tenure == 0 || l.Phase == lane.Closed {
		return
	}
	i := w.instruments
	labels := metric.WithAttributes(attribute.String(labelTopic, l.Topic), attribute.Int("partition", int(l.Partition)))
	if !l.Progress.IsZero() {
		o.ObserveFloat64(i.progress, unixSeconds(l.Progress), labels)
	}
	unread, behind, known := w.ends.behind(topicPartition{l.Topic, l.Partition}, l.Position, now)
	if known {
		o.ObserveInt64(i.lag, int64(l.Unsettled)+unread, labels)
	}
	switch {
	case !l.Oldest.IsZero():
		o.ObserveFloat64(i.oldest, max(now.Sub(l.Oldest), 0).Seconds(), labels)
	case known:
		o.ObserveFloat64(i.oldest, behind.Seconds(), labels)
	}
}

// observeCalls reports the handler calls of a topic.
func (t *topic) observeCalls(o metric.Observer) {
	m := t.meter
	running, oldest := 0, time.Duration(0)
	for _, c := range t.pool.InFlight() {
		oldest = max(oldest, c.Age)
		if !c.Abandoned {
			running++
		}
	}
	o.ObserveInt64(m.inflight, int64(running), m.plain)
	o.ObserveInt64(m.stuck, int64(t.pool.Stats().Abandoned), m.plain)
	o.ObserveFloat64(m.inflightAge, oldest.Seconds(), m.plain)
	o.ObserveFloat64(m.limit, t.Timeout.Seconds(), m.plain)
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
