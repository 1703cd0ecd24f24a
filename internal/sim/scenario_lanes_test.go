//go:build synctests

package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestScenario07NothingStartsBeforeTheMarksAreScanned(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		q, r := &record{key: "k", will: failTimes, times: 1}, &record{key: "other"}
		s.put(q, r)
		s.until("q waits", s.hasCopy(s.stage(time.Second), q))
		s.until("r is marked", s.hasMarks(1))
		m.kill()
		h := s.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Fetch}, Topic: s.names.Idempotency(), Err: kerr.NotLeaderForPartition, Count: -1,
			When: func(r kmsg.Request) bool { return r.(*kmsg.FetchRequest).SessionEpoch == -1 }, // as only the scan asks
		})
		s.start()
		s.sleep(30 * time.Second)
		s.wantCalls("q, due for long,", q, 1)
		s.wantCalls("r", r, 1)
		if h.Hits() == 0 {
			t.Error("the scan of the marks was not held up")
		}
		h.Remove()
		s.done()
		s.wantCalls("q", q, 2)
		s.wantCalls("r", r, 1)
	})
}

func TestScenario16WhatWasSettledStaysSettledBeforeItIsReadAgain(t *testing.T) {
	play(t, withMode(processor.DedupeOff), func(s *scene) {
		gate := make(chan struct{})
		var all []*record
		for i := range 5 {
			r := &record{key: fmt.Sprint("k", i)}
			if i%2 == 0 {
				r.gate = gate
			}
			all = append(all, r)
		}
		m := s.start()
		s.put(all...)
		s.until("1 and 3 are committed", func() bool {
			settled := s.settledNow()
			return settled.Contains(1) && settled.Contains(3)
		})
		m.kill()
		before := s.anyFence()
		next := s.start()
		release := next.host.holdAnswers(keyFetch)
		defer release()
		s.until("the next owner has committed", func() bool { return s.anyFence() > before })
		s.sleep(10 * time.Second)
		if settled := s.settledNow(); settled.From != 0 || !settled.Contains(1) || !settled.Contains(3) || settled.Contains(2) {
			t.Errorf("committed at %d with %v", settled.From, settled)
		}
		release()
		close(gate)
		s.done()
		s.wantCalls("1", all[1], 1)
		s.wantCalls("3", all[3], 1)
	})
}

// settledNow returns what the group has committed as settled of the source.
func (s *scene) settledNow() offsets.Settled {
	s.watch.look()
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	past := s.watch.commits[logPlace{sourceTopic, 0}]
	if len(past) == 0 {
		return offsets.Settled{}
	}
	return past[len(past)-1].settled
}

func TestScenario17OneStuckRecordStopsNoLane(t *testing.T) {
	const n = 50_000
	play(t, nil, func(s *scene) {
		gate := make(chan struct{})
		all := []*record{{key: "stuck", gate: gate}}
		for i := range n {
			all = append(all, &record{key: fmt.Sprint("k", i%50)})
		}
		s.cfg.topic.Timeout = time.Hour
		m := s.start()
		s.put(all...)
		s.until("all others are done and committed", func() bool { return s.settledNow().Contains(n) })
		s.watch.mu.Lock()
		past := s.watch.commits[logPlace{sourceTopic, 0}]
		if last := past[len(past)-1]; last.offset != 0 || len(last.metadata) > offsets.MaxMetadata {
			t.Errorf("committed at %d with %d characters", last.offset, len(last.metadata))
		}
		s.watch.mu.Unlock()
		m.kill()
		s.ledger.mu.Lock()
		before := len(s.ledger.calls)
		s.ledger.mu.Unlock()
		close(gate)
		s.start()
		s.settle()
		s.ledger.mu.Lock()
		defer s.ledger.mu.Unlock()
		if again := len(s.ledger.calls) - before; again != 1 {
			t.Errorf("%d calls after the crash, want that of the stuck record alone", again)
		}
	})
}

func TestScenario17HalfOfTheRecordsStuckStopIntake(t *testing.T) {
	const n = 25_000
	play(t, func(c *setup) { c.topic.Ordering = processor.Unordered }, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		h := s.refuse(kmsg.Produce, s.stage(time.Second), kerr.NotEnoughReplicas)
		var all []*record
		for i := range n {
			r := &record{}
			if i%2 == 0 {
				r.will, r.times = failTimes, 1
			}
			all = append(all, r)
		}
		s.put(all...)
		s.until("the window is full", func() bool {
			for _, l := range m.p.Lanes() {
				if l.Pauses[sourceTopic] == "window_full" {
					return true
				}
			}
			return false
		})
		s.sleep(5 * time.Second)
		m.kill()
		h.Remove()
		s.start()
		s.settle()
		if r := all[0]; !s.hasHadEffect(r) { // the rest is counted below
			t.Fatalf("record %d is lost", r.offset)
		}
		done := map[*record]bool{}
		for _, c := range s.ledger.calls {
			if c.ending == effect {
				done[c.rec] = true
			}
		}
		if len(done) != n {
			t.Errorf("%d of %d records had their effect", len(done), n)
		}
	})
}

func (s *scene) hasHadEffect(r *record) bool { return s.hadEffect(r)() }

func TestScenario18ARefusedOrUnansweredCommitIsSentAgainWhole(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		put := func() {
			for i := range 5 {
				s.put(&record{key: fmt.Sprint("k", i), will: failTimes, times: 1})
			}
		}
		h := s.refuse(kmsg.OffsetCommit, s.stage(time.Second), kerr.UnknownServerError)
		put()
		s.sleep(5 * time.Second)
		if h.Hits() == 0 {
			t.Error("no commit was refused")
		}
		h.Remove()
		m.host.trouble(1, 0, 0, keyCommit)
		put()
		s.sleep(5 * time.Second)
		m.host.trouble(0, 0, 0)
		put()
		if v := s.done(); v.stats.repeats > 0 {
			t.Errorf("%d repeats", v.stats.repeats)
		}
	})
}

func TestScenario19AnswersOfALaneThatMovedSettleNothing(t *testing.T) {
	play(t, func(c *setup) { c.partitions = 2 }, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		var all []*record
		for i := range 20 {
			all = append(all, &record{partition: int32(i % 2), key: fmt.Sprint("k", i), will: failTimes, times: 1})
		}
		release := m.host.holdAnswers(keyProduce)
		defer release()
		s.put(all...)
		s.sleep(time.Second)
		other := s.start()
		s.until("a lane has moved", func() bool {
			for _, l := range other.p.Lanes() {
				if l.Phase == "running" {
					return true
				}
			}
			return false
		})
		release()
		s.done()
	})
}

func TestScenario20WhatCameAfterTheFirstCommitIsNotSkipped(t *testing.T) {
	play(t, func(c *setup) { c.topic.Start = processor.StartLatest() }, func(s *scene) {
		old := &record{key: "k"}
		s.put(old)
		m := s.start()
		s.until("the start is committed", func() bool { return s.anyFence() > 0 })
		m.kill()
		var all []*record
		for range 3 {
			all = append(all, &record{key: "k"})
		}
		s.put(all...)
		s.start()
		for _, r := range all {
			s.until("a record is done", s.hadEffect(r))
		}
		s.settle()
		s.wantCalls("what was there before", old, 0)
	})
}

func TestScenario26RecordsOfARecreatedSourceAreNewOnes(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		for i := range 5 {
			s.put(&record{key: fmt.Sprint("k", i), will: []will{succeed, failTimes}[i%2], times: 1})
		}
		if err := s.rest(time.Hour); err != nil {
			t.Fatal(err)
		}
		m.leave()
		s.recreate()
		s.start()
		var all []*record
		for i := range 5 {
			r := &record{key: fmt.Sprint("k", i)}
			all = append(all, r)
			s.put(r)
		}
		for i, r := range all {
			s.until("a new record is done", s.hadEffect(r))
			s.wantCalls(fmt.Sprint("new record ", i), r, 1)
		}
	})
}

func TestScenario26ASourceMayBeRecreatedUnderARunningWorker(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.start()
		for i := range 5 {
			s.put(&record{key: fmt.Sprint("k", i)})
		}
		if err := s.rest(time.Hour); err != nil {
			t.Fatal(err)
		}
		s.recreate()
		r := &record{key: "k"}
		s.put(r)
		s.until("the new record is done", s.hadEffect(r))
	})
}

// recreate deletes the source and creates it anew.
func (s *scene) recreate() {
	s.t.Helper()
	if err := s.cluster.DeleteTopic(sourceTopic); err != nil {
		s.t.Fatal(err)
	}
	s.watch.cl.PurgeTopicsFromClient(sourceTopic) // it would ask for the old id without end
	s.sleep(2 * time.Second)
	if err := s.cluster.CreateTopic(sourceTopic, int32(s.cfg.partitions), nil); err != nil {
		s.t.Fatal(err)
	}
	s.client.PurgeTopicsFromProducing(sourceTopic)
	s.sleep(2 * time.Second)
}

func TestScenario27RecordsInATierThatIsGoneRun(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start()
		q := &record{key: "k", will: failTimes, times: 3}
		s.put(q)
		s.until("q waits in the last tier", s.hasCopy(s.stage(20*time.Second), q))
		m.leave()
		fewer := func(c *processor.Config) {
			c.Topics[0].Retry = retrytopics.Policy{Tiers: []time.Duration{time.Second, 5 * time.Second}, MaxAttempts: 4}
		}
		s.start(fewer)
		s.until("q is done", s.hadEffect(q))
		s.start()
		for i := range 20 {
			s.put(&record{key: fmt.Sprint("k", i%4), will: failTimes, times: i % 4})
		}
		s.cfg.topic.Retry.Tiers = s.cfg.topic.Retry.Tiers[:2]
		s.done()
		s.wantCalls("q", q, 4)
	})
}

func TestScenario28AGroupThatLostItsOffsetsGoesOn(t *testing.T) {
	play(t, func(c *setup) { c.topic.Start = processor.StartLatest() }, func(s *scene) {
		m := s.start()
		s.until("the start is committed", func() bool { return s.anyFence() > 0 })
		q := &record{key: "k"}
		s.put(q)
		s.until("q is done", s.hadEffect(q))
		m.leave()
		s.watch.forget()
		resp, err := s.admin.DeleteGroups(context.Background(), groupName)
		if err != nil || resp.Error() != nil {
			t.Fatal(err, resp.Error())
		}
		r := &record{key: "k"}
		s.put(r)
		s.start()
		s.until("r is done", s.hadEffect(r))
		s.settle()
		s.wantCalls("q", q, 1)
	})
}

// forget lets the group's offsets begin anew.
func (v *watcher) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.commits = map[logPlace][]committed{}
}
