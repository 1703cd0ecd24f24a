package offsets

import (
	"encoding/binary"
	"math"
)

// reader takes values off the front of b. After the first one that is missing or out of range, bad is set, b is empty,
// and every value is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) check(ok bool) {
	if !ok {
		r.bad, r.b = true, nil
	}
}

func (r *reader) byte() byte {
	b := r.bytes(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// bytes returns the next n bytes; never nil when there are that many.
func (r *reader) bytes(n uint64) []byte {
	if r.check(n <= uint64(len(r.b)) && !r.bad); r.bad {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.check(n > 0); r.bad {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if r.check(n > 0); r.bad {
		return 0
	}
	r.b = r.b[n:]
	return v
}

// int64 returns a value that must not be negative.
func (r *reader) int64() int64 {
	v := r.uvarint()
	r.check(v <= math.MaxInt64)
	return int64(v)
}

// int32 returns a value that must not be negative.
func (r *reader) int32() int32 {
	v := r.uvarint()
	r.check(v <= math.MaxInt32)
	return int32(v)
}

// int32orNone returns -1 or a value that is not negative, written one higher.
func (r *reader) int32orNone() int32 {
	v := r.uvarint()
	r.check(v <= math.MaxInt32+1)
	return int32(int64(v) - 1)
}

// offset returns an offset that was written as the distance from commit. What overflows is negative, or so far below
// commit that it is.
func (r *reader) offset(commit int64) int64 {
	off := commit + r.varint()
	r.check(off >= 0)
	return off
}
