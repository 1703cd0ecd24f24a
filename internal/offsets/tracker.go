package offsets

import (
	"maps"
	"math/bits"
	"slices"
)

// Tracker knows which offsets of one partition are settled (R21). It is not safe for concurrent use.
//
// It keeps only exceptions: below the position the offsets that are owed, at or above it those that are settled. So a
// gap in the log costs nothing, however wide, and nothing is ever cleared behind a record that went well.
type Tracker struct {
	cfg       Config
	start     int64
	position  int64
	low       int64 // lowest owed offset, or else position
	unsettled int   // how many are owed

	owed ring
	far  []int64 // owed offsets too far above low for the ring, ascending: a gap was wider than MaxSpan

	inherited Settled          // what the predecessor had settled; dropped once the position has passed it
	speaksTo  int64            // inherited position: the end of what the predecessor spoke of
	known     map[int64]uint64 // settled at or above the position, 64 offsets a word; bits below the position are stale

	gaps gapBytes
}

// NewTracker returns a tracker with the default [Config] that starts at start, the commit offset of the predecessor, and
// takes over what it had settled from there on.
func NewTracker(start int64, inherited Settled) *Tracker {
	return NewTrackerConfig(Config{}, start, inherited)
}

// NewTrackerConfig is [NewTracker] with other limits.
func NewTrackerConfig(cfg Config, start int64, inherited Settled) *Tracker {
	t := &Tracker{
		cfg: cfg.filled(), start: start, position: start, low: start,
		inherited: inherited, speaksTo: max(start, inherited.Upto),
	}
	t.owed.base = start >> 6
	return t
}

// Receive takes a record at off and moves the position behind it. It returns true if the record is owed from now on, and
// false if nothing is owed for it because it was settled before it was read (R1). The offsets between the old position
// and off have no record and are not owed. An offset below the position changes nothing and returns false.
func (t *Tracker) Receive(off int64) (fresh bool) {
	if off < t.position {
		return false
	}
	if (off < t.speaksTo || len(t.known) != 0) && t.knows(off) {
		t.move(off + 1)
		return false
	}
	if t.unsettled == 0 {
		t.low, t.owed.base = off, off>>6
	}
	t.owe(off)
	t.move(off + 1)
	return true
}

// Advance moves the position to next without a record: transaction markers, or the end of what compaction left over. It
// does nothing if the position is there already.
func (t *Tracker) Advance(next int64) {
	if next > t.position {
		t.move(next)
	}
}

// Settle says that nothing is owed for off any more. It may be called again for the same offset, and for one at or above
// the position: a ghost that a scan found before it was read (R25).
func (t *Tracker) Settle(off int64) {
	switch {
	case off >= t.position:
		t.learn(off)
	case off >= t.low && t.release(off):
		if t.gaps.counted {
			t.gaps.released(t, off)
		}
		if off == t.low {
			t.raise()
		}
	}
}

// Settled reports whether nothing is owed for off: below the position unless it was received and not settled since, at
// or above the position only if it is known as settled.
func (t *Tracker) Settled(off int64) bool {
	if off >= t.position {
		return t.knows(off)
	}
	if off < t.low {
		return true
	}
	_, far := slices.BinarySearch(t.far, off)
	return !far && !t.owed.has(off)
}

// Position returns the next offset to fetch.
func (t *Tracker) Position() int64 { return t.position }

// Start returns the offset that the tracker began at.
func (t *Tracker) Start() int64 { return t.start }

// Inherited returns the end of what the predecessor's metadata spoke of, never below Start.
func (t *Tracker) Inherited() int64 { return t.speaksTo }

// Commit returns the offset to commit: the lowest that was received and is not settled, or else the position (R21).
func (t *Tracker) Commit() int64 { return t.low }

// Unsettled returns how many offsets were received and are not settled.
func (t *Tracker) Unsettled() int { return t.unsettled }

// Span returns how far the position is ahead of the commit offset.
func (t *Tracker) Span() int64 { return t.position - t.low }

// EachUnsettled calls f with every offset that was received and is not settled, in ascending order, until it returns
// false. f must not change the tracker.
func (t *Tracker) EachUnsettled(f func(off int64) bool) {
	if t.unsettled == 0 {
		return
	}
	for off, ok := t.owed.next(t.low); ok; off, ok = t.owed.next(off + 1) {
		if !f(off) {
			return
		}
	}
	for _, off := range t.far {
		if !f(off) {
			return
		}
	}
}

// move sets the position to next, which is above it.
func (t *Tracker) move(next int64) {
	if len(t.known) != 0 {
		t.forget(next)
	}
	if next >= t.speaksTo && t.inherited.edges != nil {
		t.inherited = Settled{}
	}
	t.position = next
	if t.unsettled == 0 {
		t.low, t.owed.base = next, next>>6
	}
}

// owe adds off, which is above every other that is owed.
func (t *Tracker) owe(off int64) {
	t.unsettled++
	if !t.owed.covers(off) || len(t.far) != 0 {
		if t.tooFar(off) { // as every offset is that follows one in far
			t.far = append(t.far, off)
			t.gaps = gapBytes{}
			return
		}
		t.owed.grow(off)
	}
	if t.gaps.counted {
		t.gaps.owed(t, off)
	}
	t.owed.set(off)
}

// tooFar: the ring is never made larger than the span that admission allows needs. Beyond it there is at most what one
// wide gap, or a predecessor with such a gap, left over.
func (t *Tracker) tooFar(off int64) bool { return off>>6-t.owed.base >= t.cfg.MaxSpan>>6+2 }

func (t *Tracker) release(off int64) bool {
	ok := t.owed.remove(off)
	if !ok && len(t.far) > 0 {
		var i int
		if i, ok = slices.BinarySearch(t.far, off); ok {
			t.far = slices.Delete(t.far, i, i+1)
		}
	}
	if ok {
		t.unsettled--
	}
	return ok
}

// keptWords is how large an empty ring may stay: 8 KiB. A larger one was needed for a record that was stuck, and a
// process may have thousands of trackers.
const keptWords = 1024

// raise finds the next lowest owed offset after the lowest was settled. Each word is passed once.
func (t *Tracker) raise() {
	if t.unsettled == 0 {
		t.low, t.gaps, t.far = t.position, gapBytes{}, nil
		if len(t.owed.words) > keptWords {
			t.owed = ring{}
		}
		t.owed.base = t.low >> 6
		return
	}
	low, ok := t.owed.next(t.low)
	if !ok {
		low = t.far[0]
	}
	t.low, t.owed.base = low, low>>6
	for len(t.far) > 0 && !t.tooFar(t.far[0]) {
		if !t.owed.covers(t.far[0]) {
			t.owed.grow(t.far[0])
		}
		t.owed.set(t.far[0])
		t.far = t.far[1:]
	}
}

// knows reports whether off, at or above the position, is settled.
func (t *Tracker) knows(off int64) bool {
	return t.known[off>>6]>>(off&63)&1 == 1 || t.inherited.Contains(off)
}

func (t *Tracker) learn(off int64) {
	if t.inherited.Contains(off) {
		return // the two never overlap
	}
	if t.known == nil {
		t.known = make(map[int64]uint64)
	}
	t.known[off>>6] |= 1 << (off & 63)
}

// forget drops the words of known that the position leaves behind when it moves to next.
func (t *Tracker) forget(next int64) {
	first, end := t.position>>6, next>>6
	if end-first > int64(len(t.known)) {
		maps.DeleteFunc(t.known, func(i int64, _ uint64) bool { return i < end })
		return
	}
	for i := first; i < end; i++ {
		delete(t.known, i)
	}
}

// knownRuns returns the settled runs in [position, upto).
func (t *Tracker) knownRuns(upto int64) []int64 {
	runs := clip(t.inherited.edges, t.position, upto)
	if len(t.known) == 0 {
		return runs
	}
	var read []int64
	for _, i := range slices.Sorted(maps.Keys(t.known)) {
		for w := t.known[i]; w != 0; w &= w - 1 {
			if off := i<<6 + int64(bits.TrailingZeros64(w)); off >= t.position && off < upto {
				read = appendRun(read, off, off+1)
			}
		}
	}
	return union(runs, read)
}
