package offsets

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// The settled section of version 1 begins with uvarint Upto - From (From is the commit offset) and a byte for one of
// two forms; the shorter is written.
//
//	0 runs: in turn, as uvarints, how many offsets are unsettled and how many settled from there on
//	1 owed: uvarint end - From, where end is the end of the last settled run; uvarint number of bitmap bytes; a bitmap from
//	  From on, lowest bit first, 1 = unsettled; then each unsettled offset between the bitmap and end, as the uvarint
//	  number of offsets since the one before it (or since the bitmap)
//
// What either form does not reach is unsettled. Runs serve the usual set, of few runs. The other form is what R20 counts
// with: a full window is a bitmap, a wide span with few unsettled offsets is a list, and a full window with a gap in the
// log above it is a bitmap with a short list.
const (
	formRuns = 0
	formOwed = 1
)

// appendSettled writes s in at most room bytes. If it does not fit, the top is left out, and Upto lowered with it.
func appendSettled(b []byte, s Settled, room int) []byte {
	p := planSettled(s)
	if p.size > int64(room) {
		s = lower(s, room)
		p = planSettled(s)
	}
	b = binary.AppendUvarint(b, uint64(s.Upto-s.From))
	b = append(b, p.form)
	if p.form == formOwed {
		return appendOwed(b, s, p.bitmap)
	}
	return appendRuns(b, s)
}

// lower returns as many of the lowest runs of s as fit.
func lower(s Settled, room int) Settled {
	part := func(runs int) Settled {
		if runs == 0 {
			return Settled{From: s.From, Upto: s.From}
		}
		return Settled{From: s.From, Upto: s.edges[2*runs-1], edges: s.edges[:2*runs]}
	}
	return part(sort.Search(len(s.edges)/2, func(n int) bool { return planSettled(part(n+1)).size > int64(room) }))
}

// settledPlan is how to write a set: the form, the bytes of bitmap in it, and how long all of it is at most.
type settledPlan struct {
	form         byte
	bitmap, size int64
}

func planSettled(s Settled) settledPlan {
	p := settledPlan{form: formRuns}
	at := s.From
	for _, e := range s.edges {
		p.size += uvarintLen(e - at)
		at = e
	}
	if len(s.edges) > 2 { // a single run is as short as can be
		if bitmap, size := planOwed(s.From, s.edges); size < p.size {
			p = settledPlan{formOwed, bitmap, size}
		}
	}
	p.size += uvarintLen(s.Upto-s.From) + 1
	return p
}

// planOwed tries every end of an unsettled run as the end of the bitmap.
func planOwed(from int64, edges []int64) (bitmap, size int64) {
	total := int64(0)
	eachOwedRun(from, edges, func(gap, first, end int64) { total = listed(total, gap, first, end) })
	size = total
	before := int64(0)
	eachOwedRun(from, edges, func(gap, first, end int64) {
		before = listed(before, gap, first, end)
		if n := (end-from-1)/8 + 1; n+total-before < size {
			bitmap, size = n, n+total-before
		}
	})
	return bitmap, size + uvarintLen(edges[len(edges)-1]-from) + uvarintLen(bitmap)
}

// listed returns the length of a list of n bytes to which the offsets [first, end) are added, gap above the last one. It
// stops counting where no list fits any more.
func listed(n, gap, first, end int64) int64 {
	return min(n+uvarintLen(gap)+min(end-first-1, math.MaxInt32), math.MaxInt32)
}

// eachOwedRun calls f with every unsettled run below the last settled one, and how many settled offsets lie between it
// and the one before.
func eachOwedRun(from int64, edges []int64, f func(gap, first, end int64)) {
	first, last := from, from
	for i := 0; i < len(edges); i += 2 {
		if first < edges[i] {
			f(first-last, first, edges[i])
			last = edges[i]
		}
		first = edges[i+1]
	}
}

func appendRuns(b []byte, s Settled) []byte {
	at := s.From
	for _, e := range s.edges {
		b = binary.AppendUvarint(b, uint64(e-at))
		at = e
	}
	return b
}

func appendOwed(b []byte, s Settled, bitmap int64) []byte {
	b = binary.AppendUvarint(b, uint64(s.edges[len(s.edges)-1]-s.From))
	b = binary.AppendUvarint(b, uint64(bitmap))
	start := len(b)
	b = append(b, make([]byte, bitmap)...)
	at := s.From + 8*bitmap
	eachOwedRun(s.From, s.edges, func(_, first, end int64) {
		for off := first; off < end; off++ {
			if i := off - s.From; i < 8*bitmap {
				b[start+int(i/8)] |= 1 << (i % 8)
				continue
			}
			b = binary.AppendUvarint(b, uint64(off-at))
			at = off + 1
		}
	})
	return b
}

func readSettled(r *reader, commit int64) Settled {
	s := Settled{From: commit, Upto: readBelow(r, commit, math.MaxInt64)}
	switch r.byte() {
	case formRuns:
		s.edges = readRuns(r, s)
	case formOwed:
		s.edges = readOwed(r, s)
	default:
		r.check(false)
	}
	s.edges = slices.Clip(s.edges)
	return s
}

// readBelow reads the distance of an offset from at; it must not be above limit.
func readBelow(r *reader, at, limit int64) int64 {
	n := r.uvarint()
	if r.check(at <= limit && n <= uint64(limit-at)); r.bad {
		return at
	}
	return at + int64(n)
}

func readRuns(r *reader, s Settled) []int64 {
	var edges []int64
	at := s.From
	for len(r.b) > 0 {
		first := readBelow(r, at, s.Upto)
		at = readBelow(r, first, s.Upto)
		edges = appendRun(edges, first, at)
	}
	return edges
}

func readOwed(r *reader, s Settled) []int64 {
	var edges []int64
	end := readBelow(r, s.From, s.Upto)
	at := s.From
	owed := func(off int64) {
		r.check(off < end)
		edges = appendRun(edges, at, min(off, end))
		at = off + 1
	}
	bitmap := r.bytes(r.uvarint())
	r.check(int64(len(bitmap)) <= (end-s.From-1)/8+1)
	for i, w := range bitmap {
		for ; w != 0; w &= w - 1 {
			owed(s.From + int64(8*i+bits.TrailingZeros8(w)))
		}
	}
	for listed := s.From + 8*int64(len(bitmap)); len(r.b) > 0; {
		off := readBelow(r, listed, end)
		owed(off)
		listed = off + 1
	}
	return appendRun(edges, at, end)
}
