package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position says where a setting stands.
type Position struct {
	Source string // the file's name, "LANEWAY_GROUP" or "-X group"
	Line   int    // from 1; 0 where lines mean nothing
	Column int    // from 1; 0 where columns mean nothing
}

// String returns source:line:column without the parts that are 0.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.Source
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.Source, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
}

// Problem is one thing that is wrong with a configuration, or, as a warning, that is better said than left open.
type Problem struct {
	At      Position
	Path    string // for example topics.orders.retry.tiers[1]; empty for the file as a whole
	Message string
}

// String returns "position: path: message", without the path where the position says it.
func (p Problem) String() string {
	if p.Path == "" || p.At.Source == overridePrefix+p.Path {
		return p.At.String() + ": " + p.Message
	}
	return p.At.String() + ": " + p.Path + ": " + p.Message
}

// Error holds all problems of one configuration, those of the file first, in the file's order.
type Error struct {
	Problems []Problem // at least one
}

// Error returns one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sortProblems orders them as a reader of the file meets them; positions without a line come last.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(lineless(a), lineless(b)),
			cmp.Compare(a.At.Source, b.At.Source),
			cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column),
			cmp.Compare(a.Path, b.Path),
		)
	})
}

func lineless(p Problem) int {
	if p.At.Line == 0 {
		return 1
	}
	return 0
}
