//go:build synctests

package sim_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

var oneSeed = flag.Uint64("sim.seed", 0, "run this world of the simulation only")

// defaultSeeds is how many worlds a plain test run has time for.
const defaultSeeds = 60

func seeds(t *testing.T) (first, n uint64) {
	t.Helper()
	if s := os.Getenv("LANEWAY_SIM_SEED"); s != "" && *oneSeed == 0 {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("LANEWAY_SIM_SEED: %v", err)
		}
		return seed, 1
	}
	if *oneSeed != 0 {
		return *oneSeed, 1
	}
	n = defaultSeeds
	if s := os.Getenv("LANEWAY_SIM_SEEDS"); s != "" {
		count, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("LANEWAY_SIM_SEEDS: %v", err)
		}
		n = count
	}
	return 1, n
}

// TestSimulation runs worlds by seed. See the package's documentation for how to run one, or many.
func TestSimulation(t *testing.T) {
	first, n := seeds(t)
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // worlds are small and many
	var mu sync.Mutex
	var total stats
	next := first
	t.Run("worlds", func(t *testing.T) {
		for shard := range 2 {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for {
					mu.Lock()
					seed := next
					next++
					mu.Unlock()
					if seed >= first+n {
						return
					}
					s := runSeed(t, seed)
					mu.Lock()
					total.add(s)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d worlds: %d records, %d calls (%d retries), %d effects, %d repeats, %d duplicates, %d dlt copies", n, total.records,
		total.calls, total.retries, total.effects, total.repeats, total.duplicates, total.dead)
	t.Logf("%d faults: %d crashes, %d isolations, %d kicks, %d deploys, %d joins, %d moves, %d refused writes, %d refused commits, "+
		"%d lost answers, %d late answers, %d slow requests; %d tenures after the first", total.faults, total.kills, total.isolations,
		total.kicks, total.deploys, total.joins, total.moves, total.produceFaults, total.commitFaults, total.lost, total.late,
		total.slow, total.rebalances)
}

// runSeed runs one world. Its problems are reported outside of its bubble: a failure inside would end the whole test.
func runSeed(t *testing.T, seed uint64) (s stats) {
	t.Helper()
	var problems []string
	var title string
	synctest.Test(t, func(*testing.T) {
		w, faults, err := makeWorld(seed)
		if err != nil {
			problems = append(problems, err.Error())
			return
		}
		defer w.close()
		title = fmt.Sprintf("%s, %s, faults %v", w.cfg.topic.Idempotency.Mode, w.cfg.topic.Ordering, faults)
		problems = w.live3(faults)
		v := w.judge()
		problems = append(problems, v.found...)
		s = w.stats
		s.add(v.stats)
	})
	if len(problems) > 0 {
		t.Errorf("seed %d (%s); repeat with -run TestSimulation -sim.seed=%d", seed, title, seed)
	}
	for _, p := range problems {
		t.Errorf("  %s", p)
	}
	return s
}

// makeWorld draws a world and what goes wrong in it.
func makeWorld(seed uint64) (*world, []fault, error) {
	rng := rand.New(rand.NewPCG(seed, 7))
	cfg := setup{partitions: 4, brokers: 1 + rng.IntN(2), members: 3}
	cfg.topic = processor.Topic{
		Name: sourceTopic, Concurrency: 8, Timeout: callTimeout, Grace: callGrace,
		Ordering: []processor.Ordering{processor.OrderByKey, processor.OrderByKey, processor.OrderByKey, processor.OrderByPartition, processor.Unordered}[rng.IntN(5)],
		Retry:    retrytopics.Policy{Tiers: []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}, MaxAttempts: 4},
	}
	cfg.topic.Idempotency.Mode = []processor.Mode{processor.RecordAfter, processor.RecordAfter, processor.ClaimFirst, processor.DedupeOff}[rng.IntN(4)]
	if rng.IntN(3) == 0 && cfg.topic.Idempotency.Mode != processor.DedupeOff {
		cfg.topic.Idempotency.Key = userKey()
	}
	var faults []fault
	for range rng.IntN(5) {
		faults = append(faults, fault(rng.IntN(int(nFaults))))
	}
	for _, f := range faults {
		cfg.disturbed = cfg.disturbed || f.disturbs()
	}
	w, err := newWorld(seed, cfg)
	return w, faults, err
}

// live3 runs a world until everything in it has settled and all its members have ended.
func (w *world) live3(faults []fault) (problems []string) {
	w.draw(300)
	for range w.cfg.members {
		w.replace()
	}
	rng := rand.New(rand.NewPCG(w.seed, 3))
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; i < len(w.plan); {
			n := min(1+rng.IntN(30), len(w.plan)-i)
			if err := w.produce(context.Background(), w.plan[i:i+n]...); err != nil {
				panic(err)
			}
			i += n
			pause(time.Duration(rng.Int64N(int64(2*time.Second))), nil)
		}
	})
	w.hurt(faults, rand.New(rand.NewPCG(w.seed, 4)), 30*time.Second)
	busy.Wait()
	if w.anyLive() == nil {
		w.replace()
	}
	if err := w.rest(15 * time.Minute); err != nil {
		problems = append(problems, err.Error())
	}
	return append(problems, w.end()...)
}

// end stops all members in good order.
func (w *world) end() (problems []string) {
	for {
		m := w.anyLive()
		if m == nil {
			break
		}
		m.leave()
	}
	for _, m := range w.members {
		<-m.ended
		if m.err != nil && m.deadAt.IsZero() && !w.cfg.disturbed {
			problems = append(problems, fmt.Sprintf("%s ended with: %v", m.name, m.err))
		}
	}
	return problems
}
