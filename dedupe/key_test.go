package dedupe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
)

func mustParse(t *testing.T, s string) dedupe.Key {
	t.Helper()
	k, err := dedupe.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeyOfRecord(t *testing.T) {
	const event = `{"order":{"id":"A-17","n":1042,"big":12345678901234567890,"one":1.0,"ok":true,"none":null,"empty":""},
		"items":[{"sku":"x"},{"sku":"yé\n"},[7]],"com.example.id":"dotted","0":"zero","twice":"first","twice":"last"}`
	record := &kgo.Record{
		Key:   []byte("customer-3"),
		Value: []byte(event),
		Headers: []kgo.RecordHeader{
			{Key: "id", Value: []byte("one")}, {Key: "id", Value: []byte("two")}, {Key: "void"}, {Key: "ID", Value: []byte("upper")},
		},
	}
	for _, c := range []struct {
		key, want string
		ok        bool
	}{
		{"origin", "", false},
		{"record_key", "customer-3", true},
		{"header:id", "two", true},
		{"header:ID", "upper", true},
		{"header:void", "", false},
		{"header:absent", "", false},
		{"json:order.id", "A-17", true},
		{"json:order.n", "1042", true},
		{"json:order.big", "12345678901234567890", true},
		{"json:order.one", "1.0", true},
		{"json:order.ok", "true", true},
		{"json:order.none", "", false},
		{"json:order.empty", "", false},
		{"json:order.absent", "", false},
		{"json:order.id.deeper", "", false},
		{"json:items[0].sku", "x", true},
		{"json:items[1].sku", "yé\n", true},
		{"json:items[2][0]", "7", true},
		{"json:items[3].sku", "", false},
		{"json:items.sku", "", false},
		{"json:items.0", "", false},
		{"json:0", "zero", true},
		{"json:[0]", "", false},
		{`json:["com.example.id"]`, "dotted", true},
		{`json:["order"].id`, "A-17", true},
		{`json:["\u006frder"]["id"]`, "A-17", true},
		{"json:com.example.id", "", false},
		{"json:twice", "last", true},
	} {
		x, ok, err := mustParse(t, c.key).Of(record)
		if string(x) != c.want || ok != c.ok || err != nil {
			t.Errorf("%s: %q, %t, %v; want %q, %t", c.key, x, ok, err, c.want, c.ok)
		}
	}
}

func TestKeyOfRecordWithoutAny(t *testing.T) {
	for _, k := range []string{"origin", "record_key", "header:id", "json:id"} {
		if x, ok, err := mustParse(t, k).Of(&kgo.Record{}); x != nil || ok || err != nil {
			t.Errorf("%s of an empty record: %q, %t, %v", k, x, ok, err)
		}
	}
}

func TestKeyOfBadValueIsAnError(t *testing.T) {
	for value, want := range map[string]error{
		"":                                dedupe.ErrNotJSON,
		"plain":                           dedupe.ErrNotJSON,
		`{"id":"a"} trailing`:             dedupe.ErrNotJSON,
		`{"id":"a"`:                       dedupe.ErrNotJSON,
		`{"id":"a","rest":[1,}`:           dedupe.ErrNotJSON,
		strings.Repeat("[", 1<<20):        dedupe.ErrNotJSON,
		`{"id":{"a":1}}`:                  dedupe.ErrNotScalar,
		`{"id":[]}`:                       dedupe.ErrNotScalar,
		`{"deep":` + nested(20_000) + `}`: dedupe.ErrNotJSON,
	} {
		x, ok, err := mustParse(t, "json:id").Of(&kgo.Record{Value: []byte(value)})
		var keyErr *dedupe.KeyError
		if x != nil || ok || !errors.Is(err, want) || !errors.As(err, &keyErr) {
			t.Errorf("%.20q: %q, %t, %v; want %v", value, x, ok, err, want)
			continue
		}
		if keyErr.Key != "json:id" || keyErr.Stack != nil {
			t.Errorf("%.20q: error of key %q with stack %q", value, keyErr.Key, keyErr.Stack)
		}
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestKeyErrorTellsNothingOfTheValue(t *testing.T) {
	_, _, err := mustParse(t, "json:id").Of(&kgo.Record{Value: []byte(`{"card":"4711"`)})
	if err == nil || strings.Contains(err.Error(), "47") || strings.Contains(err.Error(), "card") {
		t.Errorf("error %q", err)
	}
}

func TestKeyFromFunc(t *testing.T) {
	broken := errors.New("broken")
	var keyErr *dedupe.KeyError

	k := dedupe.FromFunc(func(r *kgo.Record) ([]byte, error) { return r.Value[:2], nil })
	if x, ok, err := k.Of(&kgo.Record{Value: []byte("abc")}); string(x) != "ab" || !ok || err != nil {
		t.Errorf("result: %q, %t, %v", x, ok, err)
	}
	if _, _, err := k.Of(&kgo.Record{}); !errors.As(err, &keyErr) || !strings.Contains(string(keyErr.Stack), "key_test.go") {
		t.Errorf("runtime panic: %v", err)
	}
	k = dedupe.FromFunc(func(*kgo.Record) ([]byte, error) { return nil, nil })
	if _, ok, err := k.Of(&kgo.Record{}); ok || err != nil {
		t.Errorf("no result: %t, %v", ok, err)
	}
	k = dedupe.FromFunc(func(*kgo.Record) ([]byte, error) { return []byte("x"), broken })
	if x, ok, err := k.Of(&kgo.Record{}); x != nil || ok || !errors.Is(err, broken) {
		t.Errorf("returned error: %q, %t, %v", x, ok, err)
	}
	k = dedupe.FromFunc(func(*kgo.Record) ([]byte, error) { panic(broken) })
	if _, _, err := k.Of(&kgo.Record{}); !errors.Is(err, broken) || !errors.As(err, &keyErr) || keyErr.Stack == nil {
		t.Errorf("panic with an error: %v", err)
	}
	k = dedupe.FromFunc(func(*kgo.Record) ([]byte, error) { panic("no") })
	if _, _, err := k.Of(&kgo.Record{}); err == nil || err.Error() != "idempotency key func: panic: no" {
		t.Errorf("panic with a string: %v", err)
	}
}

func TestParseKeyReadsWhatStringWrote(t *testing.T) {
	for _, s := range []string{"origin", "record_key", "header:Idempotency-Key", "header:a:b", "json:a.b[0].c", "json:[3]", `json:["a.b"]["c\"d"]`} {
		if got := mustParse(t, s).String(); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	var zero dedupe.Key
	if zero.String() != "origin" || !zero.Default() || !mustParse(t, "origin").Default() || dedupe.FromRecordKey().Default() {
		t.Error("the zero key is not the origin, or another one is")
	}
}

func TestParseKeyNamesTheNearestForm(t *testing.T) {
	for s, want := range map[string]string{
		"":                   `"origin"`,
		"orign":              `"origin"`,
		"origin:x":           `"origin"`,
		"Record-Key":         `"record_key"`,
		"key":                `"record_key"`,
		"recordkey":          `"record_key"`,
		"header":             `"header:NAME"`,
		"Header:order-id":    `"header:order-id"`,
		"headers=order-id":   `"header:order-id"`,
		"json":               `"json:PATH"`,
		"jsn: order.id":      `"json:order.id"`,
		"func":               "in Go only",
		"json:$.order.id":    `leave out the "$"`,
		"json:order..id":     "a name is empty",
		"json:order.":        "a name is empty",
		"json:.order":        "a name is empty",
		"json:items[x]":      "want [n]",
		"json:items[-1]":     "want [n]",
		"json:items[0":       "want [n]",
		"json:items[0]id":    "want a dot",
		"json:items]":        "not opened",
		`json:["a"`:          "not closed",
		`json:["a]`:          "JSON string",
		"json:a[9999999999]": "want [n]",
	} {
		_, err := dedupe.ParseKey(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q does not say %s", s, err, want)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"origin", "header:x", "json:a.b[0]", `json:["a\u0000"]`, "jsno", "json:$", "func", ":::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := dedupe.ParseKey(s)
		if err != nil {
			if err.Error() == "" || k.String() != "origin" {
				t.Errorf("%q: key %s, error %q", s, k, err)
			}
			return
		}
		if k.String() != s {
			t.Errorf("%q became %q", s, k)
		}
		if _, err := dedupe.ParseKey(k.String()); err != nil {
			t.Error(err)
		}
	})
}
