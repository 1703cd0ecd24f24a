//go:build synctests

package sim_test

import (
	"testing"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

func TestScenario31AKillerIsConvictedAndNoBystander(t *testing.T) {
	play(t, func(c *setup) { c.partitions = 2 }, func(s *scene) {
		killer := &record{key: "killer"}
		victim := &record{partition: 1, key: "victim", takes: 2 * time.Second}
		s.onCall = func(c *call) {
			if c.rec == killer {
				go c.member.kill()
				<-c.member.killed
			}
		}
		s.put(killer, victim)
		lives := 0
		for lives < 12 && !s.hasCopy(s.names.DLT(), killer)() {
			lives++
			m := s.start()
			s.until("the process dies, or the killer is in the dlt", func() bool {
				select {
				case <-m.killed:
					return true
				default:
					return s.hasCopy(s.names.DLT(), killer)()
				}
			})
		}
		if lives > 8 {
			t.Errorf("it took %d lives, want 7 deaths at most", lives)
		}
		s.done()
		s.wantDead(killer, retrytopics.ReasonCrash)
		s.wantDead(victim)
	})
}
