package dedupe_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/dedupe"
)

func drawBits(t *rapid.T, name string) dedupe.Bits {
	var b dedupe.Bits
	switch rapid.IntRange(0, 3).Draw(t, name+" shape") {
	case 0: // any
		for w := range b {
			b[w] = rapid.Uint64().Draw(t, "word")
		}
	case 1: // a prefix with some holes
		end := rapid.IntRange(0, dedupe.ChunkSize).Draw(t, "end")
		holes := rapid.SliceOfN(rapid.IntRange(0, dedupe.ChunkSize-1), 0, 70).Draw(t, "holes")
		for i := range end {
			if !slices.Contains(holes, i) {
				b.Set(i)
			}
		}
	case 2: // few
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, dedupe.ChunkSize-1), 0, 70).Draw(t, "set") {
			b.Set(i)
		}
	case 3: // every nth
		step := rapid.IntRange(1, 40).Draw(t, "step")
		for i := rapid.IntRange(0, 40).Draw(t, "first"); i < dedupe.ChunkSize; i += step {
			b.Set(i)
		}
	}
	return b
}

func set(b *dedupe.Bits) map[int]bool {
	m := map[int]bool{}
	for i := range dedupe.ChunkSize {
		if b.Has(i) {
			m[i] = true
		}
	}
	return m
}

func TestBitsDoWhatASetDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawBits(t, "a"), drawBits(t, "b")
		or, andNot := a, a
		or.Or(&b)
		andNot.AndNot(&b)
		contains, prefix := true, dedupe.ChunkSize
		for i := dedupe.ChunkSize - 1; i >= 0; i-- {
			if or.Has(i) != (a.Has(i) || b.Has(i)) || andNot.Has(i) != (a.Has(i) && !b.Has(i)) {
				t.Fatalf("bit %d", i)
			}
			contains = contains && (a.Has(i) || !b.Has(i))
			if !a.Has(i) {
				prefix = i
			}
		}
		n := len(set(&a))
		if a.Count() != n || a.Empty() != (n == 0) || a.Full() != (n == dedupe.ChunkSize) || a.Prefix() != prefix || a.Contains(&b) != contains || !or.Contains(&b) {
			t.Fatalf("count %d of %d, prefix %d of %d", a.Count(), n, a.Prefix(), prefix)
		}
		last := -1
		for i := range a.Each {
			if i <= last || !a.Has(i) {
				t.Fatalf("bit %d after %d", i, last)
			}
			last, n = i, n-1
		}
		if n != 0 {
			t.Fatalf("%d bits too few", n)
		}
	})
}

func TestBitsSurviveWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBits(t, "b")
		written := b.Append([]byte("before"))[len("before"):]
		if len(written) > 129 {
			t.Fatalf("%d bytes", len(written))
		}
		var got dedupe.Bits
		rest, err := got.Decode(append(written, "after"...))
		if err != nil || got != b || string(rest) != "after" {
			t.Fatalf("%v, rest %q", err, rest)
		}
	})
}

func TestBitsOfCommonChunksAreShort(t *testing.T) {
	var empty, full, prefix, hole, one dedupe.Bits
	for i := range dedupe.ChunkSize {
		full.Set(i)
		if i < 700 {
			prefix.Set(i)
		}
		if i != 300 {
			hole.Set(i)
		}
	}
	one.Set(1023)
	for name, c := range map[string]struct {
		bits dedupe.Bits
		want int
	}{
		"empty": {empty, 1}, "full": {full, 3}, "prefix": {prefix, 3}, "one hole": {hole, 6}, "the last only": {one, 5},
	} {
		if n := len(c.bits.Append(nil)); n != c.want {
			t.Errorf("%s: %d bytes, want %d", name, n, c.want)
		}
	}
}

func TestDamagedBitsAreRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing": {}, "a run is missing": {1}, "a run of none": {2, 1, 0}, "too long a run": {1, 0x81, 8}, "runs too long together": {2, 0xC0, 4, 0xC1, 4},
		"half of the raw": append([]byte{0xFF}, make([]byte, 127)...), "too many runs": {0xFE, 1}, "endless varint": slices.Repeat([]byte{0x81}, 20),
	} {
		bits := dedupe.Bits{7}
		if _, err := bits.Decode(b); !errors.Is(err, dedupe.ErrDamaged) || !bits.Empty() {
			t.Errorf("%s: %v, %d bits", name, err, bits.Count())
		}
	}
}

func FuzzBitsDecode(f *testing.F) {
	f.Add([]byte{1, 0x80, 8})
	f.Add([]byte{3, 0, 5, 9})
	f.Add(append([]byte{0xFF}, make([]byte, 128)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var bits, again dedupe.Bits
		rest, err := bits.Decode(b)
		if err != nil {
			if !errors.Is(err, dedupe.ErrDamaged) || !bits.Empty() {
				t.Errorf("%v, %d bits", err, bits.Count())
			}
			return
		}
		if written := bits.Append(nil); len(written) > len(b)-len(rest) {
			t.Errorf("written in %d bytes, read from %d", len(written), len(b)-len(rest))
		} else if _, err := again.Decode(written); err != nil || again != bits {
			t.Errorf("round trip: %v", err)
		}
	})
}

func TestChunkOfOrigin(t *testing.T) {
	o := dedupe.Origin{Topic: "orders", TopicID: dedupe.TopicID{1}, LeaderEpoch: 7, Offset: 2050}
	c, bit := dedupe.ChunkOf(o)
	if want := (dedupe.Chunk{TopicID: dedupe.TopicID{1}, Epoch: 7, Index: 2}); c != want || bit != 2 || c.First() != 2048 {
		t.Errorf("%v, bit %d", c, bit)
	}
	if got, want := c.String(), "01000000000000000000000000000000/7@2048-3071"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
