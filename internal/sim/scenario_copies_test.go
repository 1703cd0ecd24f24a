//go:build synctests

package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestScenario01ACopyThatIsReadBeforeItsAckIsParked(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		q := &record{key: "k", will: failTimes, times: 1}
		q.gate = make(chan struct{})
		s.put(q)
		s.until("q runs", s.started(q, 1))
		release := m.host.holdAnswers(keyProduce)
		defer release()
		close(q.gate)
		s.until("the copy has landed", s.hasCopy(s.stage(time.Second), q))
		s.sleep(3 * time.Second)
		s.wantCalls("q, whose forward is not acknowledged,", q, 1)
		release()
		s.until("q is done", s.hadEffect(q))
		s.done()
		s.wantCalls("q", q, 2)
	})
}

func TestScenario02OfCopiesThatLandedUnheardTheHighestRuns(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.start()
		q, r := &record{key: "k", will: failTimes, times: 2}, &record{key: "k"}
		s.put(q, r)
		s.until("q waits in the second stage", s.hasCopy(s.stage(5*time.Second), q))
		c := s.inTopic(s.stage(5*time.Second), q)[0]
		var last *kgo.Record
		for range 2 {
			last = s.write(&kgo.Record{Topic: c.Topic, Partition: c.Partition, Key: c.Key, Value: c.Value, Headers: c.Headers})
		}
		s.done()
		s.wantCalls("q", q, 3)
		s.wantCalls("r", r, 1)
		s.wantOrder(0, q, r)
		if last.Offset < c.Offset+2 {
			t.Errorf("copies landed at %d and %d", c.Offset, last.Offset)
		}
	})
}

func TestScenario04WithoutDedupeAnUncommittedRecordRunsAgainBeforeItsFollower(t *testing.T) {
	play(t, withMode(processor.DedupeOff), func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		h := s.refuse(kmsg.OffsetCommit, sourceTopic, kerr.CoordinatorNotAvailable)
		q, r := &record{key: "k"}, &record{key: "k", will: failTimes, times: 1}
		s.put(q, r)
		s.until("r waits", s.hasCopy(s.stage(time.Second), r))
		m.kill()
		h.Remove()
		s.sleep(20 * time.Second)
		s.start()
		s.until("r is done", s.hadEffect(r))
		s.done()
		s.wantCalls("q", q, 2)
		last := s.callsOf(q)[1]
		s.wantOrder(last.fence, q, r)
	})
}

func TestScenario05AMarkedDeadRecordIsAGhostAfterACrash(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		h := s.refuse(kmsg.OffsetCommit, sourceTopic, kerr.CoordinatorNotAvailable)
		q, r := &record{key: "k", will: permanent}, &record{key: "k"}
		s.put(q, r)
		s.until("both are marked", s.hasMarks(2))
		s.sleep(time.Second)
		m.kill()
		h.Remove()
		s.start()
		s.done()
		s.wantCalls("q", q, 1)
		s.wantCalls("r", r, 1)
		s.wantDead(q, retrytopics.ReasonPermanent)
	})
}

func TestScenario06ADeadRecordWithoutItsMarkHoldsItsKey(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		h := s.refuse(kmsg.Produce, s.names.Idempotency(), kerr.NotEnoughReplicas)
		q, r := &record{key: "k", will: permanent}, &record{key: "k"}
		s.put(q, r)
		s.until("q is in the dlt", s.hasCopy(s.names.DLT(), q))
		s.sleep(3 * time.Second)
		s.wantCalls("r", r, 0)
		m.kill()
		h.Remove()
		s.start()
		s.done()
		s.wantCalls("q", q, 2)
		s.wantCalls("r", r, 1)
		s.wantDead(q, retrytopics.ReasonPermanent, retrytopics.ReasonPermanent)
		s.wantOrder(0, q, r)
	})
}

func TestScenario08ACopyThatWentBackToAnEarlierStageIsTheLiveOne(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		h := s.refuse(kmsg.OffsetCommit, sourceTopic, kerr.CoordinatorNotAvailable)
		q := &record{key: "k", wait: time.Second}
		q.script = func(c *call) (ending, error) {
			switch {
			case c.attempt < 3:
				return failed, errNotYet
			case c.snoozes == 0:
				return snoozed, processor.RetryAfter(errBusy, time.Second)
			}
			return effect, nil
		}
		s.put(q)
		s.until("q was snoozed back", func() bool { return len(s.inTopic(s.stage(time.Second), q)) == 2 })
		m.kill()
		h.Remove()
		s.start()
		s.done()
		calls := s.callsOf(q)
		if n := len(calls); n != 4 || calls[3].attempt != 3 || calls[3].snoozes != 1 {
			t.Errorf("q was called %d times, last in attempt %d after %d snoozes; want 4, 3, 1", n, calls[n-1].attempt, calls[n-1].snoozes)
		}
	})
}

func TestScenario11APoisonKeyCostsNoMoreThanItsAttempts(t *testing.T) {
	const n = 1000
	tiers := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}
	play(t, func(c *setup) { c.topic.Retry.Tiers = tiers }, func(s *scene) {
		var all []*record
		for range n {
			all = append(all, &record{key: "poison", will: failAlways})
		}
		s.put(all...)
		s.start()
		s.until("all are dead", func() bool {
			return s.cluster.PartitionInfo(s.names.DLT(), 0) != nil && s.cluster.PartitionInfo(s.names.DLT(), 0).HighWatermark == n
		})
		if err := s.rest(10 * time.Minute); err != nil {
			t.Error(err)
		}
		appends := 0
		for _, d := range tiers {
			appends += int(s.cluster.PartitionInfo(s.stage(d), 0).HighWatermark)
		}
		if most := n * (len(tiers) + 4); appends > most {
			t.Errorf("%d appends to the stages, want at most %d", appends, most)
		}
		s.watch.mu.Lock()
		dead := s.watch.logs[logPlace{s.names.DLT(), 0}]
		if !slices.IsSortedFunc(dead, func(a, b seen) int { return int(a.env.Origin.Offset - b.env.Origin.Offset) }) {
			t.Error("the dlt is not in the order of the source")
		}
		s.watch.mu.Unlock()
		for _, p := range s.end() {
			t.Error(p)
		}
		for _, r := range all {
			s.wantCalls(fmt.Sprint("record ", r.offset), r, 4)
		}
	})
}

func TestScenario12OfTwoRecordsWithOneIdempotencyKeyOneRuns(t *testing.T) {
	play(t, withUserKey, func(s *scene) {
		s.start()
		a, b := &record{key: "a", x: "one", takes: 3 * time.Second}, &record{key: "b", x: "one"}
		c, d := &record{key: "c", x: "two", will: failTimes, times: 1}, &record{key: "d", x: "two", takes: 200 * time.Millisecond}
		s.put(a, b, c, d)
		s.done()
		s.wantCalls("the second of one", b, 0)
		s.wantCalls("the first of two", c, 1)
		s.wantCalls("the second of two", d, 1)
	})
}

func TestScenario13AReplayQueuesWhereItArrives(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.start()
		q := &record{key: "k"}
		s.put(q)
		s.until("q is done", s.hadEffect(q))
		r := &record{key: "k", takes: 3 * time.Second}
		s.put(r)
		s.until("r runs", s.started(r, 1))
		s.replay(q, 1, true)
		s.sleep(time.Second)
		later := &record{key: "k"}
		s.put(later)
		s.settle()
		calls := s.callsOf(q)
		if len(calls) != 2 {
			t.Fatalf("q was called %d times, want 2", len(calls))
		}
		again, first, second := calls[1], s.callsOf(r)[0], s.callsOf(later)[0]
		if again.start.Before(first.end) || second.start.Before(again.end) {
			t.Errorf("r until %s, the replay from %s to %s, then from %s", s.clock(first.end), s.clock(again.start), s.clock(again.end), s.clock(second.start))
		}
	})
}

func TestScenario14AReplayThatIsSentTwiceRunsOnce(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.start()
		q := &record{key: "k", will: permanent}
		s.put(q)
		s.until("q is dead", s.hasCopy(s.names.DLT(), q))
		s.replay(q, 1, false)
		s.replay(q, 1, false)
		s.until("the replay is dead", func() bool { return len(s.inTopic(s.names.DLT(), q)) == 2 })
		s.replay(q, 1, false)
		s.settle()
		s.wantCalls("q", q, 2)
	})
}

func TestScenario15AForcedReplayRunsOnceAlsoAcrossACrash(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		q := &record{key: "k"}
		s.put(q)
		s.until("q is marked", s.hasMarks(1))
		s.replay(q, 1, false)
		s.sleep(3 * time.Second)
		s.wantCalls("q, replayed without force,", q, 1)
		h := s.refuse(kmsg.OffsetCommit, sourceTopic, kerr.CoordinatorNotAvailable)
		s.replay(q, 2, true)
		s.until("the replay is marked", s.hasMarks(2))
		s.sleep(time.Second)
		m.kill()
		h.Remove()
		s.start()
		s.settle()
		s.wantCalls("q", q, 2)
	})
}

func TestScenario29AReplayThatTheScanFindsAndALiveRecordOfItsKeyBothRun(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		q := &record{key: "k"}
		s.put(q)
		s.until("q is done", s.hadEffect(q))
		m.leave()
		s.replay(q, 1, true)
		r := &record{key: "k", will: failTimes, times: 1}
		s.put(r)
		s.start()
		s.settle()
		s.wantCalls("q", q, 2)
		s.wantCalls("r", r, 2)
	})
}
