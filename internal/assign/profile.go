package assign

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// MaxWeight is the greatest weight of a member. It keeps the arithmetic of shares exact: see unit.
const MaxWeight = 16

// Profile is what a member tells the leader about itself, beyond what the consumer protocol has fields for.
type Profile struct {
	Weight  int      // share of the load, relative to the other members'; 1 to [MaxWeight]
	Version string   // of the worker, for people who look at a group in the middle of a deploy
	Sources []string // of the topics it joins with, those whose partitions it wants to own
}

// profileV1 is the first byte of a profile. Later versions only append fields, so a release reads the ones after its own
// by ignoring the rest, and a rolling upgrade can be rolled back. Zero is never a version.
const profileV1 = 1

var (
	errProfileVersion = errors.New("unknown version")
	errProfileShort   = errors.New("ends early")
	errProfileWeight  = fmt.Errorf("weight is not in 1 to %d", MaxWeight)
)

// AppendTo appends the encoded profile to dst and returns it. Equal profiles have equal bytes, whatever the order of
// their sources: a broker takes changed bytes for a reason to rebalance.
func (p Profile) AppendTo(dst []byte) []byte {
	dst = append(dst, profileV1)
	dst = binary.AppendUvarint(dst, uint64(p.Weight))
	dst = appendString(dst, p.Version)
	sources := sortedSet(p.Sources)
	dst = binary.AppendUvarint(dst, uint64(len(sources)))
	for _, s := range sources {
		dst = appendString(dst, s)
	}
	return dst
}

// ParseProfile reads what [Profile.AppendTo] wrote, in this version or a later one. It never panics and allocates no
// more than a small multiple of the input, whatever the input.
func ParseProfile(data []byte) (Profile, error) {
	if len(data) == 0 || data[0] < profileV1 {
		return Profile{}, fmt.Errorf("parse member profile: %w", errProfileVersion)
	}
	r := reader{rest: data[1:]}
	weight := r.uvarint()
	p := Profile{Version: r.string()}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		p.Sources = append(p.Sources, r.string())
	}
	if r.err == nil && (weight < 1 || weight > MaxWeight) {
		r.err = errProfileWeight
	}
	if r.err != nil {
		return Profile{}, fmt.Errorf("parse member profile: %w", r.err)
	}
	p.Weight = int(weight)
	return p, nil
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// sortedSet returns the strings in order and once each, in a slice of its own.
func sortedSet(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// reader takes values off the front of rest. After the first error it returns zero values only.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.err = nil, errProfileShort
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) string() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.rest, r.err = nil, errProfileShort
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
