package dedupe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// jsonPath is the way from the top of a JSON value to one value in it.
type jsonPath []jsonStep

// jsonStep goes into the member of an object, or into the element of an array.
type jsonStep struct {
	name    string
	index   int
	element bool // index counts, not name
}

// of returns the bytes that the path leads to; nil if there are none.
//
// The standard library judges the value first: it bounds the depth, and what walks the value behind it does not check
// what it skips.
func (p jsonPath) of(value []byte) ([]byte, error) {
	if value == nil { // a tombstone
		return nil, nil
	}
	if !json.Valid(value) {
		return nil, ErrNotJSON
	}
	at := gjson.ParseBytes(value)
	for _, step := range p {
		if at = step.into(at); !at.Exists() {
			return nil, nil
		}
	}
	switch at.Type {
	case gjson.Null:
		return nil, nil
	case gjson.JSON:
		return nil, ErrNotScalar
	case gjson.String:
		return []byte(at.Str), nil
	case gjson.Number, gjson.True, gjson.False:
	}
	return []byte(at.Raw), nil
}

// into returns what the step leads to; a result that does not exist if there is nothing.
func (s jsonStep) into(at gjson.Result) (found gjson.Result) {
	switch {
	case s.element && at.IsArray():
		i := 0
		at.ForEach(func(_, v gjson.Result) bool {
			if i == s.index {
				found = v
			}
			i++
			return i <= s.index
		})
	case !s.element && at.IsObject():
		at.ForEach(func(name, v gjson.Result) bool {
			if name.Str == s.name {
				found = v
			}
			return true // the last one of equal names counts
		})
	}
	return found
}

var errEmptyName = errors.New("a name is empty")

func parseJSONPath(s string) (jsonPath, error) {
	if s == "$" || strings.HasPrefix(s, "$.") || strings.HasPrefix(s, "$[") {
		return nil, errors.New(`leave out the "$" that stands for the whole value`)
	}
	var p jsonPath
	for rest := s; rest != "" || p == nil; {
		step, after, err := parseJSONStep(rest, p == nil)
		if err != nil {
			return nil, err
		}
		p, rest = append(p, step), after
	}
	return p, nil
}

func parseJSONStep(s string, first bool) (step jsonStep, rest string, err error) {
	if strings.HasPrefix(s, "[") {
		return parseJSONBracket(s)
	}
	if !first {
		if s[0] != '.' {
			return jsonStep{}, "", fmt.Errorf("want a dot or a bracket before %q", s)
		}
		s = s[1:]
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return jsonStep{}, "", errEmptyName
	}
	if strings.Contains(s[:end], "]") {
		return jsonStep{}, "", fmt.Errorf("%q: a bracket is not opened", s[:end])
	}
	return jsonStep{name: s[:end]}, s[end:], nil
}

// parseJSONBracket reads `["name"]` or "[n]".
func parseJSONBracket(s string) (step jsonStep, rest string, err error) {
	if strings.HasPrefix(s, `["`) {
		d := json.NewDecoder(strings.NewReader(s[1:]))
		if err := d.Decode(&step.name); err != nil {
			return jsonStep{}, "", fmt.Errorf("%q: want a JSON string in the bracket", s)
		}
		rest, ok := strings.CutPrefix(s[1+d.InputOffset():], "]")
		if !ok {
			return jsonStep{}, "", fmt.Errorf("%q: the bracket is not closed", s)
		}
		return step, rest, nil
	}
	digits, rest, ok := strings.Cut(s[1:], "]")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return jsonStep{}, "", fmt.Errorf(`%q: want [n] or ["name"]`, s)
	}
	return jsonStep{index: int(n), element: true}, rest, nil
}
