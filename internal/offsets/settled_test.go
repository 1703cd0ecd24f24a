package offsets_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/internal/offsets"
)

func TestSettledHoldsWhatItWasMadeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(0, 50).Draw(t, "from")
		upto := from + rapid.Int64Range(0, 200).Draw(t, "length")
		offs := rapid.SliceOf(rapid.Int64Range(0, 300)).Draw(t, "offsets")
		fork := rapid.Int64Range(0, 300).Draw(t, "fork")
		s := offsets.SettledOf(from, upto, offs...)
		for _, c := range []struct {
			set  offsets.Settled
			upto int64
		}{{s, upto}, {s.Below(fork), min(upto, fork)}} {
			var want, got []int64
			for off := from; off < c.upto; off++ {
				if slices.Contains(offs, off) {
					want = append(want, off)
				}
			}
			c.set.Each(func(off int64) { got = append(got, off) })
			if !slices.Equal(got, want) || c.set.Len() != int64(len(want)) || c.set.Empty() != (len(want) == 0) {
				t.Fatalf("%v has %d offsets %v, want %v", c.set, c.set.Len(), got, want)
			}
			if c.set.Upto != c.upto {
				t.Fatalf("%v ends at %d, want %d", c.set, c.set.Upto, c.upto)
			}
			for off := range int64(310) {
				if c.set.Contains(off) != slices.Contains(want, off) {
					t.Fatalf("%v: Contains(%d) = %v", c.set, off, c.set.Contains(off))
				}
			}
		}
	})
}

func TestSettledNamesItsRuns(t *testing.T) {
	s := offsets.SettledOf(100, 120, 107, 101, 102, 103, 104, 104, 99, 120)
	if got, want := s.String(), "[100,120) 101-104 107"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if s.Equal(offsets.SettledOf(100, 121, 101, 102, 103, 104, 107)) || s.Equal(s.Below(107)) || !s.Equal(s.Below(120)) {
		t.Error("Equal does not look at the range or at the set")
	}
}

func TestStatesThatDifferHaveDifferentForms(t *testing.T) {
	forms := map[string]string{}
	add := func(what string, form []byte) {
		if was, ok := forms[string(form)]; ok {
			t.Errorf("%s and %s have one form", was, what)
		}
		forms[string(form)] = what
	}
	for _, s := range []offsets.Settled{
		{},
		offsets.SettledOf(0, 9), offsets.SettledOf(1, 9), offsets.SettledOf(1, 10), offsets.SettledOf(1, 9, 1), offsets.SettledOf(1, 9, 1, 2),
		offsets.SettledOf(1, 9, 1, 3),
	} {
		add(s.String(), s.AppendState(nil))
	}
	clear(forms)
	for _, e := range []offsets.Epochs{nil, {{1, 1}}, {{1, 2}}, {{2, 1}}, {{2, 1}, {1, 1}}} {
		add(fmt.Sprint(e), e.AppendState(nil))
	}
}
