package config

import (
	"os"
	"testing"
)

func TestExpansion(t *testing.T) {
	x := &expander{
		lookup: lookup([]string{"A=1", "EMPTY="}),
		readFile: func(path string) ([]byte, error) {
			if path != "/run/secret" {
				return nil, os.ErrNotExist
			}
			return []byte("from file\n"), nil
		},
	}
	tests := []struct{ in, want, problem string }{
		{in: "plain", want: "plain"},
		{in: "${A}", want: "1"},
		{in: "x${A}y${A}z", want: "x1y1z"},
		{in: "${B:-2}", want: "2"},
		{in: "${A:-2}", want: "1"},
		{in: "${B:-}", want: ""},
		{in: "${EMPTY}", want: ""},
		{in: "${EMPTY:-2}", want: "2"},
		{in: "${file:/run/secret}", want: "from file"},
		{in: "$${A} costs $5", want: "${A} costs $5"},
		{in: "${B}", problem: "the variable B is not set (${B:-…} gives a default)"},
		{in: "${A", problem: "${ is not closed by } (write $${ for a plain ${)"},
		{in: "${}", problem: "${} is no variable: want ${NAME}, ${NAME:-default} or ${file:/path}"},
		{in: "${1A}", problem: "${1A} is no variable: want ${NAME}, ${NAME:-default} or ${file:/path}"},
		{in: "${file:/other}", problem: "fill in ${file:/other}: file does not exist"},
	}
	for _, test := range tests {
		got, _, err := x.expand(test.in)
		if problem := message(err); got != test.want || problem != test.problem {
			t.Errorf("%s: %q, %q; want %q, %q", test.in, got, problem, test.want, test.problem)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
