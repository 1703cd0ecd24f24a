package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decoder fills a struct from nodes. It goes on after a problem, so that all of them are found in one run.
type decoder struct {
	problems []Problem
	set      map[string]Position
}

func (d *decoder) add(at Position, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{At: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// value decodes n into v. f says what is allowed.
func (d *decoder) value(v reflect.Value, n *node, path string, f field) {
	switch {
	case n.tag == tagBroken:
		return
	case n.kind == scalar && n.tag == "!!null":
		d.add(n.at, path, "has no value: give one, or remove the line")
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(v.Elem(), n, path, field{name: f.name, typ: f.typ.Elem()})
	case isBlock(v.Type()):
		d.block(v, n, path)
	case v.Kind() == reflect.Map:
		d.table(v, n, path, f)
	case v.Kind() == reflect.Slice:
		d.list(v, n, path, f)
	default:
		d.scalar(v, n, path, f)
	}
}

// structure returns n as the given form. Text that looks like YAML is read as YAML.
func (d *decoder) structure(n *node, want kind, path string) (*node, bool) {
	if n.kind == text && (strings.HasPrefix(n.value, "{") || strings.HasPrefix(n.value, "[")) {
		parsed, problems := parse(n.at.Source, []byte(n.value))
		if len(problems) > 0 {
			d.add(n.at, path, "not YAML")
			return nil, false
		}
		relocate(parsed, n)
		n = parsed
	}
	if n.kind != want {
		d.add(n.at, path, "want %s", map[kind]string{list: "a list", mapping: "a block of settings"}[want])
		return nil, false
	}
	return n, true
}

// relocate makes nodes that were parsed out of a value untyped text with the position of the value. They may be quoted
// only where the value holds nothing that came out of ${…}.
func relocate(n, value *node) {
	n.at = value.at
	if value.shown != value.value {
		n.shown = ""
	}
	if n.kind == scalar {
		n.kind, n.tag = text, ""
	}
	for _, item := range n.items {
		relocate(item, value)
	}
	for i := range n.entries {
		n.entries[i].at = value.at
		relocate(n.entries[i].value, value)
	}
}

func (d *decoder) block(v reflect.Value, n *node, path string) {
	n, ok := d.structure(n, mapping, path)
	if !ok {
		return
	}
	d.set[path] = n.at
	known := fields(v.Type())
	for _, e := range n.entries {
		i := slices.IndexFunc(known, func(f field) bool { return f.name == e.key })
		if i < 0 {
			d.unknown(e, path, known)
			continue
		}
		d.set[join(path, e.key)] = e.value.at
		d.value(v.Field(known[i].index), e.value, join(path, e.key), known[i])
	}
	for _, f := range known {
		if n.get(f.name) != nil {
			continue
		}
		if f.required {
			d.add(n.at, join(path, f.name), "is missing")
		}
		d.initial(v.Field(f.index), f, join(path, f.name))
	}
}

// initial gives a field that was left out its default. The fields of a block have defaults of their own.
func (d *decoder) initial(v reflect.Value, f field, path string) {
	switch {
	case f.initial != "":
		// A decoder of its own: a default is not something that was given.
		(&decoder{set: map[string]Position{}}).value(v, &node{kind: text, value: f.initial}, path, f)
	case isBlock(f.typ):
		for _, inner := range fields(f.typ) {
			d.initial(v.Field(inner.index), inner, join(path, inner.name))
		}
	}
}

func (d *decoder) unknown(e entry, path string, known []field) {
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	message := "there is no such setting"
	if near, ok := nearest(e.key, names); ok {
		message += fmt.Sprintf("; did you mean %s?", near)
	} else {
		message += "; there are " + strings.Join(names, ", ")
	}
	d.add(e.at, join(path, e.key), "%s", message)
}

func (d *decoder) table(v reflect.Value, n *node, path string, f field) {
	n, ok := d.structure(n, mapping, path)
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.entries)))
	for _, e := range n.entries {
		item := reflect.New(v.Type().Elem()).Elem()
		d.set[join(path, e.key)] = e.value.at
		d.value(item, e.value, join(path, e.key), f.element())
		v.SetMapIndex(reflect.ValueOf(e.key), item)
	}
}

func (d *decoder) list(v reflect.Value, n *node, path string, f field) {
	if n.kind == text && !strings.HasPrefix(n.value, "[") {
		n = commaList(n)
	}
	n, ok := d.structure(n, list, path)
	if !ok {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		d.set[index(path, i)] = item.at
		d.value(v.Index(i), item, index(path, i), f.element())
	}
}

// commaList reads text such as "a:9092, b:9092" as a list.
func commaList(n *node) *node {
	out := &node{kind: list, at: n.at}
	for part := range strings.SplitSeq(n.value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			item := &node{kind: text, value: part, at: n.at}
			if n.shown == n.value {
				item.shown = part
			}
			out.items = append(out.items, item)
		}
	}
	return out
}

func (d *decoder) scalar(v reflect.Value, n *node, path string, f field) {
	if n.kind == list || n.kind == mapping {
		d.add(n.at, path, "want %s, not a list or block", describe(f))
		return
	}
	err := setScalar(v, n, f)
	if err == nil {
		err = checkBounds(v, f)
	}
	switch {
	case err == nil:
	case errors.Is(err, errForm), n.value != n.shown: // what was filled in must not be seen, and an error may quote it
		d.add(n.at, path, "%swant %s%s", quoted(n, v), describe(f), suggestion(n, f))
	default:
		d.add(n.at, path, "%s%v", quoted(n, v), err)
	}
}

// suggestion returns the word that was likely meant.
func suggestion(n *node, f field) string {
	if near, ok := nearest(n.value, f.enum); ok && n.value == n.shown {
		return "; did you mean " + near + "?"
	}
	return ""
}

// quoted returns the value as it stands in its source, for the front of a message; nothing when it must not be seen.
func quoted(n *node, v reflect.Value) string {
	hidden := v.Type() == reflect.TypeFor[Secret]() || v.Type() == reflect.TypeFor[URL]() // a URL may hold a password
	if n.shown == "" || hidden {
		return ""
	}
	return strconv.Quote(n.shown) + ": "
}

func setScalar(v reflect.Value, n *node, f field) error {
	if target, ok := reflect.TypeAssert[textual](v.Addr()); ok {
		return target.UnmarshalText([]byte(n.value)) //nolint:wrapcheck // the types of this package only
	}
	if !tagFits(v.Kind(), n) || f.enum != nil && !slices.Contains(f.enum, n.value) {
		return errForm
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(n.value)
		return nil
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(n.value))
		v.SetBool(b)
		return asForm(err)
	case v.Kind() == reflect.Int:
		i, err := strconv.ParseInt(n.value, 0, 64)
		v.SetInt(i)
		return asForm(err)
	default: // float64: TestEveryFieldHasATypeThatIsRead holds the list
		x, err := strconv.ParseFloat(n.value, 64)
		v.SetFloat(x)
		return asForm(err)
	}
}

func asForm(err error) error {
	if err != nil {
		return errForm
	}
	return nil
}

// tagFits says whether YAML's own idea of a scalar's type fits the field; untyped text fits any.
func tagFits(k reflect.Kind, n *node) bool {
	switch {
	case n.kind == text:
		return true
	case k == reflect.String:
		return n.tag == "!!str" || n.tag == "!!timestamp"
	case k == reflect.Bool:
		return n.tag == "!!bool"
	case k == reflect.Int:
		return n.tag == "!!int"
	default:
		return n.tag == "!!int" || n.tag == "!!float"
	}
}

// describe says in words what a field may hold.
func describe(f field) string {
	if self, ok := reflect.TypeAssert[textual](reflect.New(f.typ)); ok {
		return self.want() + between(f)
	}
	switch kind := f.typ.Kind(); {
	case f.enum != nil:
		return "one of " + strings.Join(f.enum, ", ")
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Int:
		return "a whole number" + between(f)
	case kind == reflect.Float64:
		return "a number" + between(f)
	default:
		return "text (in quotes, if it looks like something else)"
	}
}

func between(f field) string {
	if f.min == "" {
		return ""
	}
	return " (" + f.min + " to " + f.max + ")"
}
