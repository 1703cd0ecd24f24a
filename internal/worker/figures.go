package worker

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/retrytopics"
)

// figures are what a lane knows for its status and its metrics, beyond what the machine does. They belong to the tenure's
// goroutine.
type figures struct {
	began       time.Time // when the lane was assigned
	ages        ages      // of the source's records
	ends        []int64   // by part: offset behind the last record that is known to be there; of stages
	hops        map[lane.Ref]hop
	metered     Counts    // what the counters have been given
	progress    time.Time // when a record last went on
	commitOut   bool      // a commit has not been answered
	covered     time.Time // what happened before is committed
	uncommitted time.Time // since when there is something to commit; zero: there is not
	unpublished bool      // a round has passed since the status was published
}

// hop is a copy that is on its way to a delay topic or the dlt, for the time of its acknowledgement.
type hop struct {
	to     lane.Part // of a forward
	dead   bool
	reason retrytopics.Reason
	class  string
}

func (f *figures) init(parts int) {
	f.began = time.Now()
	f.ends, f.hops = make([]int64, parts), map[lane.Ref]hop{}
}

// admitted takes in records of the source that the machine has taken. It looks at a few.
func (f *figures) admitted(records []*kgo.Record) {
	for n := 0; n < len(records); n += ageStride {
		f.ages.note(records[n].Offset, records[n].Timestamp)
	}
}

// reaches notes that a part holds a record at an offset.
func (f *figures) reaches(p lane.Part, offset int64) { f.ends[p] = max(f.ends[p], offset+1) }

// issued takes note of a copy that is about to be written.
func (f *figures) issued(w *lane.Write, env *retrytopics.Envelope) {
	f.hops[w.Token] = hop{to: w.To, dead: w.Kind == lane.DeadLetter, reason: env.Reason, class: env.ErrorClass}
}

// landed takes note of the answer to a write. Only a copy that is in the log counts.
func (t *tenure) landed(a *written) {
	h, ok := t.figures.hops[a.token]
	if !ok {
		return
	}
	delete(t.figures.hops, a.token)
	if a.err != nil {
		return
	}
	m, ctx := t.topic.meter, t.w.ctx
	class := attribute.String(labelClass, m.classes.label(h.class))
	switch {
	case h.dead:
		m.dead.Add(ctx, 1, metric.WithAttributes(m.topic, class, attribute.String(labelReason, string(h.reason))))
		return
	case h.reason != retrytopics.ReasonFollowed: // that one has not failed
		m.scheduled.Add(ctx, 1, metric.WithAttributes(m.topic, class, attribute.String(labelTier, t.topic.tier(h.to))))
	}
	t.figures.reaches(h.to, a.offset)
}

// tier returns the delay of a stage as labels show it.
func (t *topic) tier(p lane.Part) string { return retrytopics.FormatDelay(t.delay(p)) }

// count counts the calls that ended in a way of their own.
func (m *topicMeter) count(ctx context.Context, k dispatch.Kind) {
	switch k {
	case dispatch.TimedOut, dispatch.Stuck:
		m.timeouts.Add(ctx, 1, m.plain)
	case dispatch.Panicked:
		m.panics.Add(ctx, 1, m.plain)
	case dispatch.Done, dispatch.Canceled, dispatch.Unstarted:
	}
}

// timed makes a handler call and measures it.
func (t *topic) timed(ctx context.Context, user *any, d *Delivery, due int64) error {
	m, start := t.meter, time.Now()
	if due > 0 {
		m.lateness.Record(ctx, max(start.Sub(time.UnixMilli(due)), 0).Seconds(), m.callLate...)
	}
	err := t.Handle(ctx, user, d)
	labels := m.callOK
	if err != nil {
		labels = m.callFailed
	}
	m.duration.Record(ctx, time.Since(start).Seconds(), labels...)
	return err
}

// figure fills in what the status shows beyond the machine's own state.
func (t *tenure) figure(s *Status) {
	f := &t.figures
	s.Position = t.m.Position(lane.Source)
	s.Progress, s.Uncommitted = f.progress, t.uncommitted()
	if source := &t.backlog[lane.Source]; s.Lowest < s.Position {
		s.Oldest, _ = f.ages.of(s.Lowest)
	} else if !source.empty() {
		s.Oldest = source.next(1)[0].Timestamp
	}
	for p := range t.backlog {
		s.Buffered += t.backlog[p].bytes
	}
	for p := lane.FirstStage; int(p) < len(t.topic.parts); p++ {
		position := t.m.Position(p)
		unsettled, _ := t.m.Lag(p)
		tier := TierStatus{Name: t.topic.tier(p), Waiting: int64(unsettled) + max(f.ends[p]-position, 0)}
		if due, ok := t.m.FirstDue(p); ok {
			tier.Due = time.UnixMilli(due)
		}
		s.Tiers = append(s.Tiers, tier)
	}
}

// uncommitted returns since when the lane has had something to commit; zero if all is committed.
func (t *tenure) uncommitted() time.Time {
	f := &t.figures
	switch {
	case t.m.WantsCommit() == lane.NoCommit && !f.commitOut:
		f.uncommitted = time.Time{}
	case f.uncommitted.IsZero():
		f.uncommitted = t.now
	case f.uncommitted.Before(f.covered):
		f.uncommitted = f.covered
	}
	return f.uncommitted
}

// progressed says whether a record has gone on between two counts.
func progressed(now, before Counts) bool {
	return now.Done != before.Done || now.Dead != before.Dead || now.Skipped != before.Skipped || now.Duplicates != before.Duplicates ||
		now.Forwarded != before.Forwarded || now.Followed != before.Followed
}
