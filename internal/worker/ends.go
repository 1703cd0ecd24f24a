package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logEnds knows where the logs of the sources end, by asking the brokers now and then: a partition that is paused, and so is
// likely to lag, hears nothing of it by itself. What a question that failed would have told is not known, and not zero.
type logEnds struct {
	mu sync.Mutex
	of map[topicPartition]logEnd
}

type logEnd struct {
	end   int64     // of what a reader of committed records may read
	asked time.Time // when that was

	position int64     // of the lane when it was last seen behind the end
	since    time.Time // since when it has stood there; zero: it is not behind
}

const (
	endsEvery   = 5 * time.Second
	endsGoodFor = time.Minute // an answer that is older counts for nothing
)

// run asks until ctx ends.
func (e *logEnds) run(ctx context.Context, w *Worker) {
	tick := time.NewTicker(endsEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := e.ask(ctx, w)
		if err != nil && !failing && ctx.Err() == nil {
			w.cfg.Logger.Warn("ends of the sources are not known, neither is the lag", slog.Any("error", err))
		}
		failing = err != nil
	}
}

func (e *logEnds) ask(ctx context.Context, w *Worker) error {
	at := map[topicPartition]int64{} // positions of the lanes
	topics := map[string]bool{}
	statuses, _ := w.lanes.published()
	for _, s := range statuses {
		if s.Tenure > 0 {
			at[topicPartition{s.Topic, s.Partition}], topics[s.Topic] = s.Position, true
		}
	}
	if len(at) == 0 {
		return nil
	}
	names := make([]string, 0, len(topics))
	for name := range topics {
		names = append(names, name)
	}
	listed, err := w.admin.ListCommittedOffsets(ctx, names...)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was asked
	}
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	of := make(map[topicPartition]logEnd, len(at))
	for key, position := range at {
		known := e.of[key]
		if o, ok := listed.Lookup(key.topic, key.partition); ok && o.Err == nil {
			known.end, known.asked = o.Offset, now
		}
		switch {
		case position >= known.end:
			known.since = time.Time{}
		case known.since.IsZero() || known.position != position:
			known.position, known.since = position, now
		}
		of[key] = known
	}
	e.of = of
	return nil
}

// behind returns how many offsets lie between a lane's position and the end of its source, and how long the lane has stood
// still there; false if that is not known.
func (e *logEnds) behind(key topicPartition, position int64, now time.Time) (records int64, still time.Duration, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, ok := e.of[key]
	if !ok || now.Sub(l.asked) > endsGoodFor {
		return 0, 0, false
	}
	if position < l.end && position == l.position && !l.since.IsZero() {
		still = now.Sub(l.since)
	}
	return max(l.end-position, 0), still, true
}
