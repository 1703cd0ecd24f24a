package exechandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/retrytopics"
)

// answer is the line that a process writes.
type answer struct {
	ID         *uint64  `json:"id"`
	OK         bool     `json:"ok"`
	Error      string   `json:"error"`
	Class      string   `json:"class"`
	Permanent  bool     `json:"permanent"`
	RetryAfter string   `json:"retry_after"`
	Skip       *string  `json:"skip"`
	Uncertain  bool     `json:"uncertain"`
	Produce    []output `json:"produce"`

	retryAfter time.Duration
	records    []*kgo.Record
}

// output is a record to write: one element of an answer's "produce".
type output struct {
	Topic       string     `json:"topic"`
	Key         *string    `json:"key"`
	KeyBase64   []byte     `json:"key_base64"`
	Value       *string    `json:"value"`
	ValueBase64 []byte     `json:"value_base64"`
	Headers     [][]octets `json:"headers"`
}

// decodeAnswer reads a line, without its newline, that should answer the request of the given id. Unknown fields are errors:
// a misspelled "permanent" would be retried for days. It never panics, whatever the line; the error says what is wrong.
func decodeAnswer(line []byte, id uint64) (*answer, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("the answer is not UTF-8: " + quote(line))
	}
	var a answer
	if err := strictUnmarshal(line, &a); err != nil {
		return nil, fmt.Errorf("the answer is not the JSON object that is wanted: %w: %s", err, quote(line))
	}
	switch {
	case a.ID == nil:
		return nil, errors.New("the answer has no id: " + quote(line))
	case *a.ID != id:
		return nil, fmt.Errorf("the answer has id %d, the request has %d", *a.ID, id)
	}
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("the answer makes no sense: %w: %s", err, quote(line))
	}
	return &a, nil
}

// strictUnmarshal reads exactly one JSON value that has no field unknown to v.
func strictUnmarshal(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("read the JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on the line")
	}
	return nil
}

// check sees that the answer has exactly one meaning, and reads what its texts say.
func (a *answer) check() error {
	if n := count(a.OK, a.Skip != nil, a.Error != ""); n != 1 {
		return fmt.Errorf(`want exactly one of "ok": true, "skip" and "error", got %d`, n)
	}
	ways := count(a.Permanent, a.RetryAfter != "", a.Uncertain)
	switch {
	case ways > 1:
		return errors.New(`want at most one of "permanent", "retry_after" and "uncertain"`)
	case ways > 0 && a.Error == "":
		return errors.New(`"permanent", "retry_after" and "uncertain" go with "error" only`)
	case a.Class != "" && a.Error == "":
		return errors.New(`"class" goes with "error" only`)
	case len(a.Produce) > 0 && !a.OK:
		return errors.New(`"produce" goes with "ok" only`)
	}
	if a.RetryAfter != "" {
		var err error
		if a.retryAfter, err = time.ParseDuration(a.RetryAfter); err != nil || a.retryAfter <= 0 {
			return fmt.Errorf(`"retry_after" %q: want a positive duration such as "30s"`, a.RetryAfter)
		}
	}
	for i, o := range a.Produce {
		r, err := o.record()
		if err != nil {
			return fmt.Errorf(`"produce", element %d: %w`, i, err)
		}
		a.records = append(a.records, r)
	}
	return nil
}

// outcome returns what the handler's call ends with, apart from the records to produce.
func (a *answer) outcome() error {
	if a.OK {
		return nil
	}
	if a.Skip != nil {
		return retrytopics.Skip(*a.Skip)
	}
	err := &AnswerError{Message: a.Error, Class: a.Class}
	switch {
	case a.Permanent:
		return retrytopics.Permanent(err)
	case a.Uncertain:
		return retrytopics.Uncertain(err)
	case a.retryAfter > 0:
		return retrytopics.RetryAfter(err, a.retryAfter)
	}
	return err
}

func (o output) record() (*kgo.Record, error) {
	if o.Topic == "" {
		return nil, errors.New("no topic")
	}
	r := &kgo.Record{Topic: o.Topic}
	var err error
	if r.Key, err = oneOf("key", o.Key, o.KeyBase64); err != nil {
		return nil, err
	}
	if r.Value, err = oneOf("value", o.Value, o.ValueBase64); err != nil {
		return nil, err
	}
	for i, h := range o.Headers {
		if len(h) != 2 || h[0] == nil {
			return nil, fmt.Errorf("header %d: want [name, value]", i)
		}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(h[0]), Value: h[1]})
	}
	return r, nil
}

// oneOf returns the bytes of a field that is text, binary or, when it is null or left out, nil.
func oneOf(name string, text *string, binary []byte) ([]byte, error) {
	switch {
	case text == nil:
		return binary, nil
	case binary != nil:
		return nil, fmt.Errorf("both %s and %s_base64", name, name)
	}
	return append([]byte{}, *text...), nil
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// maxQuote is how much of a wrong answer its error repeats: enough to recognize a stray print.
const maxQuote = 80

func quote(line []byte) string {
	if len(line) > maxQuote {
		return fmt.Sprintf("%.*q… (%d bytes)", maxQuote, line, len(line))
	}
	return fmt.Sprintf("%q", line)
}
