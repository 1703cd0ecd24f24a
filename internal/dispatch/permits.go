package dispatch

import (
	"slices"
	"sync"
)

// permits bounds the chunks that are out at once, over all pools. A pool that got none waits in line; the first so many
// of the line as there are free permits may take one, and nobody else may.
type permits struct {
	limit int // 0: no bound, and nothing below is used

	mu      sync.Mutex
	free    int
	waiting []*Pool // each at most once
}

func (l *permits) limited() bool { return l.limit > 0 }

// acquire takes a permit for p, or puts p in the line.
func (l *permits) acquire(p *Pool) bool {
	if l.limit <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, p)
	switch {
	case i < 0 && l.free > len(l.waiting):
	case i < 0:
		l.waiting = append(l.waiting, p)
		return false
	case i < l.free:
		l.waiting = slices.Delete(l.waiting, i, i+1)
	default:
		return false
	}
	l.free--
	return true
}

// release gives a permit back and returns the pool that may take it now, nil if none waits.
func (l *permits) release() *Pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free++
	return l.last()
}

// leave takes p out of the line and returns the pool that may take a permit in its place, nil if there is none.
func (l *permits) leave(p *Pool) *Pool {
	if l.limit <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return nil
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if i >= l.free {
		return nil
	}
	return l.last()
}

// last returns the last pool of the line that may take a permit.
func (l *permits) last() *Pool {
	if l.free == 0 || l.free > len(l.waiting) {
		return nil
	}
	return l.waiting[l.free-1]
}
