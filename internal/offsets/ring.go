package offsets

import "math/bits"

// ring is a set of offsets within a moving window: a circular bitmap, and above it a second one that tells which words
// of the first are not zero. The second makes long empty stretches cheap: a window of 2^20 offsets is crossed in 256 steps.
//
// Only words from base up may hold a bit, so moving base up costs nothing.
type ring struct {
	base  int64    // number of the lowest word (offset / 64) of the window
	words []uint64 // none, or a power of two of them; word i lies in slot i modulo their number
	used  []uint64 // bit s is set when words[s] is not zero
}

func (r *ring) slot(word int64) int { return int(word) & (len(r.words) - 1) }

// covers reports whether there is room for off; [ring.grow] makes it.
func (r *ring) covers(off int64) bool { return uint64(off>>6-r.base) < uint64(len(r.words)) }

func (r *ring) has(off int64) bool {
	return r.covers(off) && r.words[r.slot(off>>6)]>>(off&63)&1 == 1
}

// set adds off, which must be covered.
func (r *ring) set(off int64) {
	s := r.slot(off >> 6)
	if r.words[s] == 0 {
		r.used[s>>6] |= 1 << (s & 63)
	}
	r.words[s] |= 1 << (off & 63)
}

// remove takes off out and reports whether it was in.
func (r *ring) remove(off int64) bool {
	if !r.covers(off) {
		return false
	}
	s := r.slot(off >> 6)
	w, bit := r.words[s], uint64(1)<<(off&63)
	if w&bit == 0 {
		return false
	}
	r.words[s] = w &^ bit
	if w == bit {
		r.used[s>>6] &^= 1 << (s & 63)
	}
	return true
}

// next returns the lowest offset of the set at or above off.
func (r *ring) next(off int64) (int64, bool) {
	if !r.covers(off) {
		return 0, false
	}
	if w := r.words[r.slot(off>>6)] >> (off & 63); w != 0 {
		return off + int64(bits.TrailingZeros64(w)), true
	}
	i, ok := r.nextWord(off>>6 + 1)
	if !ok {
		return 0, false
	}
	return i<<6 + int64(bits.TrailingZeros64(r.words[r.slot(i)])), true
}

// prev returns the highest offset of the set below off.
func (r *ring) prev(off int64) (int64, bool) {
	if off = min(off, (r.base+int64(len(r.words)))<<6) - 1; !r.covers(off) {
		return 0, false
	}
	if w := r.words[r.slot(off>>6)] << (63 - off&63); w != 0 {
		return off - int64(bits.LeadingZeros64(w)), true
	}
	i, ok := r.prevWord(off>>6 - 1)
	if !ok {
		return 0, false
	}
	return i<<6 + 63 - int64(bits.LeadingZeros64(r.words[r.slot(i)])), true
}

// nextWord returns the first word at or above i that is not zero. A step goes to the end of a word of used, or to the
// last slot; behind that slot the window goes on in slot 0, and what is found beyond its end belongs to its beginning.
func (r *ring) nextWord(i int64) (int64, bool) {
	for end := r.base + int64(len(r.words)); i < end; {
		s := r.slot(i)
		if u := r.used[s>>6] >> (s & 63); u != 0 {
			i += int64(bits.TrailingZeros64(u))
			return i, i < end
		}
		i += int64(min(64-s&63, len(r.words)-s))
	}
	return 0, false
}

func (r *ring) prevWord(i int64) (int64, bool) {
	for i >= r.base {
		s := r.slot(i)
		if u := r.used[s>>6] << (63 - s&63); u != 0 {
			i -= int64(bits.LeadingZeros64(u))
			return i, i >= r.base
		}
		i -= int64(s&63 + 1)
	}
	return 0, false
}

// grow makes room for off by doubling, and keeps the set.
func (r *ring) grow(off int64) {
	n := max(len(r.words), 1)
	for off>>6-r.base >= int64(n) {
		n *= 2
	}
	old := *r
	r.allocate(n)
	for i := old.base; i < old.base+int64(len(old.words)); i++ {
		if w := old.words[old.slot(i)]; w != 0 {
			s := r.slot(i)
			r.words[s] = w
			r.used[s>>6] |= 1 << (s & 63)
		}
	}
}

func (r *ring) allocate(n int) {
	both := make([]uint64, n+(n+63)/64)
	r.words, r.used = both[:n:n], both[n:]
}

func (r *ring) clone() ring {
	c := ring{base: r.base}
	if len(r.words) > 0 {
		c.allocate(len(r.words))
		copy(c.words, r.words)
		copy(c.used, r.used)
	}
	return c
}
