package config

import (
	"errors"
	"fmt"
	"strings"
)

// expander fills in ${NAME}, ${NAME:-default} and ${file:/path} in scalar values. $${ stands for a plain ${.
type expander struct {
	lookup   func(name string) (string, bool)
	readFile func(path string) ([]byte, error)
	problems []Problem
}

// tree expands every scalar below n in place. Untyped text stays: it was expanded, or must not be.
func (x *expander) tree(n *node, path string) {
	switch n.kind {
	case scalar:
		x.scalar(n, path)
	case text:
	case list:
		for i, item := range n.items {
			x.tree(item, index(path, i))
		}
	case mapping:
		for _, e := range n.entries {
			x.tree(e.value, join(path, e.key))
		}
	}
}

func (x *expander) scalar(n *node, path string) {
	if n.tag == tagBroken || !strings.Contains(n.value, "${") {
		return
	}
	value, expanded, err := x.expand(n.value)
	if err != nil {
		x.problems = append(x.problems, Problem{At: n.at, Path: path, Message: err.Error()})
		n.kind, n.tag = scalar, tagBroken
		return
	}
	n.value = value
	if expanded {
		n.kind = text
	}
}

// tagBroken marks a scalar whose problem was reported already.
const tagBroken = "!broken"

func (x *expander) expand(s string) (value string, expanded bool, err error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			out.WriteString(before)
			return out.String(), expanded, nil
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(literal + "${")
			s = after
			continue
		}
		expression, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", false, errors.New("${ is not closed by } (write $${ for a plain ${)")
		}
		value, err := x.evaluate(expression)
		if err != nil {
			return "", false, err
		}
		out.WriteString(before + value)
		expanded, s = true, rest
	}
}

func (x *expander) evaluate(expression string) (string, error) {
	if path, ok := strings.CutPrefix(expression, "file:"); ok {
		data, err := x.readFile(path)
		if err != nil {
			return "", fmt.Errorf("fill in ${%s}: %w", expression, err)
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	name, fallback, hasDefault := strings.Cut(expression, ":-")
	if !variableName(name) {
		return "", fmt.Errorf("${%s} is no variable: want ${NAME}, ${NAME:-default} or ${file:/path}", expression)
	}
	if value, ok := x.lookup(name); ok && (value != "" || !hasDefault) {
		return value, nil
	}
	if !hasDefault {
		return "", fmt.Errorf("the variable %s is not set (${%s:-…} gives a default)", name, name)
	}
	return fallback, nil
}

func variableName(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
