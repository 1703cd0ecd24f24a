package worker

import (
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/retrytopics"
)

// counters add up what became of a topic's records, over all tenures of this process.
type counters struct {
	mu    sync.Mutex
	total Counts
	left  map[int32]int64 // by partition: records that waited when its last tenure ended
}

// Counts are the totals of a topic since the worker was made; see [lane.Counts]. Waiting is what the lanes hold now, or held
// when they ended.
type Counts = lane.Counts

// add takes in what a lane has counted since before.
func (c *counters) add(now, before Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.total
	t.Taken += now.Taken - before.Taken
	t.Found += now.Found - before.Found
	t.Done += now.Done - before.Done
	t.Dead += now.Dead - before.Dead
	t.Skipped += now.Skipped - before.Skipped
	t.Duplicates += now.Duplicates - before.Duplicates
	t.Waiting += now.Waiting - before.Waiting
	t.Read += now.Read - before.Read
	t.Ghosts += now.Ghosts - before.Ghosts
	t.Forwarded += now.Forwarded - before.Forwarded
	t.Followed += now.Followed - before.Followed
	t.Snoozed += now.Snoozed - before.Snoozed
}

// begun takes back what the partition's last tenure in this process left waiting: the new one finds it again.
func (c *counters) begun(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.left[partition]
	c.total.Taken -= left
	c.total.Waiting -= left
	delete(c.left, partition)
}

func (c *counters) ended(partition int32, waiting int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = map[int32]int64{}
	}
	c.left[partition] += waiting
}

// Counts returns the totals of a source topic; zero for one that the worker does not have.
func (w *Worker) Counts(topic string) Counts {
	t := w.topics[topic]
	if t == nil {
		return Counts{}
	}
	t.counts.mu.Lock()
	defer t.counts.mu.Unlock()
	return t.counts.total
}

// Status is what a lane shows of itself.
type Status struct {
	Topic     string
	Partition int32
	Phase     lane.Phase
	Tenure    int64
	Unsettled int               // records of the source that were read and are not settled
	Lowest    int64             // the lowest of them, or the next to be read
	Waiting   map[string]int    // known records that wait, by stage topic
	Pauses    map[string]string // parts that are not fetched, and why
	Calls     int               // handler calls that are out
	Trouble   string            // why writes fail at the moment; "" if they do not

	Position    int64     // next offset of the source to be taken up
	Oldest      time.Time // of the lowest unsettled record of the source, its timestamp; zero: nothing unsettled was fetched
	Progress    time.Time // when a record last went on, or when the lane began to run
	Uncommitted time.Time // since when finished work waits for its commit; zero: all is committed
	Buffered    int64     // bytes of fetched records that have not been taken up
	Tiers       []TierStatus
}

// TierStatus is what a lane shows of one of its delay topics.
type TierStatus struct {
	Name    string    // its delay
	Waiting int64     // records in it that have not settled
	Due     time.Time // of the first that is known and was not fetched; zero: there is none
}

// Lanes returns the status of every lane that this process runs, in no order.
func (w *Worker) Lanes() []Status {
	var out []Status
	w.lanes.each(func(t *tenure) {
		if s := t.status.Load(); s != nil {
			out = append(out, *s)
		}
	})
	return out
}

// report publishes what the lane shows of itself, and says once when its phase changes.
func (t *tenure) report() {
	if t.m == nil {
		return
	}
	now := t.m.Counts()
	if now != t.counted {
		t.topic.counts.add(now, t.counted)
		t.w.waiting.Add(now.Waiting - t.counted.Waiting)
		if progressed(now, t.counted) {
			t.figures.progress = t.now
		}
		t.counted = now
	}
	phase := t.m.Phase()
	if phase != t.phase || t.status.Load() == nil || t.now.Sub(t.reported) >= statusInterval {
		t.publish(phase)
	} else {
		t.figures.unpublished = true
	}
	if phase == t.phase {
		return
	}
	t.phase = phase
	if phase == lane.Running {
		t.topic.meter.restore.Record(t.w.ctx, t.now.Sub(t.figures.began).Seconds(), t.topic.meter.plain)
	}
	t.log.Debug("lane", slog.String("phase", phase.String()), slog.Int64("tenure", t.m.Tenure()))
	if hook := t.w.cfg.Hooks.Lane; hook != nil {
		hook(LaneEvent{Topic: t.topic.Names.Source(), Partition: t.partition, Phase: phase, Tenure: t.m.Tenure(), Clean: t.clean})
	}
}

// statusInterval bounds how old a lane's status is while its lane has news. A round comes many thousand times a second.
const statusInterval = 100 * time.Millisecond

func (t *tenure) publish(phase lane.Phase) {
	t.reported, t.figures.unpublished = t.now, false
	if phase == lane.Running && t.figures.progress.IsZero() {
		t.figures.progress = t.now
	}
	t.topic.meter.add(t.w.ctx, t.counted, t.figures.metered)
	t.figures.metered = t.counted
	s := &Status{
		Topic: t.topic.Names.Source(), Partition: t.partition, Phase: phase, Tenure: t.m.Tenure(), Calls: t.out,
		Waiting: map[string]int{}, Pauses: map[string]string{},
	}
	s.Unsettled, s.Lowest = t.m.Lag(lane.Source)
	for p, name := range t.topic.parts {
		if n := t.m.Waiting(lane.Part(p)); n > 0 && p > 0 {
			s.Waiting[name] = n
		}
		if why := t.m.Fetch(lane.Part(p)); why != lane.Open {
			s.Pauses[name] = why.String()
		} else if p == 0 && t.crowded {
			s.Pauses[name] = "waiting_full"
		} else if t.backlog[p].added && !t.backlog[p].open {
			s.Pauses[name] = "buffer_full"
		}
	}
	if t.troubled && t.lastErr != nil {
		s.Trouble = t.lastErr.Error()
	}
	t.figure(s)
	t.status.Store(s)
}

// reportProduce says once when the lane's writes begin to fail, and once when they succeed again.
func (t *tenure) reportProduce(answered bool) {
	switch {
	case t.produceErr != nil && !t.troubled:
		t.troubled = true
		t.log.Error("writes fail, the lane waits and tries again", slog.Any("error", t.produceErr))
	case t.troubled && answered && t.produceErr == nil:
		t.troubled = false
		t.log.Info("writes succeed again")
	}
	if t.produceErr != nil {
		t.lastErr, t.produceErr = t.produceErr, nil
	}
}

// note tells the observer of a copy that is about to be written.
func (t *tenure) note(w *lane.Write, env *retrytopics.Envelope, out *kgo.Record) {
	hook := t.w.cfg.Hooks.Record
	if hook == nil {
		return
	}
	e := RecordEvent{
		Identity: env.Identity(), Key: out.Key, Outcome: "retried", Reason: string(env.Reason), Class: env.ErrorClass,
		Attempt: env.Attempt, Stage: out.Topic, Due: env.Due,
	}
	if ev := t.evidence[w.Token.Entry()]; ev != nil {
		e.Rule = ev.rule
	}
	switch {
	case w.Kind == lane.DeadLetter:
		e.Outcome = "dead"
	case w.Reason == lane.Followed:
		e.Outcome = "followed"
	case w.Reason == lane.Snoozed:
		e.Outcome = "snoozed"
	}
	hook(e)
}
