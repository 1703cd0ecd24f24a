// Package origin names a source record the way Kafka does, for as long as it lives.
//
// An offset alone is not a name: a topic that was deleted and created again uses its offsets a second time, and so does
// a partition that an unclean election cut short. The topic id and the leader epoch of the record's batch tell the old
// record from the new one.
//
// The package is a leaf: it has values only, safe for concurrent use.
package origin

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// TopicID is the id that Kafka gave a topic when it was created. The zero value means that the broker told none (before
// Kafka 2.8); it matches any id of the same topic name.
type TopicID [16]byte

// String returns the id in 32 hexadecimal digits.
func (id TopicID) String() string { return hex.EncodeToString(id[:]) }

// Origin names one record of a source topic.
type Origin struct {
	Topic       string
	TopicID     TopicID
	Partition   int32
	LeaderEpoch int32 // of the record's batch; -1 where the broker told none
	Offset      int64
}

// String returns topic/partition/offset, for example "orders/3/1042".
func (o Origin) String() string {
	return o.Topic + "/" + strconv.FormatInt(int64(o.Partition), 10) + "/" + strconv.FormatInt(o.Offset, 10)
}

// IDString returns the topic id and the leader epoch, for example "0f…3c/7": what [Origin.String] leaves out.
func (o Origin) IDString() string {
	return o.TopicID.String() + "/" + strconv.FormatInt(int64(o.LeaderEpoch), 10)
}

// Compare orders the records of one partition: by leader epoch, then by offset. It does not look at the topic.
func (o Origin) Compare(p Origin) int {
	return cmp.Or(cmp.Compare(o.LeaderEpoch, p.LeaderEpoch), cmp.Compare(o.Offset, p.Offset))
}

// Identity is one life of a record: run 0 is its first, a replay gives it another.
type Identity struct {
	Origin
	Run uint32
}

// String returns the origin, with "#run" behind it for a replay.
func (i Identity) String() string {
	if i.Run == 0 {
		return i.Origin.String()
	}
	return i.Origin.String() + "#" + strconv.FormatUint(uint64(i.Run), 10)
}

var errSyntax = errors.New("want topic/partition/offset")

// Parse reads what [Origin.String] and [Origin.IDString] wrote. An empty id leaves topic id and leader epoch unknown
// (zero and -1). It never panics, whatever the input; an error names the part that is wrong.
func Parse(s, id string) (Origin, error) {
	rest, offset, ok := cutLast(s)
	if !ok {
		return Origin{}, fmt.Errorf("origin %q: %w", s, errSyntax)
	}
	topic, partition, ok := cutLast(rest)
	if !ok || topic == "" {
		return Origin{}, fmt.Errorf("origin %q: %w", s, errSyntax)
	}
	o := Origin{Topic: topic, LeaderEpoch: -1}
	p, err := strconv.ParseInt(partition, 10, 32)
	if err != nil || p < 0 {
		return Origin{}, fmt.Errorf("origin %q: partition %q is not a number", s, partition)
	}
	o.Partition = int32(p)
	o.Offset, err = strconv.ParseInt(offset, 10, 64)
	if err != nil || o.Offset < 0 {
		return Origin{}, fmt.Errorf("origin %q: offset %q is not a number", s, offset)
	}
	if id == "" {
		return o, nil
	}
	o.TopicID, o.LeaderEpoch, err = parseID(id)
	return o, err
}

func parseID(s string) (id TopicID, epoch int32, err error) {
	digits, number, ok := strings.Cut(s, "/")
	n, err := hex.Decode(id[:], []byte(truncate(digits, hex.EncodedLen(len(id)))))
	if !ok || err != nil || n != len(id) || len(digits) != 2*n {
		return TopicID{}, -1, fmt.Errorf("origin id %q: want 32 hexadecimal digits and a leader epoch", s)
	}
	e, err := strconv.ParseInt(number, 10, 32)
	if err != nil || e < -1 {
		return TopicID{}, -1, fmt.Errorf("origin id %q: leader epoch %q is not a number", s, number)
	}
	return id, int32(e), nil
}

func truncate(s string, n int) string { return s[:min(len(s), n)] }

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}
