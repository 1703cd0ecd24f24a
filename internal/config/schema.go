package config

import (
	_ "embed" // the descriptions come from the source
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
)

//go:embed file.go
var fileSource string

//go:embed handler.go
var handlerSource string

// Schema returns the JSON Schema (2020-12) of the configuration file, for editors. It is made of the same types that a
// file is read into; their doc comments are its descriptions.
func Schema() []byte {
	s := schemer{docs: map[string]string{}}
	s.readDocs(fileSource)
	s.readDocs(handlerSource)
	root := s.block(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Laneway configuration"
	root["description"] = s.docs["Config"]
	out, _ := json.MarshalIndent(root, "", "  ") // maps of strings, numbers and lists: they always marshal
	return append(out, '\n')
}

type object = map[string]any

type schemer struct {
	docs map[string]string // by "Type" and "Type.Field"
}

// readDocs collects the comments of types and fields. The source is this package's own, so it parses.
func (s schemer) readDocs(source string) {
	file, _ := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments|parser.SkipObjectResolution)
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, spec := range decl.Specs {
			s.readType(decl, spec)
		}
	}
}

func (s schemer) readType(decl *ast.GenDecl, spec ast.Spec) {
	typ, ok := spec.(*ast.TypeSpec)
	if !ok {
		return
	}
	s.docs[typ.Name.Name] = sentence(typ.Name.Name, decl.Doc.Text())
	block, ok := typ.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range block.Fields.List {
		for _, name := range f.Names {
			s.docs[typ.Name.Name+"."+name.Name] = sentence(name.Name, f.Doc.Text())
		}
	}
}

// sentence turns a Go comment ("Group is the consumer group.") into a description ("The consumer group.").
func sentence(name, doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	rest, ok := strings.CutPrefix(doc, name+" ")
	if !ok {
		return doc
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

func (s schemer) block(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range fields(t) {
		property := s.field(f)
		property["description"] = s.docs[t.Name()+"."+t.Field(f.index).Name]
		properties[f.name] = property
		if f.required {
			required = append(required, f.name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (s schemer) field(f field) object {
	out := s.form(f)
	if f.initial != "" {
		out["default"] = initialValue(f)
	}
	return out
}

func (s schemer) form(f field) object {
	if block, ok := blockOf(f.typ); ok {
		return s.block(block)
	}
	switch {
	case f.typ.Kind() == reflect.Slice:
		return orFilledIn(object{"type": "array", "items": s.form(f.element())})
	case f.typ.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": s.form(f.element())}
	default:
		return scalarForm(f)
	}
}

// orFilledIn allows text with ${…} besides the value's own form.
func orFilledIn(one object) object {
	return object{"anyOf": []object{one, {"type": "string", "pattern": filledIn}}}
}

// filledIn is the pattern of a value with ${…}, which may stand for a value of any type.
const filledIn = `\$\{.+\}`

func scalarForm(f field) object {
	switch kind := f.typ.Kind(); {
	case f.enum != nil:
		return orFilledIn(object{"enum": f.enum})
	case f.typ == reflect.TypeFor[Duration]():
		return object{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h|d))+$|` + filledIn}
	case f.typ == reflect.TypeFor[Window]():
		return object{"type": "string", "pattern": `^auto$|^([0-9.]+(s|m|h|d))+$|` + filledIn}
	case f.typ == reflect.TypeFor[Bytes]():
		return object{"type": "string", "pattern": `^[0-9]+ ?([KMGT]i)?B$|` + filledIn}
	case f.typ == reflect.TypeFor[Key]():
		return object{"type": "string", "pattern": `^origin$|^record_key$|^header:.+|^json:.+|` + filledIn}
	case kind == reflect.Bool:
		return orFilledIn(object{"type": "boolean"})
	case kind == reflect.Int:
		return orFilledIn(bounded(object{"type": "integer"}, f))
	case kind == reflect.Float64:
		return orFilledIn(bounded(object{"type": "number"}, f))
	default:
		return object{"type": "string"}
	}
}

func bounded(out object, f field) object {
	if f.min != "" {
		out["minimum"], out["maximum"] = json.Number(f.min), json.Number(f.max)
	}
	return out
}

// initialValue returns a default as JSON has it.
func initialValue(f field) any {
	switch {
	case f.typ.Kind() == reflect.Slice:
		return strings.Split(strings.Trim(f.initial, "[]"), ", ")
	case f.typ.Kind() == reflect.Bool:
		b, _ := strconv.ParseBool(f.initial) // TestEveryTagCanBeRead
		return b
	case f.typ.Kind() == reflect.Int, f.typ.Kind() == reflect.Float64:
		return json.Number(f.initial)
	default:
		return f.initial
	}
}
