package dedupe

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The written form of a mark. Key and value begin with the version. All numbers are big-endian and of fixed width, so a
// mark has exactly one key: compaction and tombstones compare its bytes.
//
//	key       version, kind, what the kind has before its tenure, tenure
//	x         1 byte: its length, or defaultKey; its bytes
//	identity  topic id, leader epoch, offset, run
//	value     version, at, what the kind has; text is a varint length and its bytes
//
// A value may get more fields at its end without a new version: a reader passes over what it does not know. A key may
// not.
const (
	markVersion = 1
	defaultKey  = 0xFF // in the place of x's length
	maxIndex    = math.MaxInt64 / ChunkSize
)

// AppendKey appends the key of the mark's record to b and returns it. It panics if the mark has no kind.
func (m *Mark) AppendKey(b []byte) []byte {
	b = append(b, markVersion, byte(m.Kind))
	switch m.Kind {
	case Done:
		b = m.appendIdentity(m.appendX(b))
	case Terminal:
		b = m.appendIdentity(b)
	case Claim:
		b = m.appendIdentity(m.appendX(b))
		b = binary.BigEndian.AppendUint32(b, uint32(m.Tries))
	case Dense:
		b = append(b, m.Chunk.TopicID[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(m.Chunk.Epoch))
		b = binary.BigEndian.AppendUint64(b, uint64(m.Chunk.Index))
	case Position:
	default:
		panic("dedupe: mark of " + m.Kind.String())
	}
	return binary.BigEndian.AppendUint64(b, uint64(m.Tenure))
}

func (m *Mark) appendX(b []byte) []byte {
	if m.DefaultKey {
		return append(b, defaultKey)
	}
	x := CanonicalKey(m.Key)
	return append(append(b, byte(len(x))), x...)
}

func (m *Mark) appendIdentity(b []byte) []byte {
	b = append(b, m.Identity.TopicID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(m.Identity.LeaderEpoch))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Identity.Offset))
	return binary.BigEndian.AppendUint32(b, m.Identity.Run)
}

// AppendValue appends the value of the mark's record to b and returns it. For a tombstone it appends nothing: with a nil
// b the result is the nil value that the record must have.
func (m *Mark) AppendValue(b []byte) []byte {
	if m.Tombstone {
		return b
	}
	b = binary.BigEndian.AppendUint64(append(b, markVersion), uint64(m.At))
	switch m.Kind {
	case Done, Terminal:
		b = appendText(b, m.Reason)
	case Claim:
		b = appendText(b, m.Owner)
	case Dense:
		b = m.Bits.Append(b)
	case Position:
		b = append(b, m.Identity.TopicID[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(m.Identity.LeaderEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(m.Position))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	s = cutText(s)
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText cuts to MaxText bytes, not inside a character.
func cutText(s string) string {
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for n > MaxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
