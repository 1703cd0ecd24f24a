package dedupe

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Key says what makes two records the same work. The zero value is [FromOrigin].
type Key struct {
	source source
	name   string // the header's name, or the JSON path as it was written
	path   jsonPath
	fn     func(*kgo.Record) ([]byte, error)
}

type source uint8

const (
	sourceOrigin source = iota
	sourceRecordKey
	sourceHeader
	sourceJSON
	sourceFunc
)

// FromOrigin makes every source record work of its own: only a second delivery of the same record is the same work.
func FromOrigin() Key { return Key{} }

// FromRecordKey takes the record's key: two records with one key are the same work.
func FromRecordKey() Key { return Key{source: sourceRecordKey} }

// FromHeader takes the value of a header. The name is compared byte by byte; where it comes more than once, the last
// one counts.
func FromHeader(name string) Key { return Key{source: sourceHeader, name: name} }

// FromJSON takes a value inside the record's value, which must be JSON. A path is a list of names with dots between
// them, "[n]" for the element n of an array, counted from 0, and `["name"]` for a name with a dot or a bracket in it:
//
//	order.id    items[0].sku    ["com.example.id"]
//
// A string gives its text, a number the digits as they are written (1 and 1.0 differ), true and false their names. Where
// an object has a name twice, the last one counts, as in encoding/json. The error says what is wrong with the path.
func FromJSON(path string) (Key, error) {
	p, err := parseJSONPath(path)
	if err != nil {
		return Key{}, fmt.Errorf("json path %q: %w", path, err)
	}
	return Key{source: sourceJSON, name: path, path: p}, nil
}

// FromFunc takes what fn returns. An empty result means that the record has no key. The function may be called from
// several goroutines at once and for one record more than once; it must return the same bytes each time and must not
// change the record. A panic in it becomes an error.
func FromFunc(fn func(*kgo.Record) ([]byte, error)) Key { return Key{source: sourceFunc, fn: fn} }

// Default reports whether the key is the record's origin.
func (k Key) Default() bool { return k.source == sourceOrigin }

// String returns the form that [ParseKey] reads; a function, which has none, is "func".
func (k Key) String() string {
	switch k.source {
	case sourceOrigin:
		return formOrigin
	case sourceRecordKey:
		return formRecordKey
	case sourceHeader:
		return formHeader + ":" + k.name
	case sourceJSON:
		return formJSON + ":" + k.name
	case sourceFunc:
		return formFunc
	}
	return fmt.Sprintf("source(%d)", k.source)
}

// KeyError says why a record's key could not be made out. Nothing is known about the record's key then: it is not safe
// to take another key in its place, and the same record gives the same error again.
type KeyError struct {
	Key   string // the key's form, as [Key.String] gives it
	Err   error  // the cause; what a panic was called with, if it was one
	Stack []byte // of the panic; nil for an error that was returned
}

// Error returns the key's form and the cause, and nothing of the record's value.
func (e *KeyError) Error() string { return "idempotency key " + e.Key + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

var (
	// ErrNotJSON says that a record's value is not JSON, or nests deeper than 10,000 levels.
	ErrNotJSON = errors.New("value is not JSON")
	// ErrNotScalar says that a JSON path leads to an object or an array, which have no one spelling.
	ErrNotScalar = errors.New("path leads to an object or an array")
)

// Of returns the record's key x. x may share memory with the record.
//
// ok is false where the record has no such key: a header or a path that is not there, a JSON null, a nil record key, a
// nil value, and anything empty, because one empty key for many records would make them all the same work. It is false
// for [FromOrigin] too. The caller takes the record's origin then ([OriginKey]). An error is a *[KeyError].
func (k Key) Of(r *kgo.Record) (x []byte, ok bool, err error) {
	switch k.source {
	case sourceOrigin:
	case sourceRecordKey:
		x = r.Key
	case sourceHeader:
		x = lastHeader(r.Headers, k.name)
	case sourceJSON:
		x, err = k.path.of(r.Value)
	case sourceFunc:
		return k.call(r)
	}
	if err != nil {
		return nil, false, &KeyError{Key: k.String(), Err: err}
	}
	return x, len(x) > 0, nil
}

func lastHeader(headers []kgo.RecordHeader, name string) []byte {
	for _, h := range slices.Backward(headers) {
		if h.Key == name {
			return h.Value
		}
	}
	return nil
}

// call runs the user's function, which may do anything.
func (k Key) call(r *kgo.Record) (x []byte, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			x, ok, err = nil, false, &KeyError{Key: formFunc, Err: panicError(p), Stack: debug.Stack()}
		}
	}()
	x, err = k.fn(r)
	if err != nil {
		return nil, false, &KeyError{Key: formFunc, Err: err}
	}
	return x, len(x) > 0, nil
}

func panicError(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", p)
}
