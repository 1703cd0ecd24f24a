package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are what the command line asks for.
type options struct {
	states int
	world  string
	big    bool
	list   bool
	walks  int
	seed   uint64
	path   string
	cores  int
	first  bool
}

const bigStates = 200_000_000

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	fs := flag.NewFlagSet("explore", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.states, "states", 5_000_000, "`states` to visit in all worlds together")
	fs.StringVar(&o.world, "world", "", "only worlds whose `name` begins so")
	fs.BoolVar(&o.big, "big", false, "visit every state, however many")
	fs.BoolVar(&o.list, "list", false, "list the worlds")
	fs.IntVar(&o.walks, "walks", 0, "take so many random `walks` instead")
	fs.Uint64Var(&o.seed, "seed", 1, "`seed` of the walks")
	fs.StringVar(&o.path, "path", "", "tell one `story`: the numbers of its steps, with commas")
	fs.IntVar(&o.cores, "cores", 2, "`goroutines`")
	fs.BoolVar(&o.first, "first", false, "stop at the first world that fails")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	var worlds []*world
	for _, w := range allWorlds() {
		if strings.HasPrefix(w.name, o.world) {
			worlds = append(worlds, w.sealed())
		}
	}
	if len(worlds) == 0 {
		fmt.Fprintf(stderr, "no world is named %q\n", o.world)
		return 2
	}
	debug.SetGCPercent(400) // states are small and many
	switch {
	case o.list:
		for _, w := range worlds {
			w.describe(stdout)
		}
		return 0
	case o.path != "":
		return tellPath(worlds[0], o.path, stdout, stderr)
	case o.walks > 0:
		return walkAll(worlds, o, stdout)
	}
	return exploreAll(worlds, o, stdout)
}

// exploreAll explores the worlds one after the other; what one leaves of its share is for those that follow.
func exploreAll(worlds []*world, o options, out io.Writer) int {
	left := o.states
	if o.big {
		left = bigStates
	}
	total, failed := 0, 0
	fmt.Fprintf(out, "%-24s %10s %11s %6s  %s\n", "world", "states", "steps", "depth", "result")
	for i, w := range worlds {
		share := left / (len(worlds) - i)
		if o.big {
			share = left
		}
		r := explore(w, max(share, 1), o.cores)
		total += r.states
		left -= r.states
		fmt.Fprintf(out, "%-24s %10d %11d %6d  %s\n", w.name, r.states, r.steps, r.depth, r.word())
		if r.wrong != "" {
			failed++
			w.report(out, r)
			if o.first {
				break
			}
		}
	}
	verdict := "ok"
	if failed > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(out, "explored %d states in %d worlds: %s\n", total, len(worlds), verdict)
	if failed > 0 {
		return 1
	}
	return 0
}

func (r *result) word() string {
	switch {
	case r.wrong != "":
		return "FAILED: " + string(r.wrong)
	case r.complete:
		return "complete"
	}
	return "cut"
}

// report tells the story of a violation and how to see it again.
func (w *world) report(out io.Writer, r result) {
	w.describe(out)
	w.tellAll(out, r.path, r.wrong)
	fmt.Fprintf(out, "  again: go run ./internal/explore -world %s -path %s\n", w.name, w.numbers(r.path))
}

// numbers writes a path as the number of each step among those that were possible.
func (w *world) numbers(path []action) string {
	var out []string
	s := w.initial()
	for _, a := range path {
		list, _ := s.actions(nil)
		out = append(out, strconv.Itoa(slices.Index(list, a)))
		if s, _ = s.step(a); s == nil {
			break
		}
	}
	return strings.Join(out, ",")
}

func tellPath(w *world, numbers string, stdout, stderr io.Writer) int {
	w.describe(stdout)
	s := w.initial()
	var path []action
	for n := range strings.SplitSeq(numbers, ",") {
		list, _ := s.actions(nil)
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 || i >= len(list) {
			fmt.Fprintf(stderr, "step %q is none of the %d that are possible\n", n, len(list))
			return 2
		}
		path = append(path, list[i])
		if s, _ = s.step(list[i]); s == nil {
			break
		}
	}
	var wrong violation
	if s != nil {
		if _, progress := s.actions(nil); progress == 0 {
			wrong = s.checkEnd()
		}
	}
	w.tellAll(stdout, path, wrong)
	return 0
}
