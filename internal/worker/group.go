package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/lane"
)

// lanes are the partitions that the group has assigned to this member, each with the tenure that runs it.
type lanes struct {
	mu     sync.Mutex
	view   map[topicPartition]*tenure // nil: assigned, and no tenure runs (yet)
	closed bool
	forced bool // a lane was given up without its last commit

	// Of the last assignment. A lane is ours by an assignment, not by what the client believes between two of them: after a
	// kick it rejoins under a new id, and a commit under that would rewind the owner of now (R23).
	member     string
	generation int32
}

func (l *lanes) init() { l.view = map[topicPartition]*tenure{} }

// each calls f for every tenure that runs.
func (l *lanes) each(f func(*tenure)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.view {
		if t != nil {
			f(t)
		}
	}
}

// close gives up every lane and lets no new tenure begin.
func (l *lanes) close(drain time.Duration) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.each(func(t *tenure) { t.giveUp(drain) })
}

func (l *lanes) unclean() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forced
}

// assigned begins a tenure for every partition that is ours and has none. The client calls it at each new generation, also
// with nothing new: a lane that was lost by a commit's refusal may be ours again without being named (R23).
func (w *Worker) assigned(ctx context.Context, cl *kgo.Client, added map[string][]int32) {
	<-w.ready
	member, generation := cl.GroupMetadata()
	l := &w.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.member != member || l.generation != generation {
		w.instruments.rebalances.Add(ctx, 1)
	}
	l.member, l.generation = member, generation
	for name, partitions := range added {
		for _, p := range partitions {
			key := topicPartition{name, p}
			if _, ok := l.view[key]; !ok {
				l.view[key] = nil
				w.nLanes.Add(1)
			}
		}
	}
	for key, t := range l.view {
		if t != nil && (t.member != member || t.refused) {
			t.orders.set(func(o *orders) { o.lose = true })
			t.again.Store(true)
			continue
		}
		if t == nil {
			w.begin(key, member) //nolint:contextcheck // a tenure outlives the callback that begins it
		}
	}
}

// begin starts the tenure of a lane; l.mu is held.
func (w *Worker) begin(key topicPartition, member string) {
	l := &w.lanes
	t := w.topics[key.topic]
	if l.closed || t == nil {
		return
	}
	n := newTenure(w, t, key.partition, member)
	l.view[key] = n
	w.running.Go(func() {
		n.run()
		w.ended(key, n)
	})
}

// retryTakeover is the wait before a lane that is still ours is taken over anew.
const retryTakeover = 500 * time.Millisecond

// ended takes note of a tenure's end. A lane that is still ours begins another one.
func (w *Worker) ended(key topicPartition, n *tenure) {
	l := &w.lanes
	l.mu.Lock()
	if !n.clean && n.m != nil && n.m.Phase() == lane.Closed && n.orders.given() && !n.again.Load() && n.leave.step >= 2 {
		l.forced = true
	}
	ours := l.view[key] == n
	if ours {
		l.view[key] = nil
	}
	again := ours && !l.closed && n.again.Load()
	l.mu.Unlock()
	if !again {
		return
	}
	pause := time.NewTimer(retryTakeover)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-w.ctx.Done():
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if current, assigned := l.view[key]; assigned && current == nil {
		w.begin(key, l.member)
	}
}

// refused takes note that the commit of a tenure was refused as one of a member, or a generation, that is not the group's. The
// lane is begun anew with the next assignment that leaves it here, or at once if that has come meanwhile.
func (w *Worker) refused(t *tenure, generation int32) {
	l := &w.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	t.refused = true
	if l.member != t.member || l.generation > generation {
		t.again.Store(true)
	}
}

// revoked gives up lanes in good order and waits for that: until it returns, nobody else gets them.
func (w *Worker) revoked(_ context.Context, cl *kgo.Client, gone map[string][]int32) {
	<-w.ready
	w.groupBeat.begin(time.Now())
	defer w.groupBeat.end()
	member, _ := cl.GroupMetadata()
	w.drop(gone, func(t *tenure) {
		if t.member != member {
			t.orders.set(func(o *orders) { o.lose = true }) // R23: we rejoined under a new id, somebody else may own it
			return
		}
		t.giveUp(w.cfg.Drain)
	})
}

// lost ends lanes at once.
func (w *Worker) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	<-w.ready
	w.groupBeat.begin(time.Now())
	defer w.groupBeat.end()
	w.drop(gone, func(t *tenure) { t.orders.set(func(o *orders) { o.lose = true }) })
}

// drop takes partitions out of the view, ends their tenures, and waits for them.
func (w *Worker) drop(gone map[string][]int32, end func(*tenure)) {
	var waiting []*tenure
	l := &w.lanes
	l.mu.Lock()
	for name, partitions := range gone {
		for _, p := range partitions {
			key := topicPartition{name, p}
			t, ok := l.view[key]
			if !ok {
				continue
			}
			delete(l.view, key)
			w.nLanes.Add(-1)
			if t != nil {
				end(t)
				waiting = append(waiting, t)
			}
		}
	}
	l.mu.Unlock()
	for _, t := range waiting {
		select {
		case <-t.done:
		case <-w.ctx.Done():
			return
		}
	}
}

// watchGroup polls the group client for its errors; it delivers no records.
func (w *Worker) watchGroup(ctx context.Context) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for ctx.Err() == nil {
		fetches := w.group.PollFetches(ctx)
		if fetches.IsClientClosed() {
			return
		}
		for _, e := range fetches.Errors() {
			switch {
			case ctx.Err() != nil:
			case errors.Is(e.Err, kerr.FencedInstanceID):
				w.die(ErrFenced)
				return
			default:
				w.cfg.Logger.Warn("group session failed", slog.Any("error", e.Err))
			}
		}
		pause.Reset(100 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}
