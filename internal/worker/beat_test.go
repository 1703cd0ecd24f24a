package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

func TestALoopThatIsBusyForLongIsStuck(t *testing.T) {
	w := New(Config{Drain: 20 * time.Second, Logger: discard()})
	now := time.Now()
	for _, c := range []struct {
		beat  *beat
		limit time.Duration
	}{{&w.sourceBeat, stuckAfter}, {&w.stageBeat, stuckAfter}, {&w.groupBeat, 20*time.Second + stuckAfter}} {
		c.beat.begin(now)
		if got := w.stuck(now.Add(c.limit)); len(got) != 0 {
			t.Errorf("within its limit: %v", got)
		}
		if got := w.stuck(now.Add(c.limit + time.Second)); len(got) != 1 {
			t.Errorf("past its limit: %v", got)
		}
		if beat := w.heartbeat(now.Add(time.Hour)); !beat.Equal(now) {
			t.Errorf("heartbeat at %v, want when the loop began, %v", beat, now)
		}
		c.beat.end()
		if later := now.Add(time.Hour); !w.heartbeat(later).Equal(later) || len(w.stuck(later)) != 0 {
			t.Error("a loop that waits does not count as well")
		}
	}
}

func TestALaneThatIsBusyForLongIsStuck(t *testing.T) {
	w := New(Config{Drain: 20 * time.Second, Logger: discard(), Topics: []Topic{sample(t)}})
	n := newTenure(w, w.topics["orders"], 3, "m")
	w.lanes.view[topicPartition{"orders", 3}] = n
	now := time.Now()
	n.beat.begin(now)
	want := []string{"lane orders/3 is stuck for 1m31s"}
	if got := w.stuck(now.Add(stuckAfter + time.Second)); !slices.Equal(got, want) {
		t.Errorf("reasons %v, want %v", got, want)
	}
}

// sample returns a topic without stages.
func sample(t *testing.T) Topic {
	t.Helper()
	names, err := retrytopics.NewNames("", "orders", "billing")
	if err != nil {
		t.Fatal(err)
	}
	return Topic{Names: names, Concurrency: 1}
}
