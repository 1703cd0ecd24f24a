package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
)

// maxSteps bounds a walk. Every walk ends by itself; this is for a machine that goes round in circles.
const maxSteps = 3000

// walked is what became of walks.
type walked struct {
	walks, steps, ends int
	w                  *world
	wrong              violation
	path               []action
}

// walkAll takes random walks through the worlds, in turn, and checks every state on the way.
func walkAll(worlds []*world, o options, out io.Writer) int {
	results := make([]walked, o.cores)
	var wg sync.WaitGroup
	for n := range o.cores {
		wg.Go(func() { results[n] = walkShare(worlds, o, n) })
	}
	wg.Wait()
	var all walked
	for _, r := range results {
		all.walks += r.walks
		all.steps += r.steps
		all.ends += r.ends
		if r.wrong != "" {
			all.w, all.wrong, all.path = r.w, r.wrong, r.path
		}
	}
	if all.wrong != "" {
		all.w.report(out, result{wrong: all.wrong, path: all.path})
	}
	verdict := "ok"
	if all.wrong != "" {
		verdict = "FAILED"
	}
	fmt.Fprintf(out, "walked %d times, %d steps, %d of the walks to an end: %s\n", all.walks, all.steps, all.ends, verdict)
	if all.wrong != "" {
		return 1
	}
	return 0
}

func walkShare(worlds []*world, o options, n int) (r walked) {
	for i := n; i < o.walks && r.wrong == ""; i += o.cores {
		rnd := rand.New(rand.NewPCG(o.seed, uint64(i)))
		r.walk(worlds[i%len(worlds)], rnd)
	}
	return r
}

// walk takes one walk. How often the environment meddles is drawn for each.
func (r *walked) walk(w *world, rnd *rand.Rand) {
	r.walks++
	s := w.initial()
	meddle := 0.02 + 0.3*rnd.Float64()*rnd.Float64()
	var path, list []action
	for range maxSteps {
		var progress int
		list, progress = s.actions(list[:0])
		if progress == 0 {
			r.ends++
			if wrong := s.checkEnd(); wrong != "" {
				r.w, r.wrong, r.path = w, wrong, path
				return
			}
		}
		if len(list) == 0 {
			return
		}
		pick := list[:progress]
		if progress == 0 || progress < len(list) && rnd.Float64() < meddle {
			pick = list[progress:]
		}
		a := pick[rnd.IntN(len(pick))]
		path = append(path, a)
		r.steps++
		next, wrong := s.step(a)
		if wrong != "" {
			r.w, r.wrong, r.path = w, wrong, path
			return
		}
		s = next
	}
	r.w, r.wrong, r.path = w, "L7: the walk does not end", path
}
