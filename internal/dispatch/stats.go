package dispatch

import (
	"sync/atomic"
	"time"
)

// counters only grow. Those without atomics are under the pool's lock.
type counters struct {
	calls     uint64 // that returned
	abandoned uint64
	late      uint64
	dropped   atomic.Uint64
}

// Stats is what a pool looks like at one moment.
type Stats struct {
	Slots     int // that take tasks; those of stuck calls that were not replaced are missing
	Busy      int // of them, those that have tasks
	Lost      int // slots that stuck calls took along
	Abandoned int // stuck calls that still run
	Pending   int // tasks in queues, those that run alone included; not those in the hands of a slot

	Calls          uint64        // that returned in time
	AbandonedTotal uint64        // calls that were given up
	LateReturns    uint64        // of them, those that returned later
	Dropped        uint64        // results that came after their queue was closed
	MeanCall       time.Duration // lately; 0 if not known
}

// Stats returns the pool's numbers.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Slots:          len(p.slots),
		Busy:           p.active,
		Lost:           p.lost,
		Abandoned:      len(p.abandoned),
		Pending:        p.pending + p.alone.len(),
		Calls:          p.counters.calls,
		AbandonedTotal: p.counters.abandoned,
		LateReturns:    p.counters.late,
		Dropped:        p.counters.dropped.Load(),
		MeanCall:       p.pace.mean,
	}
}

// Info tells of one call that runs.
type Info struct {
	Token     uint64
	Owner     Owner
	Since     time.Time     // exact to two ticks of 5 ms
	Age       time.Duration // of the call, now
	Abandoned bool          // nobody waits for it any more
}

// InFlight lists the calls that run, the abandoned ones last. It looks at every slot.
func (p *Pool) InFlight() []Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	infos := make([]Info, 0, p.active+len(p.abandoned))
	for _, s := range p.slots {
		if g := s.load(); s.busy && g.calling() {
			infos = append(infos, p.info(s, g))
		}
	}
	for _, s := range p.abandoned {
		infos = append(infos, p.info(s, s.load()))
	}
	return infos
}

func (p *Pool) info(s *Slot, g progress) Info {
	now := p.now()
	since := s.began(g, now)
	return Info{
		Token:     s.tasks[g.started()-1].Token,
		Owner:     s.queue.Load().owner,
		Since:     p.time(since),
		Age:       now - since,
		Abandoned: g.abandoned(),
	}
}
