package dedupe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
)

func BenchmarkHasherSum(b *testing.B) {
	for _, n := range []int{8, 20, 36, 200} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			x, hash := make([]byte, n), hasher()
			for b.Loop() {
				hash.Sum(x)
			}
		})
	}
}

func BenchmarkTablePutGrowing(b *testing.B) {
	var table dedupe.Table
	hash, x := hasher(), make([]byte, 8)
	i := 0
	for b.Loop() {
		table.Put(hash.Sum(number(x, i)), 1_700_000_000_000)
		i++
	}
	b.ReportMetric(float64(table.Bytes())/float64(table.Len()), "B/key")
}

func BenchmarkTableHas(b *testing.B) {
	const keys = 1_000_000
	var table dedupe.Table
	hash, x := hasher(), make([]byte, 8)
	for i := range keys {
		table.Put(hash.Sum(number(x, i)), 1_700_000_000_000)
	}
	for name, first := range map[string]int{"absent": keys, "present": 0} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				table.Has(hash.Sum(number(x, first+i%keys)))
				i++
			}
		})
	}
}

// One operation adds a key, and takes an old one out: a table in its usual state.
func BenchmarkTableSteady(b *testing.B) {
	const keys = 1_000_000
	var table dedupe.Table
	hash, x := hasher(), make([]byte, 8)
	i := 0
	step := func() {
		table.Put(hash.Sum(number(x, i)), int64(i)*10)
		table.ExpireSome(int64(i-keys)*10, 2)
		i++
	}
	for i < 2*keys {
		step()
	}
	for b.Loop() {
		step()
	}
}

func BenchmarkKeyFromJSON(b *testing.B) {
	key, err := dedupe.FromJSON("order.id")
	if err != nil {
		b.Fatal(err)
	}
	for _, pad := range []int{100, 1000, 10_000} {
		value := `{"lines":["` + strings.Repeat("x", pad/2) + `",` + strings.Repeat("[1,2],", pad/12) + `0],"order":{"id":"A-17"}}`
		r := &kgo.Record{Value: []byte(value)}
		b.Run(fmt.Sprintf("bytes=%d", len(value)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				if _, ok, err := key.Of(r); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkMarkDecode(b *testing.B) {
	for i, m := range goldenMarks() {
		b.Run(fmt.Sprintf("%d-%s", i, m.Kind), func(b *testing.B) {
			key, value := m.AppendKey(nil), m.AppendValue(nil)
			for b.Loop() {
				if err := m.Decode(key, value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBitsAppend(b *testing.B) {
	var bits dedupe.Bits
	for i := range 700 {
		bits.Set(i)
	}
	dst := make([]byte, 0, 200)
	for b.Loop() {
		dst = bits.Append(dst[:0])
	}
}
