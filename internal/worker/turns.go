package worker

import (
	"slices"
	"sync"
)

// turns lets one lane of the process at a time run a record that is suspected of killing it (R35).
type turns struct {
	mu      sync.Mutex
	owner   *tenure
	waiting []*tenure
}

// take gives a lane the turn, if no other lane has it; else the lane is woken when it is free.
func (u *turns) take(t *tenure) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.owner == nil {
		u.owner = t
	}
	if u.owner == t {
		return true
	}
	if !slices.Contains(u.waiting, t) {
		u.waiting = append(u.waiting, t)
	}
	return false
}

// release gives the turn back; it does nothing for a lane that has none.
func (u *turns) release(t *tenure) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = slices.DeleteFunc(u.waiting, func(w *tenure) bool { return w == t })
	if u.owner != t {
		return
	}
	u.owner = nil
	for _, w := range u.waiting {
		w.in.signal()
	}
	u.waiting = nil
}

// takeTurns asks for the turn when a suspect of the lane could start, and gives it back when it may.
func (t *tenure) takeTurns() {
	switch {
	case t.hasTurn && t.m.EndTurn():
		t.hasTurn = false
		t.w.turns.release(t)
	case !t.hasTurn && t.m.WantsTurn() && t.w.turns.take(t):
		t.hasTurn = true
		t.m.GiveTurn()
		t.in.signal()
	}
}
