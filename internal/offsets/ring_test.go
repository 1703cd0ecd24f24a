package offsets

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRingIsASetWithNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, set := ring{}, map[int64]bool{}
		low := func() int64 { return r.base << 6 }
		ahead := rapid.OneOf(rapid.Int64Range(0, 200), rapid.Int64Range(0, 20_000))
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				off := low() + ahead.Draw(t, "off")
				if !r.covers(off) {
					r.grow(off)
				}
				r.set(off)
				set[off] = true
			},
			"remove": func(t *rapid.T) {
				off := low() + ahead.Draw(t, "off")
				if in := slices.Sorted(maps.Keys(set)); len(in) > 0 && rapid.Bool().Draw(t, "is in") {
					off = rapid.SampledFrom(in).Draw(t, "which")
				}
				if r.remove(off) != set[off] {
					t.Fatalf("remove(%d) = %v", off, !set[off])
				}
				delete(set, off)
			},
			"move up": func(t *rapid.T) {
				if len(set) > 0 {
					r.base = slices.Min(slices.Collect(maps.Keys(set))) >> 6
					return
				}
				r.base += rapid.Int64Range(0, 100).Draw(t, "words")
			},
			"go on with a clone": func(*rapid.T) {
				old := r
				r = r.clone()
				for i := range old.words {
					old.words[i] = ^uint64(0)
				}
			},
			"": func(t *rapid.T) {
				in := slices.Sorted(maps.Keys(set))
				for range 20 {
					off := low() + ahead.Draw(t, "from")
					i, is := slices.BinarySearch(in, off)
					next, ok := r.next(off)
					if ok != (i < len(in)) || ok && next != in[i] {
						t.Fatalf("next(%d) = %d, %v in %v", off, next, ok, in)
					}
					prev, ok := r.prev(off)
					if ok != (i > 0) || ok && prev != in[i-1] {
						t.Fatalf("prev(%d) = %d, %v in %v", off, prev, ok, in)
					}
					if r.has(off) != is {
						t.Fatalf("has(%d) = %v", off, !is)
					}
				}
			},
		})
	})
}
