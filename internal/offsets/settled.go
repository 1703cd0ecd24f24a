package offsets

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// Settled tells which offsets in [From, Upto) are settled; of all others it says nothing. It is an immutable value: it
// may be copied, shared and read at the same time. The zero value speaks of no offset.
type Settled struct {
	From, Upto int64
	edges      []int64 // the settled runs, ascending and never touching: first, end, first, end, …
}

// SettledOf returns the set that speaks of [from, upto) and holds those of offs, in any order, that lie in there.
func SettledOf(from, upto int64, offs ...int64) Settled {
	s := Settled{From: from, Upto: max(from, upto)}
	offs = slices.Clone(offs)
	slices.Sort(offs)
	for _, off := range slices.Compact(offs) {
		if off >= s.From && off < s.Upto {
			s.edges = appendRun(s.edges, off, off+1)
		}
	}
	return s
}

// Contains reports whether off is settled. It takes a few steps of a binary search.
func (s Settled) Contains(off int64) bool {
	i, exact := slices.BinarySearch(s.edges, off)
	return exact == (i%2 == 0)
}

// Each calls f with every settled offset, in ascending order. The runs may be long: a gap that a compacted topic has is
// settled as a whole.
func (s Settled) Each(f func(off int64)) {
	for i := 0; i < len(s.edges); i += 2 {
		for off := s.edges[i]; off < s.edges[i+1]; off++ {
			f(off)
		}
	}
}

// Empty reports whether no offset is settled.
func (s Settled) Empty() bool { return len(s.edges) == 0 }

// Len returns how many offsets are settled.
func (s Settled) Len() int64 {
	n := int64(0)
	for i := 0; i < len(s.edges); i += 2 {
		n += s.edges[i+1] - s.edges[i]
	}
	return n
}

// Below returns what is left when the log was cut at fork and written anew from there (R41): it speaks of no offset at
// or above it.
func (s Settled) Below(fork int64) Settled {
	if fork >= s.Upto {
		return s
	}
	return s.within(min(s.From, fork), fork)
}

// within returns the set for [from, upto) that has what s has there.
func (s Settled) within(from, upto int64) Settled {
	return Settled{From: from, Upto: upto, edges: clip(s.edges, from, upto)}
}

// Equal reports whether both speak of the same offsets and say the same of them.
func (s Settled) Equal(o Settled) bool {
	return s.From == o.From && s.Upto == o.Upto && slices.Equal(s.edges, o.edges)
}

// String returns the range and the settled runs in it, for example "[100,120) 101-104 107".
func (s Settled) String() string {
	b := strings.Builder{}
	b.WriteString("[" + strconv.FormatInt(s.From, 10) + "," + strconv.FormatInt(s.Upto, 10) + ")")
	for i := 0; i < len(s.edges); i += 2 {
		b.WriteString(" " + strconv.FormatInt(s.edges[i], 10))
		if last := s.edges[i+1] - 1; last > s.edges[i] {
			b.WriteString("-" + strconv.FormatInt(last, 10))
		}
	}
	return b.String()
}

// AppendState appends a canonical form: equal bytes for equal sets only, and none is the beginning of another.
func (s Settled) AppendState(b []byte) []byte {
	b = binary.AppendVarint(b, s.From)
	b = binary.AppendVarint(b, s.Upto)
	return appendEdges(b, s.edges)
}

func appendEdges(b []byte, edges []int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(edges)))
	at := int64(0)
	for _, e := range edges {
		b = binary.AppendVarint(b, e-at)
		at = e
	}
	return b
}

// appendRun adds the run [first, end), which must not begin below the end of the last one.
func appendRun(edges []int64, first, end int64) []int64 {
	if first >= end {
		return edges
	}
	if n := len(edges); n > 0 && edges[n-1] == first {
		edges[n-1] = end
		return edges
	}
	return append(edges, first, end)
}

// clip returns the part of the runs that lies in [from, upto). It shares the memory of edges where it can; nobody may
// write to either.
func clip(edges []int64, from, upto int64) []int64 {
	i, _ := slices.BinarySearch(edges, from+1)
	j, _ := slices.BinarySearch(edges, upto)
	if j%2 == 1 && edges[j] == upto {
		j++
	}
	if i%2 == 0 && j%2 == 0 {
		return edges[i:max(i, j):max(i, j)]
	}
	var cut []int64
	for i -= i % 2; i < j; i += 2 {
		cut = appendRun(cut, max(edges[i], from), min(edges[i+1], upto))
	}
	return cut
}

// union merges two lists of runs that do not overlap.
func union(a, b []int64) []int64 {
	out := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0] < a[0] {
			a, b = b, a
		}
		out = appendRun(out, a[0], a[1])
		a = a[2:]
	}
	return out
}
