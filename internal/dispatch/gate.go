package dispatch

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Gate is what the pools of a process have in common: at most one task that runs alone, and a bound on calls in all. Where
// neither is in use it costs a pool one atomic load a chunk.
type Gate struct {
	// closed means that a task waits that is to run alone, or runs. A pool looks at it with its lock held, before it hands
	// out a chunk; the gate sets it before it takes the pools' locks to count what runs. So a chunk is counted, or not
	// handed out.
	closed atomic.Bool
	turn   atomic.Pointer[Pool] // whose task may run alone now; that pool takes it away with its lock held

	mu    sync.Mutex
	pools []*Pool // the next to have a turn first

	permits permits
}

// NewGate returns a gate that lets at most maxInAll calls run at once, over all of its pools; 0 means no bound. Pools that
// wait for room get it in turns. Abandoned calls are not counted.
func NewGate(maxInAll int) *Gate {
	return &Gate{permits: permits{limit: maxInAll, free: maxInAll}}
}

func (g *Gate) join(p *Pool) {
	g.mu.Lock()
	g.pools = append(g.pools, p)
	g.mu.Unlock()
	g.advance()
}

func (g *Gate) leave(p *Pool) {
	g.mu.Lock()
	g.pools = slices.DeleteFunc(g.pools, func(o *Pool) bool { return o == p })
	g.turn.CompareAndSwap(p, nil)
	g.mu.Unlock()
	if next := g.permits.leave(p); next != nil {
		next.kick()
	}
	g.advance()
}

// release gives a permit back.
func (g *Gate) release() {
	if p := g.permits.release(); p != nil {
		p.kick()
	}
}

func (g *Gate) advanceIfClosed() {
	if g.closed.Load() {
		g.advance()
	}
}

// advance looks at the pools anew: is a task to run alone, may it, is the gate to open. It is called after every change
// that may matter, without any pool's lock.
func (g *Gate) advance() {
	g.mu.Lock()
	kick := g.decide()
	g.mu.Unlock()
	for _, p := range kick {
		p.kick()
	}
}

func (g *Gate) decide() (kick []*Pool) {
	if t := g.turn.Load(); t != nil && t.keepsTurn() {
		return nil
	}
	i := slices.IndexFunc(g.pools, (*Pool).wantsTurn)
	if i < 0 {
		if g.closed.Swap(false) {
			return slices.Clone(g.pools)
		}
		return nil
	}
	g.closed.Store(true)
	if slices.ContainsFunc(g.pools, (*Pool).isActive) {
		return nil
	}
	p := g.pools[i]
	g.pools = append(slices.Delete(g.pools, i, i+1), p)
	g.turn.Store(p)
	return []*Pool{p}
}

// keepsTurn says that the pool uses its turn, or will; else it takes it away.
func (p *Pool) keepsTurn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate.turn.Load() == p && (p.aloneRuns || p.alone.len() > 0 && !p.stopped()) {
		return true
	}
	p.gate.turn.CompareAndSwap(p, nil)
	return false
}

func (p *Pool) wantsTurn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone.len() > 0 && !p.stopped()
}

func (p *Pool) isActive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active > 0
}
