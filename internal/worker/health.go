package worker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/laneway-go/laneway/internal/lane"
)

// Health lists what is wrong with the worker, for three questions; an empty list is a yes.
type Health struct {
	Live    []string // would a restart help?
	Started []string // has it taken over its first lanes?
	Ready   []string // does it do its work now?
}

// Health looks at the worker. A broker that is not there, a rebalance and a want of records are no reasons for a restart.
func (w *Worker) Health() Health {
	h := Health{Live: w.stuck(time.Now()), Started: w.unrestored()}
	if len(h.Started) == 0 {
		w.restored.Store(true)
	}
	h.Ready = append(slices.Clone(h.Started), w.unwritable()...)
	if w.restored.Load() {
		h.Started = nil
	}
	if w.lanes.isClosed() {
		h.Ready = append(h.Ready, "drains")
	}
	return h
}

// unrestored lists what is missing until every lane of this member has been taken over.
func (w *Worker) unrestored() (reasons []string) {
	if !w.joined() {
		return []string{"has not joined the consumer group"}
	}
	statuses, bare := w.lanes.published()
	slices.SortFunc(statuses, compareStatus)
	for _, s := range statuses {
		if s.Phase == lane.Scanning || s.Phase == lane.Taking {
			reasons = append(reasons, fmt.Sprintf("lane %s/%d is not restored: %s", s.Topic, s.Partition, s.Phase))
		}
	}
	if bare > 0 {
		reasons = append(reasons, fmt.Sprintf("%d lanes wait to be taken over", bare))
	}
	return reasons
}

// unwritable lists the lanes whose writes fail.
func (w *Worker) unwritable() (reasons []string) {
	statuses, _ := w.lanes.published()
	slices.SortFunc(statuses, compareStatus)
	for _, s := range statuses {
		if s.Trouble != "" {
			reasons = append(reasons, fmt.Sprintf("lane %s/%d cannot write: %s", s.Topic, s.Partition, s.Trouble))
		}
	}
	return reasons
}

func compareStatus(a, b *Status) int {
	if a.Topic != b.Topic {
		return strings.Compare(a.Topic, b.Topic)
	}
	return int(a.Partition - b.Partition)
}

// joined says whether the group has given this member lanes, or none, in its present membership.
func (w *Worker) joined() bool {
	select {
	case <-w.ready:
	default:
		return false
	}
	member, generation := w.group.GroupMetadata()
	w.lanes.mu.Lock()
	defer w.lanes.mu.Unlock()
	return generation >= 0 && w.lanes.member != "" && w.lanes.member == member
}

// stuck lists the loops and the handlers that have been busy with one thing for too long.
func (w *Worker) stuck(now time.Time) (reasons []string) {
	for _, l := range []struct {
		name  string
		beat  *beat
		limit time.Duration
	}{
		{"poll loop of the sources", &w.sourceBeat, stuckAfter},
		{"poll loop of the delay topics", &w.stageBeat, stuckAfter},
		{"consumer group", &w.groupBeat, w.cfg.Drain + stuckAfter},
	} {
		if busy := now.Sub(l.beat.seen(now)); busy > l.limit {
			reasons = append(reasons, fmt.Sprintf("%s is stuck for %s", l.name, busy.Round(time.Second)))
		}
	}
	w.lanes.each(func(t *tenure) {
		if busy := now.Sub(t.beat.seen(now)); busy > stuckAfter {
			reasons = append(reasons, fmt.Sprintf("lane %s/%d is stuck for %s", t.topic.Names.Source(), t.partition, busy.Round(time.Second)))
		}
	})
	for _, name := range slices.Sorted(maps.Keys(w.topics)) {
		if n := w.topics[name].pool.Stats().Abandoned; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d handler calls of %s ignore their time limit", n, name))
		}
	}
	return reasons
}

func (l *lanes) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
