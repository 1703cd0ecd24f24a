package offsets

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"github.com/laneway-go/laneway/internal/origin"
)

// MaxMetadata is the longest metadata string that a broker takes by default (offset.metadata.max.bytes), in characters.
// A longer one fails the commit of its partition for good.
const MaxMetadata = 4096

// MaxSuspects is how many crash suspects the metadata names (R35).
const MaxSuspects = 8

// What Decode says of a string that it cannot read. In all three cases nothing counts as settled; only the commit offset
// stands.
var (
	// ErrForeign: another program wrote the string. Clients commit an empty one, or the id of their member.
	ErrForeign = errors.New("commit metadata of another program")
	// ErrUnknownVersion: a release that is too far from this one wrote it.
	ErrUnknownVersion = errors.New("commit metadata of an unknown version")
	// ErrDamaged: it was cut or changed, or belongs to another commit offset.
	ErrDamaged = errors.New("damaged commit metadata")
)

// Metadata is what a commit says of a partition besides the offset.
type Metadata struct {
	TopicID origin.TopicID // zero where the broker told none
	Epochs  Epochs
	Settled Settled
	Lane    *LaneState // on the source partition of a lane, nil on its other partitions
}

// LaneState is what the metadata says of a whole lane.
type LaneState struct {
	Tenure   int64      // number of the present ownership (R40)
	Unclean  int        // lives in a row that did not end cleanly (R34)
	Running  *Identity  // what a careful lane is about to start, nil for nothing (R35)
	Suspects []Identity // at most MaxSuspects; of more, the last are written
}

// Identity names a record of the lane's source partition; topic and partition are those that the commit is for.
type Identity struct {
	TopicID origin.TopicID
	Epoch   int32 // -1 where the broker told none
	Offset  int64
	Run     uint32
}

// IdentityOf returns i without what a commit implies.
func IdentityOf(i origin.Identity) Identity {
	return Identity{TopicID: i.TopicID, Epoch: i.LeaderEpoch, Offset: i.Offset, Run: i.Run}
}

// In returns the full identity, for a commit of this partition.
func (i Identity) In(topic string, partition int32) origin.Identity {
	return origin.Identity{Origin: origin.Origin{
		Topic: topic, TopicID: i.TopicID, Partition: partition, LeaderEpoch: i.Epoch, Offset: i.Offset,
	}, Run: i.Run}
}

// The text form is
//
//	"lw" version ":" base64(checksum sections)
//
// in ASCII, because brokers keep a string and mangle other bytes. The checksum is CRC-32C, 4 bytes big endian, of the
// commit offset (8 bytes big endian) and the sections: offsets are written relative to the commit offset, and would lie
// beside another one. A section is a tag byte, the length of its content as a uvarint, and the content. A reader skips
// tags that it does not know, so a release may add a section within a version; a change of a section needs a new version.
//
// Version 1 has these sections, in this order and left out when empty:
//
//	1 topic id: 16 bytes
//	2 epochs: for each, newest first, uvarint epoch, varint first offset - commit
//	3 lane: uvarint tenure, uvarint unclean lives, uvarint number of running identities (0 or 1) and they,
//	  then suspects up to the end of the section
//	4 settled: see settledcodec.go
//
// where an identity is a byte 1 and 16 bytes of topic id, or a byte 0 for the topic id of the identity before it (of
// section 1 for the first); then uvarint epoch + 1, varint offset - commit, uvarint run.
const (
	magic   = "lw"
	version = 1

	tagTopicID = 1
	tagEpochs  = 2
	tagLane    = 3
	tagSettled = 4

	checksumLen = 4
)

// Encode returns the text form for a commit at the given offset, at most [MaxMetadata] characters of ASCII. What lies
// below commit is left out. What a [Tracker] admitted always fits; of a larger settled set the top is left out, and Upto
// with it.
func (m Metadata) Encode(commit int64) string {
	prefix := magic + strconv.Itoa(version) + ":"
	b := make([]byte, checksumLen, 128)
	if m.TopicID != (origin.TopicID{}) {
		b = appendSection(b, tagTopicID, m.TopicID[:])
	}
	if len(m.Epochs) > 0 {
		b = appendSection(b, tagEpochs, appendEpochs(nil, m.Epochs.From(commit), commit))
	}
	if m.Lane != nil {
		b = appendSection(b, tagLane, m.Lane.append(nil, m.TopicID, commit))
	}
	if s := m.Settled.within(commit, max(commit, m.Settled.Upto)); s.Upto > commit {
		room := base64.RawStdEncoding.DecodedLen(MaxMetadata-len(prefix)) - len(b) - sectionHeader
		b = appendSection(b, tagSettled, appendSettled(nil, s, room))
	}
	binary.BigEndian.PutUint32(b, checksum(b[checksumLen:], commit))
	return prefix + base64.RawStdEncoding.EncodeToString(b)
}

// sectionHeader is the length of a tag and of the length of a content below 2^14 bytes.
const sectionHeader = 3

func appendSection(b []byte, tag byte, content []byte) []byte {
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

func checksum(sections []byte, commit int64) uint32 {
	var c [8]byte
	binary.BigEndian.PutUint64(c[:], uint64(commit))
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(c[:], table), table, sections)
}

func appendEpochs(b []byte, epochs Epochs, commit int64) []byte {
	for _, e := range epochs[:min(len(epochs), MaxEpochs)] {
		b = binary.AppendUvarint(b, uint64(e.Epoch))
		b = binary.AppendVarint(b, e.First-commit)
	}
	return b
}

func (l *LaneState) append(b []byte, id origin.TopicID, commit int64) []byte {
	b = binary.AppendUvarint(b, uint64(max(l.Tenure, 0)))
	b = binary.AppendUvarint(b, uint64(min(max(l.Unclean, 0), math.MaxInt32)))
	if l.Running == nil {
		b = binary.AppendUvarint(b, 0)
	} else {
		b = binary.AppendUvarint(b, 1)
		b = l.Running.append(b, &id, commit)
	}
	for _, s := range l.Suspects[max(0, len(l.Suspects)-MaxSuspects):] {
		b = s.append(b, &id, commit)
	}
	return b
}

// append writes i; last is the topic id of the identity before it, and i's afterwards.
func (i Identity) append(b []byte, last *origin.TopicID, commit int64) []byte {
	if i.TopicID == *last {
		b = append(b, 0)
	} else {
		b = append(append(b, 1), i.TopicID[:]...)
		*last = i.TopicID
	}
	b = binary.AppendUvarint(b, uint64(int64(i.Epoch)+1))
	b = binary.AppendVarint(b, i.Offset-commit)
	return binary.AppendUvarint(b, uint64(i.Run))
}

// Decode reads what [Metadata.Encode] wrote for the same commit offset. An error wraps [ErrForeign], [ErrUnknownVersion]
// or [ErrDamaged]. It never panics, and takes memory in proportion to s only, whatever the input.
func Decode(s string, commit int64) (Metadata, error) {
	sections, err := open(s, commit)
	if err != nil {
		return Metadata{}, fmt.Errorf("decode at commit offset %d: %w", commit, err)
	}
	m := Metadata{Settled: Settled{From: commit, Upto: commit}}
	last := byte(0)
	for r := (reader{b: sections}); len(r.b) > 0; {
		tag, content := r.byte(), reader{b: r.bytes(r.uvarint())}
		if r.bad || tag <= last || !m.read(tag, &content, commit) {
			return Metadata{}, fmt.Errorf("decode at commit offset %d: section %d: %w", commit, tag, ErrDamaged)
		}
		last = tag
	}
	return m, nil
}

// open checks what is around the sections, and returns them.
func open(s string, commit int64) ([]byte, error) {
	digits, text, ok := strings.Cut(strings.TrimPrefix(s, magic), ":")
	n, err := strconv.ParseUint(digits, 10, 16)
	switch {
	case !strings.HasPrefix(s, magic) || !ok || err != nil:
		return nil, ErrForeign
	case n != version:
		return nil, fmt.Errorf("%w: %d", ErrUnknownVersion, n)
	case len(s) > MaxMetadata || commit < 0:
		return nil, ErrDamaged
	}
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if len(b) < checksumLen || binary.BigEndian.Uint32(b) != checksum(b[checksumLen:], commit) {
		return nil, fmt.Errorf("%w: checksum", ErrDamaged)
	}
	return b[checksumLen:], nil
}

// read takes one section, and skips one that it does not know.
func (m *Metadata) read(tag byte, r *reader, commit int64) bool {
	switch tag {
	case tagTopicID:
		copy(m.TopicID[:], r.bytes(uint64(len(m.TopicID))))
	case tagEpochs:
		m.Epochs = readEpochs(r, commit)
	case tagLane:
		m.Lane = readLane(r, m.TopicID, commit)
	case tagSettled:
		m.Settled = readSettled(r, commit)
	default:
		return true
	}
	return !r.bad && len(r.b) == 0
}

func readEpochs(r *reader, commit int64) Epochs {
	var epochs Epochs
	for len(r.b) > 0 && !r.bad {
		e := EpochStart{Epoch: r.int32(), First: r.offset(commit)}
		r.check(len(epochs) < MaxEpochs && (len(epochs) == 0 || e.Epoch < epochs[len(epochs)-1].Epoch))
		epochs = append(epochs, e)
	}
	return epochs
}

func readLane(r *reader, id origin.TopicID, commit int64) *LaneState {
	l := &LaneState{Tenure: r.int64(), Unclean: int(r.int32())}
	running := r.uvarint()
	r.check(running <= 1)
	if running == 1 {
		i := readIdentity(r, &id, commit)
		l.Running = &i
	}
	for len(r.b) > 0 && !r.bad {
		r.check(len(l.Suspects) < MaxSuspects)
		l.Suspects = append(l.Suspects, readIdentity(r, &id, commit))
	}
	return l
}

func readIdentity(r *reader, last *origin.TopicID, commit int64) Identity {
	other := r.byte()
	r.check(other <= 1)
	if other == 1 {
		copy(last[:], r.bytes(uint64(len(last))))
	}
	i := Identity{TopicID: *last, Epoch: r.int32orNone(), Offset: r.offset(commit)}
	run := r.uvarint()
	r.check(run < 1<<32)
	i.Run = uint32(run)
	return i
}
