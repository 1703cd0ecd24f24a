package dedupe

import (
	"fmt"
	"math/bits"
)

// ChunkSize is how many neighbouring offsets share one mark.
const ChunkSize = 1024

// Chunk names [ChunkSize] neighbouring offsets of one topic and leader epoch: Index 0 is the offsets 0 to 1023. The same
// offsets under another topic id or leader epoch are other records, and another chunk.
type Chunk struct {
	TopicID TopicID
	Epoch   int32 // -1 where the broker told none
	Index   int64
}

// ChunkOf returns the chunk of a record and the bit that stands for it.
func ChunkOf(o Origin) (c Chunk, bit int) {
	return Chunk{TopicID: o.TopicID, Epoch: o.LeaderEpoch, Index: o.Offset / ChunkSize}, int(o.Offset % ChunkSize)
}

// First returns the offset of bit 0.
func (c Chunk) First() int64 { return c.Index * ChunkSize }

// String returns topic id, leader epoch, and the first and last offset, for example "0f…3c/7@1024-2047".
func (c Chunk) String() string {
	return fmt.Sprintf("%s/%d@%d-%d", c.TopicID, c.Epoch, c.First(), c.First()+ChunkSize-1)
}

// Bits has a bit for each offset of a chunk. The zero value has none set. A bit number outside of 0 to 1023 panics.
type Bits [ChunkSize / 64]uint64

// Set sets bit i.
func (b *Bits) Set(i int) { b[i/64] |= 1 << (uint(i) % 64) }

// Has reports whether bit i is set.
func (b *Bits) Has(i int) bool { return b[i/64]>>(uint(i)%64)&1 == 1 }

// Or sets every bit of o.
func (b *Bits) Or(o *Bits) {
	for w := range b {
		b[w] |= o[w]
	}
}

// AndNot clears every bit of o: what is left of b was not in o.
func (b *Bits) AndNot(o *Bits) {
	for w := range b {
		b[w] &^= o[w]
	}
}

// Contains reports whether every bit of o is set in b.
func (b *Bits) Contains(o *Bits) bool {
	for w := range b {
		if o[w]&^b[w] != 0 {
			return false
		}
	}
	return true
}

// Count returns how many bits are set.
func (b *Bits) Count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// Empty reports whether no bit is set.
func (b *Bits) Empty() bool { return *b == Bits{} }

// Full reports whether all bits are set.
func (b *Bits) Full() bool { return b.run(0, true) == ChunkSize }

// Prefix returns how many bits from bit 0 on are set without a gap.
func (b *Bits) Prefix() int { return b.run(0, true) }

// Each calls yield for every bit that is set, in ascending order, until yield returns false. It serves as an iterator.
func (b *Bits) Each(yield func(i int) bool) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			if !yield(w*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// run returns where the run that begins at bit i ends: the number of the first bit from i on that is not as set says.
func (b *Bits) run(i int, set bool) (end int) {
	for w := i / 64; w < len(b); w++ {
		word := b[w]
		if set {
			word = ^word
		}
		if word >>= uint(i) % 64; word != 0 {
			return i + bits.TrailingZeros64(word)
		}
		i = (w + 1) * 64
	}
	return ChunkSize
}

// setRun sets n bits from bit i on.
func (b *Bits) setRun(i, n int) {
	for n > 0 {
		low := uint(i) % 64
		k := min(n, 64-int(low))
		b[i/64] |= ^uint64(0) >> (64 - uint(k)) << low
		i, n = i+k, n-k
	}
}
