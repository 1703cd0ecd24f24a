package dispatch

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestRingIsASliceThatGrowsAtBothEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var r ring[int]
		var model []int
		next := 0
		rt.Repeat(map[string]func(*rapid.T){
			"push back": func(rt *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(rt, "n") {
					next++
					r.pushBack(next)
					model = append(model, next)
				}
			},
			"push front": func(*rapid.T) {
				next++
				r.pushFront(next)
				model = slices.Insert(model, 0, next)
			},
			"pop": func(rt *rapid.T) {
				if len(model) == 0 {
					rt.Skip()
				}
				if got := r.popFront(); got != model[0] {
					rt.Fatalf("popped %d, want %d", got, model[0])
				}
				model = model[1:]
			},
			"take": func(rt *rapid.T) {
				dst := make([]int, rapid.IntRange(0, 30).Draw(rt, "room"))
				n := r.take(dst)
				if want := min(len(dst), len(model)); n != want {
					rt.Fatalf("took %d, want %d", n, want)
				}
				if diff := cmp.Diff(model[:n], dst[:n], cmpopts.EquateEmpty()); diff != "" {
					rt.Fatal(diff)
				}
				model = model[n:]
			},
			"": func(rt *rapid.T) {
				if r.len() != len(model) {
					rt.Fatalf("length %d, want %d", r.len(), len(model))
				}
				for i, want := range model {
					if got := *r.at(i); got != want {
						rt.Fatalf("at %d is %d, want %d", i, got, want)
					}
				}
			},
		})
	})
}

func TestRingLetsGoOfWhatItHeld(t *testing.T) {
	var r ring[*int]
	for range roomy + 1 {
		r.pushBack(new(int))
	}
	r.take(make([]*int, roomy))
	for i := range r.buf {
		if held := r.buf[i] != nil; held != (i == r.head) {
			t.Fatalf("slot %d of a ring with one element: held %v", i, held)
		}
	}
	r.popFront()
	if r.buf != nil {
		t.Error("a large ring that ran empty keeps its memory")
	}
}

func TestChunkHoldsFiftyMicrosecondsOfWork(t *testing.T) {
	for _, tc := range []struct {
		mean time.Duration
		want int
	}{
		{0, maxChunk},
		{100 * time.Nanosecond, maxChunk},
		{time.Microsecond, 50},
		{10 * time.Microsecond, 5},
		{25 * time.Microsecond, 2},
		{26 * time.Microsecond, 1},
		{time.Hour, 1},
	} {
		var p pace
		if got := p.chunk(); got != 1 {
			t.Errorf("nothing known: chunk of %d", got)
		}
		p.observe(10, 10*tc.mean)
		if got := p.chunk(); got != tc.want {
			t.Errorf("calls of %v: chunk of %d, want %d", tc.mean, got, tc.want)
		}
	}
}

func TestPaceLearnsSlownessAtOnceAndSpeedSlowly(t *testing.T) {
	var p pace
	for range 10 {
		p.observe(100, 10*time.Microsecond)
	}
	p.observe(1, 5*time.Millisecond)
	if p.chunk() != 1 {
		t.Errorf("after one slow call: chunk of %d", p.chunk())
	}
	p.observe(0, time.Hour) // an empty chunk teaches nothing
	chunks := 0
	for ; p.chunk() < maxChunk; chunks++ {
		p.observe(p.chunk(), time.Duration(p.chunk())*100*time.Nanosecond)
	}
	if chunks < 20 || chunks > 500 {
		t.Errorf("large chunks again after %d fast ones", chunks)
	}
}

func TestProgressKeepsItsPartsApart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		end := rapid.IntRange(1, maxChunk).Draw(rt, "end")
		started := rapid.IntRange(1, end).Draw(rt, "started")
		g := chunk(end)
		if g.flushed() != 0 || g.started() != 0 || g.end() != end || g.calling() || g.abandoned() {
			rt.Fatalf("new chunk: %b", g)
		}
		g += progress(started) * startedOne
		for _, same := range []progress{g.cut(), g.flush(), g.settled(), g | abandonedBit} {
			if same.started() != started {
				rt.Fatalf("another call: %b and %b", same, g)
			}
		}
		if c := g.cut().flush(); c.end() != started || c.flushed() != started-1 || !c.calling() {
			rt.Fatalf("broken up: %b", c)
		}
		if s := g.settled(); s.flushed() != end || s.end() != end {
			rt.Fatalf("settled: %b", s)
		}
		if a := g | abandonedBit; !a.abandoned() || a.end() != end || a.flushed() != 0 {
			rt.Fatalf("abandoned: %b", a)
		}
	})
}

// Whatever pools do: no more permits are out than there are, and if one is free and pools wait, then one of them that may
// take it was told so and has not been served since.
func TestPermitsNeverStrandAPool(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 3).Draw(rt, "limit")
		l := NewGate(limit)
		pools := []*Pool{{}, {}, {}, {}}
		held := map[*Pool]int{}
		told := map[*Pool]bool{}
		pool := rapid.SampledFrom(pools)
		tell := func(p *Pool) {
			if p != nil {
				told[p] = true
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": func(rt *rapid.T) {
				p := pool.Draw(rt, "pool")
				if l.permits.acquire(p) {
					held[p]++
					delete(told, p)
				}
			},
			"release": func(rt *rapid.T) {
				p := pool.Draw(rt, "pool")
				if held[p] == 0 {
					rt.Skip()
				}
				held[p]--
				tell(l.permits.release())
			},
			"leave": func(rt *rapid.T) {
				p := pool.Draw(rt, "pool")
				delete(told, p)
				tell(l.permits.leave(p))
			},
			"": func(rt *rapid.T) {
				out := 0
				for _, n := range held {
					out += n
				}
				if out+l.permits.free != limit {
					rt.Fatalf("%d out, %d free, of %d", out, l.permits.free, limit)
				}
				may := l.permits.waiting[:min(l.permits.free, len(l.permits.waiting))]
				for _, p := range may {
					if !told[p] {
						rt.Fatal("a pool may take a permit and does not know it")
					}
				}
			},
		})
	})
}

func TestStackOfFindsOneGoroutine(t *testing.T) {
	all := []byte("goroutine 1 [running]:\nmain.a()\n\ngoroutine 12 [select]:\nmain.b()\n\ngoroutine 2 [select]:\nmain.c()\n")
	if got := string(stackOf(all, 2)); got != "goroutine 2 [select]:\nmain.c()\n" {
		t.Errorf("got %q", got)
	}
	if got := stackOf(all, 3); got != nil {
		t.Errorf("got %q of a goroutine that is not there", got)
	}
	if id := goroutineID(); stackOf(dump(), id) == nil {
		t.Errorf("own goroutine %d is not in the dump", id)
	}
}

func TestNamesOfStates(t *testing.T) {
	for _, tc := range []struct {
		got  interface{ String() string }
		want string
	}{
		{Done, "done"},
		{Panicked, "panicked"},
		{TimedOut, "timed_out"},
		{Stuck, "stuck"},
		{Canceled, "canceled"},
		{Unstarted, "unstarted"},
		{Kind(99), "unknown"},
		{Abandon, "abandon"},
		{Crash, "crash"},
		{StuckPolicy(9), "unknown"},
		{drained, "drained"},
		{closed, "closed"},
		{ticking, "ticking"},
	} {
		if got := tc.got.String(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
