package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestNothingIsViolated explores all worlds with a small budget. The command does it with a large one.
func TestNothingIsViolated(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"-states", "100000"}, &out, &out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	if last := out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:]; !strings.HasSuffix(last, " worlds: ok\n") {
		t.Errorf("last line %q", last)
	}
}

// TestWalksEnd takes random walks, which go deeper than the small budget above.
func TestWalksEnd(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"-walks", "1000", "-seed", "3"}, &out, &out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
}

// TestExplorationIsDeterministic: a number of states means the same on every machine, whatever the number of goroutines.
func TestExplorationIsDeterministic(t *testing.T) {
	w := allWorlds()[0]
	one, two := explore(w.sealed(), 5000, 1), explore(w.sealed(), 5000, 2)
	if one.states != two.states || one.depth != two.depth || one.complete != two.complete {
		t.Errorf("with one goroutine %+v, with two %+v", one, two)
	}
}
