//go:build synctests

package sim_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

// rest waits until the group has committed everything in the source and in our topics: nothing is owed any more (L7).
func (w *world) rest(most time.Duration) error {
	end := time.Now().Add(most)
	for {
		open := w.owed()
		if open == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("L7: after %v there is still work: %s%s", most, open, w.lanes())
		}
		pause(time.Second, nil)
	}
}

// owed says what the group has not settled yet; "" if nothing.
func (w *world) owed() string {
	topics := []string{sourceTopic, w.names.Replay()}
	for _, d := range w.cfg.topic.Retry.WithDefaults().Tiers {
		topics = append(topics, w.names.Stage(d))
	}
	info := w.cluster.GroupInfo(groupName)
	if info == nil {
		return "no group"
	}
	for _, topic := range topics {
		for p := range int32(w.cfg.partitions) {
			part := w.cluster.PartitionInfo(topic, p)
			if part == nil {
				return "no topic " + topic
			}
			c, ok := info.Commits[topic][p]
			if !ok || c.Offset < part.HighWatermark {
				return fmt.Sprintf("%s/%d is committed at %d of %d, %s", topic, p, c.Offset, part.HighWatermark, w.at(topic, p, c.Offset))
			}
		}
	}
	return ""
}

// at says what record lies at an offset.
func (w *world) at(topic string, partition int32, offset int64) string {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	for _, s := range w.watch.logs[logPlace{topic, partition}] {
		if s.Offset == offset {
			return fmt.Sprintf("%s key %s, %s attempt %d due %s", s.env.Origin, s.Key, s.env.Reason, s.env.Attempt, w.clock(s.env.Due))
		}
	}
	return "nothing"
}

func (w *world) lanes() string {
	var b strings.Builder
	if info := w.cluster.GroupInfo(groupName); info != nil {
		fmt.Fprintf(&b, "\n    group is %s in generation %d", info.State, info.Epoch)
		for _, m := range info.Members {
			fmt.Fprintf(&b, "\n    %s has %v", m.ClientID, m.Assignment)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.live {
		for _, l := range m.p.Lanes() {
			fmt.Fprintf(&b, "\n    %s: %+v", m.name, l)
		}
		select {
		case <-m.ended:
			fmt.Fprintf(&b, "\n    %s ended: %v", m.name, m.err)
		default:
		}
	}
	return b.String()
}

// draw plans records: some tens of keys, some without, and all kinds of outcomes.
func (w *world) draw(n int) {
	rng := w.rng
	user := !w.cfg.topic.Idempotency.Key.Default()
	for range n {
		r := &record{partition: int32(rng.IntN(w.cfg.partitions))}
		if rng.IntN(8) > 0 {
			r.key = fmt.Sprintf("k%d.%d", r.partition, rng.IntN(8))
		}
		if last := len(w.plan); user && last > 0 && rng.IntN(6) == 0 {
			// A duplicate, perhaps with another key.
			of := w.plan[rng.IntN(last)]
			r.x, r.partition, r.will, r.times, r.wait = of.x, of.partition, of.will, of.times, of.wait
			if r.key != "" {
				r.key = fmt.Sprintf("k%d.%d", r.partition, rng.IntN(8))
			}
			w.add(r)
			continue
		}
		switch p := rng.IntN(100); {
		case p < 60:
		case p < 72:
			r.will, r.times = failTimes, 1+rng.IntN(3)
		case p < 75:
			r.will = failAlways
		case p < 78:
			r.will = permanent
		case p < 81:
			r.will = skip
		case p < 86:
			r.will, r.times, r.wait = snooze, 1+rng.IntN(2), time.Duration(rng.Int64N(int64(8*time.Second)))+time.Second
		case p < 88:
			r.will, r.times = panics, 1
		case p < 90:
			r.will, r.times = hangs, 1
		case p < 91:
			r.will, r.times = deaf, 1
		case p < 93:
			r.will, r.times = unsure, 1
		default:
			r.takes = time.Duration(rng.Int64N(int64(1500 * time.Millisecond)))
		}
		w.add(r)
	}
}

var (
	_ = context.Background
	_ retrytopics.Role
)
