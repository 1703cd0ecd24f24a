package dedupe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// naive decodes the whole value and walks what came out.
func naive(p jsonPath, value []byte) (x []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var at any
	if err := d.Decode(&at); err != nil {
		return nil, ErrNotJSON
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrNotJSON
	}
	for _, step := range p {
		object, _ := at.(map[string]any)
		array, _ := at.([]any)
		switch {
		case !step.element && object != nil:
			at = object[step.name]
		case step.element && step.index < len(array):
			at = array[step.index]
		default:
			at = nil
		}
	}
	switch v := at.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case json.Number:
		return []byte(v), nil
	case bool:
		return json.Marshal(v)
	}
	return nil, ErrNotScalar
}

func FuzzJSONPathAgreesWithDecodingAll(f *testing.F) {
	f.Add("a.b[1]", `{"a":{"b":[1,{"c":"x"}]}}`)
	f.Add("a[0].c", `{"a":[{"c":"\"}]\\"},2],"a":[{"c":"é😀"}]}`)
	f.Add("a", `{"\u0061":1e5,"b":"]"}`)
	f.Add("a", `[true]`)
	f.Add("[0]", `[false,null]`)
	f.Add("a", `"text"`)
	f.Add("a", ` {"a" : -0.0 } `)
	f.Add("a", `{"a":"\ud800"}`)
	f.Fuzz(func(t *testing.T, path, value string) {
		p, err := parseJSONPath(path)
		if err != nil || !utf8.ValidString(value) || strings.Contains(value, `\u`) && strings.ContainsAny(value, "dD") {
			return // lone surrogates and broken UTF-8 have no one reading
		}
		got, gotErr := p.of([]byte(value))
		want, wantErr := naive(p, []byte(value))
		if !bytes.Equal(got, want) || !errors.Is(gotErr, wantErr) {
			t.Errorf("%s of %s: %q, %v; want %q, %v", path, value, got, gotErr, want, wantErr)
		}
	})
}
