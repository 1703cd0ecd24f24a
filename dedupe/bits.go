package dedupe

import (
	"encoding/binary"
	"fmt"
)

// The written form of Bits. The first byte says how many runs follow, each as a varint: so many bits set, so many not,
// so many set, and so on; what is behind the last run is not set. A chunk that fills from its start is one run, three
// bytes; a hole in it takes two or three bytes more. Where runs would take more than the bits themselves, the first byte
// is rawBits and the bits follow, 128 bytes.
const (
	rawBits    = 0xFF
	rawBytes   = ChunkSize / 8
	maxRuns    = rawBytes - 1
	maxRunSize = 2 // bytes of a varint up to ChunkSize
)

// Append appends the written form of the bits, 1 to 129 bytes, to dst and returns it.
func (b *Bits) Append(dst []byte) []byte {
	if b.Empty() {
		return append(dst, 0)
	}
	var runs [rawBytes + maxRunSize]byte
	n, size := 0, 0
	set := true
	for i := 0; i < ChunkSize; set = !set {
		end := b.run(i, set)
		if !set && end == ChunkSize {
			break
		}
		size += binary.PutUvarint(runs[size:], uint64(end-i))
		n++
		if size >= rawBytes {
			return b.appendRaw(dst)
		}
		i = end
	}
	return append(append(dst, byte(n)), runs[:size]...)
}

func (b *Bits) appendRaw(dst []byte) []byte {
	dst = append(dst, rawBits)
	for _, word := range b {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// Decode reads what [Bits.Append] wrote and returns what follows it. It replaces all bits. The error wraps [ErrDamaged];
// no bit is set then.
func (b *Bits) Decode(src []byte) (rest []byte, err error) {
	*b = Bits{}
	if len(src) == 0 {
		return nil, fmt.Errorf("decode bits: no bytes: %w", ErrDamaged)
	}
	if src[0] == rawBits {
		return b.decodeRaw(src[1:])
	}
	rest, ok := b.decodeRuns(int(src[0]), src[1:])
	if !ok {
		*b = Bits{}
		return nil, fmt.Errorf("decode bits: bad run: %w", ErrDamaged)
	}
	return rest, nil
}

func (b *Bits) decodeRaw(src []byte) (rest []byte, err error) {
	if len(src) < rawBytes {
		return nil, fmt.Errorf("decode bits: %d bytes of %d: %w", len(src), rawBytes, ErrDamaged)
	}
	for w := range b {
		b[w] = binary.LittleEndian.Uint64(src[w*8:])
	}
	return src[rawBytes:], nil
}

func (b *Bits) decodeRuns(runs int, src []byte) (rest []byte, ok bool) {
	if runs > maxRuns {
		return nil, false
	}
	i := 0
	for run := range runs {
		n, size := binary.Uvarint(src)
		switch {
		case size <= 0 || n > uint64(ChunkSize-i):
			return nil, false
		case n == 0 && run > 0: // only the first may be empty: bit 0 is not set
			return nil, false
		case run%2 == 0:
			b.setRun(i, int(n))
		}
		i += int(n)
		src = src[size:]
	}
	return src, true
}
