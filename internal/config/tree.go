package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kind is the form of a node.
type kind uint8

const (
	scalar  kind = iota // a YAML scalar: its tag must fit the field
	text                // untyped text, from ${…}, a variable or -X: the field says how to read it
	list                // items
	mapping             // entries
)

// node is one value of the configuration before it has a type.
type node struct {
	kind    kind
	at      Position
	tag     string // of a scalar: !!str, !!int, …
	value   string // of a scalar or text
	shown   string // what a message may quote: the value as it stands in its source
	items   []*node
	entries []entry
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    Position
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// maxNodes bounds a file after its aliases were followed: a few short lines of aliases can stand for billions of nodes.
const maxNodes = 100_000

// reader turns YAML into nodes and collects what is wrong with its form.
type reader struct {
	source   string
	problems []Problem
	nodes    int
	open     map[*yaml.Node]bool // nodes with an anchor that are being read
}

// parse reads one YAML document. An empty one is an empty mapping; there is no node where the text is not YAML.
func parse(source string, data []byte) (*node, []Problem) {
	r := &reader{source: source, open: map[*yaml.Node]bool{}}
	root := &node{kind: mapping, at: Position{source, 1, 1}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return root, nil
	case err != nil:
		return nil, []Problem{syntaxProblem(source, data, err)}
	}
	if len(document.Content) == 1 && document.Content[0].ShortTag() != "!!null" {
		root = r.node(document.Content[0], "")
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.add(Position{Source: source}, "", "only one YAML document is read: there is a second one, or text behind the end")
	}
	return root, r.problems
}

func (r *reader) add(at Position, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{At: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) node(y *yaml.Node, path string) *node {
	at := Position{r.source, y.Line, y.Column}
	out := &node{at: at}
	r.nodes++
	if r.nodes == maxNodes {
		r.add(at, path, "more than %d values", maxNodes)
	}
	if r.nodes >= maxNodes {
		out.tag = tagBroken
		return out
	}
	if y.Anchor != "" {
		r.open[y] = true
		defer delete(r.open, y)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.alias(y, path)
	case yaml.SequenceNode:
		out.kind = list
		for i, item := range y.Content {
			out.items = append(out.items, r.node(item, index(path, i)))
		}
	case yaml.MappingNode:
		out.kind = mapping
		r.entries(out, y, path)
	case yaml.ScalarNode, yaml.DocumentNode: // a document stands at the top only, and is not read here
		out.tag, out.value, out.shown = y.ShortTag(), y.Value, y.Value
	}
	return out
}

func (r *reader) alias(y *yaml.Node, path string) *node {
	at := Position{r.source, y.Line, y.Column}
	if r.open[y.Alias] {
		r.add(at, path, "the anchor %q contains itself", y.Value)
		return &node{at: at, tag: tagBroken}
	}
	out := r.node(y.Alias, path)
	out.at = at
	return out
}

func (r *reader) entries(out *node, y *yaml.Node, path string) {
	first := map[string]Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, at := y.Content[i], Position{r.source, y.Content[i].Line, y.Content[i].Column}
		switch before, twice := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.add(at, path, "a key must be plain text")
			continue
		case key.ShortTag() == "!!merge":
			r.add(at, path, "merge keys (<<) are not read; an alias can stand for a whole block")
			continue
		case twice:
			r.add(at, join(path, key.Value), "given twice, first in line %d", before.Line)
			continue
		}
		first[key.Value] = at
		value := r.node(y.Content[i+1], join(path, key.Value))
		out.entries = append(out.entries, entry{key: key.Value, at: at, value: value})
	}
}

// syntaxProblem makes a problem of the YAML library's error.
func syntaxProblem(source string, data []byte, err error) Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	at := Position{Source: source}
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		at.Line, _ = strconv.Atoi(m[1]) // digits: the library's own line numbers
	} else if !strings.Contains(message, "anchor") && !strings.Contains(message, "UTF-8") {
		at.Line = 1 // the library leaves it out for the first line
	}
	// Where an expected token is missing the library counts lines from 0.
	if strings.HasPrefix(message, "did not find") && at.Line < 1+bytes.Count(bytes.TrimSpace(data), []byte("\n")) {
		at.Line++
	}
	message = "not YAML: " + message
	if bytes.Contains(data, []byte("${")) && strings.HasPrefix(message, "not YAML: did not find expected ','") {
		message += " (inside {…} and […] a value with ${…} needs quotes)"
	}
	return Problem{At: at, Message: message}
}
