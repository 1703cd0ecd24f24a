package worker

import (
	"sync/atomic"
	"time"
)

// beat tells whether a loop waits for something to do, or since when it has been busy with one thing. A loop that is busy for
// long is stuck. The zero value waits.
type beat struct{ since atomic.Int64 } // Unix nanoseconds; 0: it waits

func (b *beat) begin(now time.Time) { b.since.Store(now.UnixNano()) }

func (b *beat) end() { b.since.Store(0) }

// seen returns when the loop was last known to be well: now, if it waits.
func (b *beat) seen(now time.Time) time.Time {
	if since := b.since.Load(); since != 0 {
		return time.Unix(0, since)
	}
	return now
}

// stuckAfter is how long a loop may be busy with one thing. The longest that is in order is a question to a broker that does
// not answer, which the client gives up after about 40 s.
const stuckAfter = 90 * time.Second

// heartbeat returns when every loop of the worker was last known to be well.
func (w *Worker) heartbeat(now time.Time) time.Time {
	seen := now
	for _, b := range []*beat{&w.sourceBeat, &w.stageBeat, &w.groupBeat} {
		if at := b.seen(now); at.Before(seen) {
			seen = at
		}
	}
	w.lanes.each(func(t *tenure) {
		if at := t.beat.seen(now); at.Before(seen) {
			seen = at
		}
	})
	return seen
}
