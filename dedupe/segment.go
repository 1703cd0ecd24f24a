package dedupe

import (
	"math"
	"math/bits"
	"slices"
)

// A segment is a part of a table: open addressing with linear probing. It grows by a quarter when more than 4/5 of its
// slots are taken, so 16/25 of them are taken right after: at 20 bytes a slot that is 25 to 32 bytes a key. A removal
// closes the gap that it leaves, so a search ends at the first free slot whatever happened before.
//
// Hash[0] chose the segment, Hash[1] chooses the slot.
type segment struct {
	hashes []Hash
	times  []uint32 // Unix seconds; 0 means that the slot is free
	n      int      // slots taken
}

const (
	minSlots     = 8
	slotBytes    = 16 + 4      // a hash and a time
	segmentBytes = 24 + 24 + 8 // two slices and a count, on 64 bits
)

// newSegment has room for n keys, and for a quarter more before it grows.
func newSegment(n int) segment {
	slots := max(minSlots, n*25/16+1)
	return segment{hashes: make([]Hash, slots), times: make([]uint32, slots)}
}

// home is where a search for h begins. The product spreads the hashes evenly over any number of slots.
func (s *segment) home(h Hash) int {
	i, _ := bits.Mul64(h[1], uint64(len(s.times)))
	return int(i)
}

func (s *segment) after(i int) int {
	if i+1 < len(s.times) {
		return i + 1
	}
	return 0
}

// distance counts the steps forward from slot a to slot b.
func (s *segment) distance(a, b int) int {
	if a <= b {
		return b - a
	}
	return b - a + len(s.times)
}

// find returns the slot of h, or the free slot for it, -1 if there are no slots.
func (s *segment) find(h Hash) (slot int, ok bool) {
	if len(s.times) == 0 {
		return -1, false
	}
	for i := s.home(h); ; i = s.after(i) {
		if s.times[i] == 0 {
			return i, false
		}
		if s.hashes[i] == h {
			return i, true
		}
	}
}

// put adds h, or moves its time forward, and reports whether h is new.
func (s *segment) put(h Hash, at uint32) (added bool) {
	i, ok := s.find(h)
	if ok {
		s.times[i] = max(s.times[i], at)
		return false
	}
	if (s.n+1)*5 > len(s.times)*4 {
		s.resize()
		i, _ = s.find(h)
	}
	s.hashes[i], s.times[i] = h, at
	s.n++
	return true
}

// remove frees slot i and moves back what would not be found behind the gap.
func (s *segment) remove(i int) {
	gap := i
	for j := s.after(i); s.times[j] != 0; j = s.after(j) {
		if s.distance(s.home(s.hashes[j]), j) >= s.distance(gap, j) {
			s.hashes[gap], s.times[gap] = s.hashes[j], s.times[j]
			gap = j
		}
	}
	s.times[gap] = 0
	s.n--
}

// expire looks at slots from the given one on, limit times at most, and removes what is older than before. It returns
// the slot to go on from, len(s.times) at the end.
//
// A removal moves hashes back only as far as the slot in hand, which is looked at again. A hash that was moved from the
// slots' start to their end is looked at twice; none is passed over.
func (s *segment) expire(from int, before uint32, limit int) (next, looked, removed int) {
	i := from
	for ; i < len(s.times) && looked < limit; looked++ {
		if at := s.times[i]; at == 0 || at >= before {
			i++
			continue
		}
		s.remove(i)
		removed++
	}
	return i, looked, removed
}

// shrink gives memory back when most slots are free.
func (s *segment) shrink() {
	if s.n == 0 {
		*s = segment{}
	} else if len(s.times) > minSlots && s.n*3 < len(s.times) {
		s.resize()
	}
}

// resize moves the keys to as many slots as they should have.
func (s *segment) resize() {
	old := *s
	*s = newSegment(old.n)
	for i, at := range old.times {
		if at == 0 {
			continue
		}
		j, _ := s.find(old.hashes[i])
		s.hashes[j], s.times[j] = old.hashes[i], at
	}
	s.n = old.n
}

func (s *segment) clone() segment {
	return segment{hashes: slices.Clone(s.hashes), times: slices.Clone(s.times), n: s.n}
}

// toSeconds rounds up, into what a slot can hold; 0 is taken.
func toSeconds(millis int64) uint32 {
	if millis <= 1000 {
		return 1
	}
	return uint32(min((millis-1)/1000+1, math.MaxUint32))
}

func toMillis(seconds uint32) int64 { return int64(seconds) * 1000 }
