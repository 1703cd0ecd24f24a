package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
)

// order is the value of a record that the demo makes. It says itself what its handler will do with it.
type order struct {
	Order    string `json:"order"`
	Customer string `json:"customer"`
	Will     string `json:"will,omitempty"` // "" or: fail N, fail, be invalid, be skipped, wait
}

// keyHeader carries the idempotency key of the records that the demo makes.
const keyHeader = "order"

// stream makes orders. The same seed makes the same orders.
type stream struct {
	rnd  *rand.Rand
	run  string // tells the orders of one start from those of another
	n    int
	last *kgo.Record
}

func newStream(seed uint64, run string) *stream {
	return &stream{rnd: rand.New(rand.NewPCG(seed, 0)), run: run}
}

// next returns the next record: now and then the one before once more, as a producer does that did not hear of its success.
func (s *stream) next() *kgo.Record {
	if s.last != nil && s.rnd.IntN(25) == 0 {
		again := &kgo.Record{Key: s.last.Key, Value: s.last.Value, Headers: s.last.Headers}
		s.last = nil
		return again
	}
	s.n++
	o := order{Order: fmt.Sprintf("%s-%d", s.run, s.n), Customer: fmt.Sprintf("customer-%d", s.rnd.IntN(40))}
	switch n := s.rnd.IntN(100); {
	case n < 6:
		o.Will = fmt.Sprintf("fail %d", 1+s.rnd.IntN(3))
	case n < 7:
		o.Will = "fail"
	case n < 9:
		o.Will = "be invalid"
	case n < 10:
		o.Will = "be skipped"
	case n < 11:
		o.Will = "wait"
	}
	value, _ := json.Marshal(o) // of strings: it cannot fail
	s.last = &kgo.Record{
		Key: []byte(o.Customer), Value: value, Headers: []kgo.RecordHeader{{Key: keyHeader, Value: []byte(o.Order)}},
	}
	return s.last
}

var (
	errDown    = errors.New("payment service does not answer")
	errInvalid = errors.New("order has no amount")
	errLimit   = errors.New("payment service asks for patience")
)

// handle does what the order says. Records of other kinds, and orders that say nothing, succeed.
func handle(_ context.Context, m *processor.Message) error {
	var o order
	_ = json.Unmarshal(m.Value, &o) // what is no order says nothing
	var times int
	n, _ := fmt.Sscanf(o.Will, "fail %d", &times)
	switch {
	case n == 1 && m.Attempt <= times, o.Will == "fail":
		return errDown
	case o.Will == "be invalid":
		return processor.Permanent(errInvalid)
	case o.Will == "be skipped":
		return processor.Skip("order was cancelled")
	case o.Will == "wait" && m.Snoozes == 0:
		return processor.RetryAfter(errLimit, 2*time.Second)
	}
	return nil
}

// line is one record of an input file.
type line struct {
	Key     *string           `json:"key"`
	Value   json.RawMessage   `json:"value"`
	Headers map[string]string `json:"headers"`
}

// maxLine bounds one line of the input, in bytes: a record may take 1 MB, and JSON escapes make it longer.
const maxLine = 8 << 20

// readLines calls each for the record in every line of r. An error names the line.
func readLines(r io.Reader, each func(*kgo.Record) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		rec, err := parseLine(text)
		if err == nil {
			err = each(rec)
		}
		if err != nil {
			return fmt.Errorf("input line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	return nil
}

// parseLine reads one record: {"key": "…", "value": any JSON, "headers": {"name": "value"}}. A value that is a string becomes
// its text, a null or a missing one a tombstone, any other its JSON.
func parseLine(text []byte) (*kgo.Record, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, fmt.Errorf("want {\"key\": …, \"value\": …, \"headers\": {…}}: %w", err)
	}
	rec := &kgo.Record{}
	if l.Key != nil {
		rec.Key = []byte(*l.Key)
	}
	for _, name := range sortedKeys(l.Headers) {
		rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: name, Value: []byte(l.Headers[name])})
	}
	var s string
	switch {
	case len(l.Value) == 0 || string(l.Value) == "null":
	case json.Unmarshal(l.Value, &s) == nil:
		rec.Value = []byte(s)
	default:
		rec.Value = bytes.Clone(l.Value)
	}
	return rec, nil
}
