package offsets

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Reach returns the end of what the metadata speaks of (R20). Of the offsets below it that were not read it says
// "unsettled" unless they are known as settled. What is settled at or above it does not fit and is left out; the reach
// never goes back.
func (t *Tracker) Reach() int64 { return max(t.position, t.speaksTo, t.low+t.cfg.Window) }

// SettledSet returns what is settled in [Commit, Reach), for the metadata of a commit at Commit. An offset that has no
// record counts as settled.
func (t *Tracker) SettledSet() Settled {
	s := Settled{From: t.low, Upto: t.Reach()}
	s.edges = make([]int64, 0, 2*min(int64(t.unsettled), t.Span()-int64(t.unsettled))+2)
	at := t.low
	t.EachUnsettled(func(off int64) bool {
		s.edges = appendRun(s.edges, at, off)
		at = off + 1
		return true
	})
	s.edges = appendRun(s.edges, at, t.position)
	for known := t.knownRuns(s.Upto); len(known) > 0; known = known[2:] {
		s.edges = appendRun(s.edges, known[0], known[1])
	}
	return s
}

// Clone returns an independent copy.
func (t *Tracker) Clone() *Tracker {
	c := *t
	c.owed = t.owed.clone()
	c.far = slices.Clone(t.far)
	c.known = maps.Clone(t.known)
	return &c
}

// AppendState appends a canonical form of everything that decides how the tracker will answer: trackers that append the
// same bytes behave alike, and those that behave alike append the same, whatever their past. No form is the beginning of
// another, so several can be put together.
func (t *Tracker) AppendState(b []byte) []byte {
	b = binary.AppendVarint(b, t.cfg.Window)
	b = binary.AppendVarint(b, t.cfg.MaxSpan)
	b = binary.AppendVarint(b, int64(t.cfg.GapBytes))
	b = binary.AppendVarint(b, t.start)
	b = binary.AppendVarint(b, t.position)
	b = binary.AppendVarint(b, max(t.speaksTo, t.position)) // below the position it decides nothing
	b = binary.AppendUvarint(b, uint64(t.unsettled))
	at := t.start
	t.EachUnsettled(func(off int64) bool {
		b = binary.AppendUvarint(b, uint64(off-at))
		at = off
		return true
	})
	return appendEdges(b, t.knownRuns(math.MaxInt64))
}
