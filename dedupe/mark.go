package dedupe

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what a mark states. Its value is the letter that stands for it in the topic.
type Kind byte

// The kinds of marks.
const (
	// Done: the work x took effect, in the life of the record that the identity names.
	Done Kind = 'd'
	// Terminal: the identity is finished without that its work is done: its dead letter exists, or it was skipped.
	Terminal Kind = 't'
	// Claim: the effect of x may have begun. It is written before the effect where a loss is better than a repeat.
	Claim Kind = 'c'
	// Dense: Done for many neighbouring records, each with its origin as its key, in the first of their lives.
	Dense Kind = 'b'
	// Position: the source was read up to an offset. It outlives the offsets of a group that was empty for long.
	Position Kind = 'p'
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Done:
		return "done"
	case Terminal:
		return "terminal"
	case Claim:
		return "claim"
	case Dense:
		return "dense"
	case Position:
		return "position"
	}
	return fmt.Sprintf("kind(%d)", byte(k))
}

// MaxText is the length in bytes to which a mark's reason and owner are cut.
const MaxText = 256

// Mark is one record of an idempotency topic: its key says what is stated and in which tenure, its value the rest. The
// fields that a kind does not use are zero.
//
//	kind      key                                             value
//	Done      Key or DefaultKey, Identity, Tenure             At, Reason
//	Terminal  Identity, Tenure                                At, Reason
//	Claim     Key or DefaultKey, Identity, Tries, Tenure      At, Owner
//	Dense     Chunk, Tenure                                   At, Bits
//	Position  Tenure                                          At, Identity (topic id and leader epoch), Position
//
// The marks of one source partition are in one partition of the idempotency topic. So topic name and partition number
// are not written: [Mark.Decode] leaves them in Identity as the caller set them.
type Mark struct {
	Kind       Kind
	Key        []byte // x in its canonical form
	DefaultKey bool   // x is the identity's origin; Key is empty
	Identity   Identity
	Tries      int   // how often the handler had returned for the record before the claim
	Tenure     int64 // of the owner that wrote the mark
	Chunk      Chunk
	Bits       Bits
	Reason     string // why it ended; empty for plain success. Cut to MaxText
	Owner      string // the process that claims. Cut to MaxText
	At         int64  // the mark's own time, in Unix milliseconds; a tombstone has none
	Position   int64  // the next offset to read
	Tombstone  bool   // the mark is taken back: the record has the mark's key and no value
}

var (
	// ErrUnknownVersion says that a mark was written by a release that this one does not know. Nothing may be concluded
	// from the mark, and it must not be removed.
	ErrUnknownVersion = errors.New("unknown version")
	// ErrDamaged says that the bytes are no mark.
	ErrDamaged = errors.New("damaged")
)

// String returns the mark in one line of words and name=value pairs.
func (m *Mark) String() string {
	var b strings.Builder
	if m.Tombstone {
		b.WriteString("tombstone of ")
	}
	b.WriteString(m.Kind.String())
	switch m.Kind {
	case Done, Terminal, Claim:
		m.describeRecord(&b)
	case Dense:
		fmt.Fprintf(&b, " chunk=%s", m.Chunk)
	case Position:
	}
	fmt.Fprintf(&b, " tenure=%d", m.Tenure)
	if !m.Tombstone {
		m.describeValue(&b)
	}
	return b.String()
}

func (m *Mark) describeRecord(b *strings.Builder) {
	switch {
	case m.Kind == Terminal:
	case m.DefaultKey:
		b.WriteString(" key=origin")
	case utf8.Valid(m.Key):
		fmt.Fprintf(b, " key=%q", m.Key)
	default:
		fmt.Fprintf(b, " key=0x%x", m.Key)
	}
	fmt.Fprintf(b, " origin=%s id=%s run=%d", m.Identity.Origin, m.Identity.IDString(), m.Identity.Run)
	if m.Kind == Claim {
		fmt.Fprintf(b, " tries=%d", m.Tries)
	}
}

func (m *Mark) describeValue(b *strings.Builder) {
	switch m.Kind {
	case Done, Terminal:
		if m.Reason != "" {
			fmt.Fprintf(b, " reason=%q", m.Reason)
		}
	case Claim:
		fmt.Fprintf(b, " owner=%q", m.Owner)
	case Dense:
		fmt.Fprintf(b, " done=%d", m.Bits.Count())
	case Position:
		fmt.Fprintf(b, " id=%s position=%d", m.Identity.IDString(), m.Position)
	}
	fmt.Fprintf(b, " at=%s", time.UnixMilli(m.At).UTC().Format("2006-01-02T15:04:05.000Z"))
}
