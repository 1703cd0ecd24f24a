package main

import (
	"sync"
)

// result is what became of the exploration of a world.
type result struct {
	states, steps int
	depth         int
	complete      bool
	wrong         violation
	path          []action
}

// node is a state that was seen: how it was reached.
type node struct {
	parent int32
	by     action
}

// frontier is a state whose steps were not taken yet.
type frontier struct {
	s  *state
	at int32 // its node
}

// found is a step of the search.
type found struct {
	s      *state
	print  uint64
	parent int32
	by     action
	wrong  violation
}

// batch is how many states are expanded between two merges.
const batch = 1024

// search visits a world breadth first, with a number of goroutines, and stops at a violation or when it has seen so many states.
// It is deterministic: the goroutines only read what was seen; what they found is merged in order.
type search struct {
	w       *world
	nodes   []node
	seen    hashes
	workers []*worker
	res     result
}

type worker struct {
	f     printer
	list  []action
	out   []found
	steps int
}

func explore(w *world, limit, goroutines int) result {
	c := &search{w: w}
	for range goroutines {
		c.workers = append(c.workers, &worker{})
	}
	s := w.initial()
	var f printer
	c.seen.add(f.of(s))
	c.nodes = append(c.nodes, node{parent: -1})
	level := []frontier{{s, 0}}
	for len(level) > 0 {
		var next []frontier
		for len(level) > 0 {
			n := min(batch, len(level))
			next = c.expand(level[:n], next)
			clear(level[:n])
			level = level[n:]
			if c.res.wrong != "" || len(c.nodes) >= limit {
				c.res.states = len(c.nodes)
				return c.res
			}
		}
		level = next
		if len(level) > 0 {
			c.res.depth++
		}
	}
	c.res.states, c.res.complete = len(c.nodes), true
	return c.res
}

// expand takes all steps from the states of a batch.
func (c *search) expand(states, next []frontier) []frontier {
	var wg sync.WaitGroup
	for n, k := range c.workers {
		share := states[n*len(states)/len(c.workers) : (n+1)*len(states)/len(c.workers)]
		wg.Go(func() { k.expand(share, &c.seen) })
	}
	wg.Wait()
	for _, k := range c.workers {
		c.res.steps += k.steps
		for i := range k.out {
			f := &k.out[i]
			if c.res.wrong != "" {
				break
			}
			if f.wrong != "" {
				c.res.wrong, c.res.path = f.wrong, c.pathTo(f.parent)
				if f.s == nil {
					c.res.path = append(c.res.path, f.by)
				}
				break
			}
			if c.seen.add(f.print) {
				c.nodes = append(c.nodes, node{f.parent, f.by})
				next = append(next, frontier{f.s, int32(len(c.nodes) - 1)})
			}
		}
		clear(k.out)
	}
	return next
}

func (k *worker) expand(states []frontier, seen *hashes) {
	k.out, k.steps = k.out[:0], 0
	for _, f := range states {
		var progress int
		k.list, progress = f.s.actions(k.list[:0])
		if progress == 0 {
			if wrong := f.s.checkEnd(); wrong != "" {
				k.out = append(k.out, found{s: f.s, parent: f.at, wrong: wrong})
				return
			}
		}
		for _, a := range k.list {
			k.steps++
			n, wrong := f.s.step(a)
			if wrong != "" {
				k.out = append(k.out, found{parent: f.at, by: a, wrong: wrong})
				return
			}
			if print := k.f.of(n); !seen.has(print) {
				k.out = append(k.out, found{s: n, print: print, parent: f.at, by: a})
			}
		}
	}
}

// pathTo returns the steps that lead to a node.
func (c *search) pathTo(n int32) (path []action) {
	for ; c.nodes[n].parent >= 0; n = c.nodes[n].parent {
		path = append([]action{c.nodes[n].by}, path...)
	}
	return path
}

// hashes is a set of 64-bit hashes with open addressing.
type hashes struct {
	slots []uint64
	n     int
}

func (h *hashes) slot(v uint64) int {
	mask := uint64(len(h.slots) - 1)
	i := v & mask
	for h.slots[i] != 0 && h.slots[i] != v {
		i = (i + 1) & mask
	}
	return int(i)
}

func (h *hashes) has(v uint64) bool { return h.n > 0 && h.slots[h.slot(max(v, 1))] != 0 }

// add says whether v is new.
func (h *hashes) add(v uint64) bool {
	v = max(v, 1)
	if 2*(h.n+1) > len(h.slots) {
		old := h.slots
		h.slots = make([]uint64, max(1024, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				h.slots[h.slot(o)] = o
			}
		}
	}
	i := h.slot(v)
	if h.slots[i] != 0 {
		return false
	}
	h.slots[i] = v
	h.n++
	return true
}
