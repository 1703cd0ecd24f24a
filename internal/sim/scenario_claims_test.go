//go:build synctests

package sim_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestScenario21AClaimOfADeadOwnerIsUncertain(t *testing.T) {
	play(t, withMode(processor.ClaimFirst), func(s *scene) {
		m := s.start()
		q := &record{key: "k", takes: 3 * time.Second}
		s.put(q)
		s.until("q runs", s.started(q, 1))
		m.kill()
		s.start()
		s.done()
		s.wantCalls("q", q, 1)
		s.wantDead(q, retrytopics.ReasonUncertain)
	})
}

func TestScenario21AnErrorWhoseCopyIsDurableReleasesItsClaim(t *testing.T) {
	play(t, withMode(processor.ClaimFirst), func(s *scene) {
		m := s.start()
		q := &record{key: "k", will: failTimes, times: 1}
		s.put(q)
		s.until("q waits", s.hasCopy(s.stage(time.Second), q))
		m.kill()
		s.start()
		s.done()
		s.wantCalls("q", q, 2)
		s.wantDead(q)
	})
}

func TestScenario22AClaimedFollowerStaysUncertain(t *testing.T) {
	play(t, withMode(processor.ClaimFirst), func(s *scene) {
		m := s.start()
		p, q := &record{key: "k", will: failTimes, times: 2}, &record{key: "other", x: "q"}
		s.put(p)
		s.until("p waits", s.hasCopy(s.stage(5*time.Second), p))
		// q is claimed and dies; a late copy of its key's predecessor makes it a follower in its next life.
		q.key, q.takes = "k2", 3*time.Second
		s.put(q)
		s.until("q runs", s.started(q, 1))
		m.kill()
		s.start()
		s.done()
		s.wantCalls("q", q, 1)
		s.wantDead(q, retrytopics.ReasonUncertain)
	})
}

func TestScenario23AClaimThatIsAckedAfterTheLossStartsNothing(t *testing.T) {
	play(t, func(c *setup) { withMode(processor.ClaimFirst)(c); withUserKey(c) }, func(s *scene) {
		m := s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		release := m.host.holdAnswers(keyProduce)
		defer release()
		q, r := &record{key: "k", x: "one"}, &record{key: "other", x: "one"}
		s.put(q, r)
		s.until("the claim has landed", s.hasMarks(1))
		other := s.start()
		m.isolate(20 * time.Second)
		s.until("the other one owns the lane", func() bool {
			for _, l := range other.p.Lanes() {
				if l.Phase == "running" {
					return true
				}
			}
			return false
		})
		release()
		s.done()
		s.wantCalls("q", q, 0)
		s.wantCalls("r", r, 0)
		s.wantDead(q, retrytopics.ReasonUncertain)
		s.wantDead(r, retrytopics.ReasonUncertain)
	})
}

func TestScenario24LateWritesOfADeadOwnerDoNoHarm(t *testing.T) {
	for _, mode := range []processor.Mode{processor.RecordAfter, processor.ClaimFirst} {
		t.Run(mode.String(), func(t *testing.T) {
			play(t, withMode(mode), func(s *scene) {
				m := s.start()
				s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
				m.host.farAway(20*time.Second, keyProduce)
				q, r, d := &record{key: "k", will: failTimes, times: 1}, &record{key: "k"}, &record{key: "d"}
				s.put(q, r, d)
				s.sleep(time.Second)
				m.kill()
				s.start()
				s.sleep(25 * time.Second)
				s.done()
				s.wantOrder(s.anyFence(), q, r)
			})
		})
	}
}

func TestScenario30AnAbandonedCallIsUncertain(t *testing.T) {
	play(t, withMode(processor.ClaimFirst), func(s *scene) {
		s.start()
		q, r := &record{key: "k", will: deaf, times: 1}, &record{key: "k"}
		s.put(q, r)
		s.until("the call has returned, late", func() bool {
			c := s.callsOf(q)
			return len(c) == 1 && c[0].ending == abandoned
		})
		s.done()
		s.wantCalls("q", q, 1)
		s.wantDead(q, retrytopics.ReasonUncertain)
		s.wantCalls("r", r, 1)
	})
}

func TestAFailureOfTheFenceCommitStartsNothing(t *testing.T) {
	play(t, withMode(processor.ClaimFirst), func(s *scene) {
		s.start()
		s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
		h := s.refuse(kmsg.OffsetCommit, sourceTopic, kerr.CoordinatorNotAvailable)
		q := &record{key: "k"}
		s.put(q)
		s.until("the claim has landed", s.hasMarks(1))
		s.sleep(5 * time.Second)
		s.wantCalls("q", q, 0)
		h.Remove()
		s.done()
		s.wantCalls("q", q, 1)
	})
}
