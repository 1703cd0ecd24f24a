package dedupe

import (
	"encoding/binary"
	"fmt"
)

// Decode reads the key and value of a record. A nil value makes the mark a tombstone. It keeps neither slice, and it
// reuses the memory of m.Key: what was read before is overwritten. It leaves topic name and partition number in
// m.Identity as they are.
//
// The error wraps [ErrUnknownVersion] or [ErrDamaged]; the mark is empty then.
func (m *Mark) Decode(key, value []byte) error {
	reason, owner := m.Reason, m.Owner
	m.reset()
	if err := m.decodeKey(key); err != nil {
		m.reset()
		return fmt.Errorf("decode mark key: %w", err)
	}
	if value == nil {
		m.Tombstone = true
		return nil
	}
	if err := m.decodeValue(value, reason, owner); err != nil {
		err = fmt.Errorf("decode %s mark value: %w", m.Kind, err)
		m.reset()
		return err
	}
	return nil
}

// reset empties the mark, but for the key's memory and the place that Decode leaves alone.
func (m *Mark) reset() {
	place := Origin{Topic: m.Identity.Topic, Partition: m.Identity.Partition}
	*m = Mark{Key: m.Key[:0], Identity: Identity{Origin: place}}
}

func (m *Mark) decodeKey(key []byte) error {
	r := reader{rest: key}
	if err := r.version(); err != nil {
		return err
	}
	m.Kind = Kind(r.uint8())
	switch m.Kind {
	case Done:
		m.readX(&r)
		m.readIdentity(&r)
	case Terminal:
		m.readIdentity(&r)
	case Claim:
		m.readX(&r)
		m.readIdentity(&r)
		m.Tries = int(r.uint32())
	case Dense:
		m.Chunk = r.chunk()
	case Position:
	default:
		return r.unknownKind(m.Kind)
	}
	m.Tenure = r.count()
	if r.bad || len(r.rest) > 0 {
		return ErrDamaged
	}
	return nil
}

func (m *Mark) readX(r *reader) {
	n := r.uint8()
	switch {
	case n == defaultKey:
		m.DefaultKey = true
	case n > MaxKey:
		r.bad = true
	default:
		m.Key = append(m.Key, r.bytes(int(n))...)
	}
}

func (m *Mark) readIdentity(r *reader) {
	m.Identity.TopicID = r.topicID()
	m.Identity.LeaderEpoch = r.epoch()
	m.Identity.Offset = r.count()
	m.Identity.Run = r.uint32()
}

// decodeValue takes the texts that were read last: equal ones, and most are, need no new memory.
func (m *Mark) decodeValue(value []byte, reason, owner string) error {
	r := reader{rest: value}
	if err := r.version(); err != nil {
		return err
	}
	m.At = int64(r.uint64())
	switch m.Kind {
	case Done, Terminal:
		m.Reason = r.text(reason)
	case Claim:
		m.Owner = r.text(owner)
	case Dense:
		if _, err := m.Bits.Decode(r.rest); err != nil {
			return err
		}
	case Position:
		m.Identity.TopicID = r.topicID()
		m.Identity.LeaderEpoch = r.epoch()
		m.Position = r.count()
	}
	if r.bad {
		return ErrDamaged
	}
	return nil
}

// reader takes fields off the front of rest. After the first one that is not there, or is not possible, bad is set and
// all fields are zero.
type reader struct {
	rest []byte
	bad  bool
}

// zeros stands for a field that is not there; no field of fixed width is wider.
type zeros [16]byte

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) fixed(n int) (b zeros) {
	copy(b[:], r.bytes(n))
	return b
}

func (r *reader) uint8() byte {
	b := r.fixed(1)
	return b[0]
}

func (r *reader) uint32() uint32 {
	b := r.fixed(4)
	return binary.BigEndian.Uint32(b[:])
}

func (r *reader) uint64() uint64 {
	b := r.fixed(8)
	return binary.BigEndian.Uint64(b[:])
}

// count is an offset or a tenure, which are never negative.
func (r *reader) count() int64 {
	n := int64(r.uint64())
	r.bad = r.bad || n < 0
	return n
}

func (r *reader) topicID() TopicID { return TopicID(r.fixed(16)) }

func (r *reader) epoch() int32 {
	n := int32(r.uint32())
	r.bad = r.bad || n < -1
	return n
}

func (r *reader) chunk() Chunk {
	c := Chunk{TopicID: r.topicID(), Epoch: r.epoch(), Index: r.count()}
	r.bad = r.bad || c.Index > maxIndex
	return c
}

// text returns last if that is what is written.
func (r *reader) text(last string) string {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		r.bad = true
		return ""
	}
	r.rest = r.rest[size:]
	b := r.bytes(int(n))
	if string(b) == last {
		return last
	}
	return cutText(string(b))
}

func (r *reader) version() error {
	v := r.uint8()
	if r.bad {
		return ErrDamaged
	}
	if v != markVersion {
		return fmt.Errorf("%w %d", ErrUnknownVersion, v)
	}
	return nil
}

// unknownKind is for a letter that a later release may know.
func (r *reader) unknownKind(k Kind) error {
	if r.bad {
		return ErrDamaged
	}
	return fmt.Errorf("%w: %s", ErrUnknownVersion, k)
}
