package config

import (
	"reflect"
	"slices"
	"testing"
)

// A default or bound that cannot be read would be the zero value without a word; a type that is not read, a panic.
func TestEveryTagCanBeRead(t *testing.T) {
	eachField(reflect.TypeFor[Config](), "", func(path string, f field) {
		element := f
		if f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map {
			element = f.element()
		}
		if _, block := blockOf(element.typ); !block && !readsText(element.typ) {
			kinds := []reflect.Kind{reflect.String, reflect.Bool, reflect.Int, reflect.Float64}
			if !slices.Contains(kinds, element.typ.Kind()) {
				t.Errorf("%s: a %s is not read", path, element.typ)
			}
		}
		for _, bound := range []string{f.min, f.max} {
			if bound == "" {
				continue
			}
			v := reflect.New(element.typ).Elem()
			if err := setScalar(v, &node{kind: text, value: bound}, element); err != nil {
				t.Errorf("%s: bound %s: %v", path, bound, err)
			}
		}
		if (f.min == "") != (f.max == "") {
			t.Errorf("%s: one bound without the other", path)
		}
		if f.initial == "" {
			return
		}
		d := decoder{set: map[string]Position{}}
		d.value(reflect.New(f.typ).Elem(), &node{kind: text, value: f.initial}, path, f)
		for _, p := range d.problems {
			t.Errorf("default: %v", p)
		}
	})
}

func eachField(t reflect.Type, path string, visit func(path string, f field)) {
	for _, f := range fields(t) {
		inner := join(path, f.name)
		visit(inner, f)
		typ := f.typ
		if typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if block, ok := blockOf(typ); ok {
			eachField(block, inner, visit)
		}
	}
}
