package dedupe_test

import (
	"encoding/binary"
	"maps"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/dedupe"
)

// hasher is the same in every run of the tests.
func hasher() dedupe.Hasher { return dedupe.NewHasher(dedupe.Seed{1, 2, 3}) }

func number(b []byte, n int) []byte { return binary.BigEndian.AppendUint64(b[:0], uint64(n)) }

func contents(table *dedupe.Table) map[dedupe.Hash]int64 {
	return maps.Collect(table.Each)
}

func roundUp(at int64) int64 { return max(1000, (at+999)/1000*1000) }

// crowded draws hashes that fall into few segments and few slots, so that runs, wraps and splits that divide nothing
// are common; a good hash would hide them.
func crowded() *rapid.Generator[dedupe.Hash] {
	return rapid.Custom(func(t *rapid.T) dedupe.Hash {
		return dedupe.Hash{
			rapid.Uint64Range(0, 3).Draw(t, "segment"),
			rapid.SampledFrom([]uint64{0, 1, 2, 1 << 61, 1 << 62, 1<<64 - 1, 1<<64 - 2, 1<<64 - 3}).Draw(t, "slot"),
		}
	})
}

func TestTableDoesWhatAMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := new(dedupe.Table), map[dedupe.Hash]int64{}
		at := rapid.Int64Range(-5, 20_000)
		expire := func(before int64) int {
			n := len(model)
			maps.DeleteFunc(model, func(_ dedupe.Hash, at int64) bool { return at < before })
			return n - len(model)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				h, at := crowded().Draw(t, "h"), at.Draw(t, "at")
				table.Put(h, at)
				model[h] = max(model[h], roundUp(at))
			},
			"remove": func(t *rapid.T) {
				h := crowded().Draw(t, "h")
				table.Remove(h)
				delete(model, h)
			},
			"expire": func(t *rapid.T) {
				before := at.Draw(t, "before")
				if got, want := table.Expire(before), expire(before); got != want {
					t.Fatalf("expired %d of %d", got, want)
				}
			},
			"expire some, a whole round": func(t *rapid.T) {
				before := at.Draw(t, "before")
				got := 0
				for range 200 {
					got += table.ExpireSome(before, 3)
				}
				if want := expire(before); got != want {
					t.Fatalf("expired %d of %d", got, want)
				}
			},
			"clone": func(*rapid.T) {
				old := table
				table = table.Clone()
				old.Put(dedupe.Hash{9, 9}, 1)
				old.Expire(1 << 50)
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(model, contents(table)); diff != "" || table.Len() != len(model) {
					t.Fatalf("%d of %d: %s", table.Len(), len(model), diff)
				}
				h := crowded().Draw(t, "looked up")
				got, ok := table.Seen(h)
				if want, wantOK := model[h]; got != want || ok != wantOK || table.Has(h) != wantOK {
					t.Fatalf("seen: %d, %t; want %d, %t", got, ok, want, wantOK)
				}
			},
		})
	})
}

func TestTableGrowsAndShrinksWithoutForgetting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table dedupe.Table
		model := map[dedupe.Hash]int64{}
		hash := hasher()
		next := 0
		for range rapid.IntRange(1, 8).Draw(t, "phases") {
			for range rapid.IntRange(0, 9000).Draw(t, "puts") {
				h, at := hash.Sum(number(nil, next)), int64(next%100)*1000
				next++
				table.Put(h, at)
				model[h] = max(1000, at)
			}
			before := rapid.Int64Range(0, 110).Draw(t, "before") * 1000
			for limit := 4 * (len(model) + 10_000); limit > 0; limit -= 500 {
				table.ExpireSome(before, 500)
			}
			maps.DeleteFunc(model, func(_ dedupe.Hash, at int64) bool { return at < before })
			if !maps.Equal(model, contents(&table)) || table.Len() != len(model) {
				t.Fatalf("%d hashes, want %d", table.Len(), len(model))
			}
			for h, at := range model {
				if got, ok := table.Seen(h); !ok || got != at {
					t.Fatalf("seen %v: %d, %t; want %d", h, got, ok, at)
				}
			}
		}
	})
}

func TestTableNeverForgetsEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table dedupe.Table
		at := rapid.Int64Range(-1<<40, 1<<41).Draw(t, "at") // to the year 2039
		before := at + rapid.Int64Range(-2000, 3000).Draw(t, "age")
		table.Put(dedupe.Hash{1}, at)
		table.Expire(before)
		if before <= at && !table.Has(dedupe.Hash{1}) {
			t.Fatal("forgotten early")
		}
		if at > 0 && before >= at+1000 && table.Has(dedupe.Hash{1}) {
			t.Fatal("kept for more than a second too long")
		}
	})
}

func TestTableTakesTimesOutOfItsReach(t *testing.T) {
	var table dedupe.Table
	for _, at := range []int64{-1 << 63, -1, 0, 1<<63 - 1} {
		table.Put(dedupe.Hash{uint64(at)}, at)
		if !table.Has(dedupe.Hash{uint64(at)}) {
			t.Errorf("a mark of the time %d is not there", at)
		}
	}
}

func TestExpireSomeIsBounded(t *testing.T) {
	var table dedupe.Table
	hash := hasher()
	for i := range 20_000 {
		table.Put(hash.Sum(number(nil, i)), 1000)
	}
	for table.Len() > 0 {
		if n := table.ExpireSome(1<<40, 100); n > 100 {
			t.Fatalf("removed %d with a limit of 100", n)
		}
	}
	if n := table.Bytes(); n > 4096 {
		t.Errorf("an empty table holds %d bytes", n)
	}
	if n := new(dedupe.Table).ExpireSome(1<<40, 100); n != 0 {
		t.Errorf("removed %d from nothing", n)
	}
}

func TestTableGivesMemoryBack(t *testing.T) {
	var table dedupe.Table
	hash := hasher()
	for i := range 100_000 {
		table.Put(hash.Sum(number(nil, i)), int64(i)*1000)
	}
	full := table.Bytes()
	for i := range 50_000 {
		table.Remove(hash.Sum(number(nil, i)))
	}
	table.Expire(90_000 * 1000)
	if n := table.Bytes(); table.Len() != 10_000 || n > full/4 {
		t.Errorf("%d keys hold %d bytes; ten times as many held %d", table.Len(), n, full)
	}
}

func TestEachStopsWhenTold(t *testing.T) {
	var table dedupe.Table
	for i := range 10 {
		table.Put(dedupe.Hash{uint64(i)}, 1)
	}
	n := 0
	for range table.Each {
		n++
		if n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("saw %d", n)
	}
}

// The order of a table is a function of the hashes and of what was done: a simulation can be run again.
func TestEachIsReproducible(t *testing.T) {
	build := func() (order []dedupe.Hash) {
		var table dedupe.Table
		hash := hasher()
		for i := range 5000 {
			table.Put(hash.Sum(number(nil, i)), int64(i)*1000)
			table.ExpireSome(int64(i-1000)*1000, 10)
		}
		for h := range table.Each {
			order = append(order, h)
		}
		return order
	}
	if diff := cmp.Diff(build(), build()); diff != "" {
		t.Error(diff)
	}
}

func TestTableTakesAtMost32BytesAKey(t *testing.T) {
	const keys = 1_000_000
	hash := hasher()
	var table dedupe.Table
	b := make([]byte, 8)
	before := heap()
	for i := 1; i <= keys; i++ {
		table.Put(hash.Sum(number(b, i)), 1_700_000_000_000)
		if perKey := float64(table.Bytes()) / float64(i); i >= 1000 && i%5000 == 0 && perKey > 32 {
			t.Fatalf("%.1f bytes a key at %d keys", perKey, i)
		}
	}
	held := heap() - before
	t.Logf("%.1f bytes a key by Bytes, %.1f in the heap", float64(table.Bytes())/keys, float64(held)/keys)
	if table.Len() != keys {
		t.Fatalf("%d keys", table.Len())
	}
	if perKey := float64(held) / keys; perKey > 32 {
		t.Errorf("%.1f bytes a key in the heap", perKey)
	}
	runtime.KeepAlive(&table)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTableAllocatesOnlyToGrow(t *testing.T) {
	hash := hasher()
	var table dedupe.Table
	for i := range 10_000 {
		table.Put(hash.Sum(number(nil, i)), 5000)
	}
	b := make([]byte, 8)
	x := make([]byte, 300)
	i := 0
	if n := testing.AllocsPerRun(2000, func() {
		h := hash.Sum(number(b, i))
		i++
		if !table.Has(h) || table.Has(hash.Sum(x)) || table.Has(hash.SumOrigin(dedupe.Origin{Offset: int64(i)})) {
			t.Error("a hash is missing, or there is one too many")
		}
		table.Put(h, int64(i)*1000)
		table.ExpireSome(0, 100)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
