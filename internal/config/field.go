package config

import (
	"encoding"
	"reflect"
	"strings"
)

// field is what the tags of a struct field say.
type field struct {
	name     string
	index    int
	typ      reflect.Type
	initial  string // the default, written as in the file
	required bool
	enum     []string
	min, max string
}

// fields returns the settings of a struct type in the order of its declaration.
func fields(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(tag, ",") // what comes behind it is for printing
		one := field{
			name: name, index: i, typ: f.Type, initial: f.Tag.Get("default"), required: f.Tag.Get("required") == "true",
			min: f.Tag.Get("min"), max: f.Tag.Get("max"),
		}
		if words := f.Tag.Get("enum"); words != "" {
			one.enum = strings.Split(words, "|")
		}
		all = append(all, one)
	}
	return all
}

// element is the field of one item of a list or mapping: bounds and words apply to each.
func (f field) element() field {
	return field{name: f.name, typ: f.typ.Elem(), enum: f.enum, min: f.min, max: f.max}
}

// readsText says whether the type reads itself from text.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isBlock says whether the type is a struct of further fields.
func isBlock(t reflect.Type) bool { return t.Kind() == reflect.Struct && !readsText(t) }

// blockOf returns the block that a field holds, directly or by pointer.
func blockOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, isBlock(t)
}
