package dedupe

import "math/bits"

// segmentKeys is how many keys a segment holds on average. A segment is the most that one call copies: 2,048 keys keep
// that below a tenth of a millisecond.
const segmentKeys = 2048

// Table is a set of hashes, each with a time. The zero value is empty and ready. It is not safe for concurrent use.
//
// A key takes 25 to 32 bytes, growth included, none of them a pointer: the garbage collector has nothing to follow in a
// table of any size. An operation takes constant time and allocates nothing, but where the table grows or shrinks; it
// does so a segment at a time, so that no call copies more than some thousand keys (linear hashing: with every 2,048
// keys one segment is split in two, the others stay where they are).
//
// Times are kept in whole seconds, rounded up: a hash is never forgotten early, and up to a second late. They reach
// from 1970 to 2106; what is beyond counts as the nearest of the two.
type Table struct {
	segments []segment
	n        int
	sweep    struct{ segment, slot int } // where ExpireSome goes on
}

// segmentOf returns the segment of h in a table that is not empty: the low bits of the hash, as many as number the
// segments, one fewer for a segment that is not split yet.
func (t *Table) segmentOf(h Hash) *segment {
	n := uint64(len(t.segments))
	size := uint64(1) << bits.Len64(n-1)
	i := h[0] & (size - 1)
	if i >= n {
		i &= size/2 - 1
	}
	return &t.segments[i]
}

// Put adds h with the time at, in Unix milliseconds. If h is there, the later time stays.
func (t *Table) Put(h Hash, at int64) {
	if len(t.segments) == 0 {
		t.segments = make([]segment, 1)
	}
	if !t.segmentOf(h).put(h, toSeconds(at)) {
		return
	}
	t.n++
	if t.n > len(t.segments)*segmentKeys {
		t.split()
	}
}

// split deals the keys of one segment out to it and to a new one.
func (t *Table) split() {
	n := len(t.segments)
	i := n &^ (1 << (bits.Len(uint(n)) - 1)) // n without its highest bit
	old := t.segments[i]
	t.segments[i] = newSegment(old.n / 2)
	t.segments = append(t.segments, newSegment(old.n/2))
	for j, at := range old.times {
		if at != 0 {
			t.segmentOf(old.hashes[j]).put(old.hashes[j], at)
		}
	}
}

// Has reports whether h is in the table.
func (t *Table) Has(h Hash) bool {
	_, ok := t.Seen(h)
	return ok
}

// Seen returns the time of h in Unix milliseconds, rounded up to a second.
func (t *Table) Seen(h Hash) (at int64, ok bool) {
	if t.n == 0 {
		return 0, false
	}
	s := t.segmentOf(h)
	i, ok := s.find(h)
	if !ok {
		return 0, false
	}
	return toMillis(s.times[i]), true
}

// Remove takes h out of the table, if it is there.
func (t *Table) Remove(h Hash) {
	if t.n == 0 {
		return
	}
	s := t.segmentOf(h)
	if i, ok := s.find(h); ok {
		s.remove(i)
		s.shrink()
		t.n--
	}
}

// Expire removes every hash whose time is before the given one, in Unix milliseconds, and returns how many they were.
// It walks the whole table; see [Table.ExpireSome]. Which marks may be forgotten by their age is for the caller to know:
// one of a record that may still be read again must stay, however old (R36).
func (t *Table) Expire(before int64) (removed int) {
	for i := range t.segments {
		s := &t.segments[i]
		_, _, n := s.expire(0, toSeconds(before), 2*len(s.times))
		s.shrink()
		removed += n
	}
	t.n -= removed
	t.sweep.segment, t.sweep.slot = 0, 0
	return removed
}

// ExpireSome is [Table.Expire] for about limit slots, and goes on at its next call where it stopped, round and round. A
// table that nothing was removed from has at most 1.6 slots a key, any other at most three. A hash that moves while the
// table grows or shrinks may be missed in one round and goes in the next.
func (t *Table) ExpireSome(before int64, limit int) (removed int) {
	for range t.segments {
		if limit <= 0 {
			break
		}
		s := &t.segments[t.sweep.segment]
		next, looked, n := s.expire(t.sweep.slot, toSeconds(before), limit)
		limit -= looked + 1 // an empty segment costs a look too
		removed += n
		t.sweep.slot = next
		if next >= len(s.times) {
			s.shrink()
			t.sweep.segment, t.sweep.slot = (t.sweep.segment+1)%len(t.segments), 0
		}
	}
	t.n -= removed
	return removed
}

// Len returns the number of hashes.
func (t *Table) Len() int { return t.n }

// Bytes returns the memory that the table holds, in bytes, free slots included.
func (t *Table) Bytes() int {
	n := cap(t.segments) * segmentBytes
	for i := range t.segments {
		n += cap(t.segments[i].times) * slotBytes
	}
	return n
}

// Clone returns a copy that shares nothing with t.
func (t *Table) Clone() *Table {
	c := *t
	c.segments = make([]segment, len(t.segments))
	for i := range t.segments {
		c.segments[i] = t.segments[i].clone()
	}
	return &c
}

// Each calls yield for every hash and its time, until yield returns false. The order depends on the hashes and on what
// was done to the table, on nothing else. The table must not change meanwhile. It serves as an iterator:
//
//	for h, at := range table.Each { … }
func (t *Table) Each(yield func(h Hash, at int64) bool) {
	for i := range t.segments {
		s := &t.segments[i]
		for j, at := range s.times {
			if at != 0 && !yield(s.hashes[j], toMillis(at)) {
				return
			}
		}
	}
}
