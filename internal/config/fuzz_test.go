package config

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzLoad(f *testing.F) {
	f.Add(smallest, "LANEWAY_GROUP=x", "group=y")
	f.Add(full, "A=b", "topics.orders.retry.tiers=[1s, {a: b}]")
	f.Add("a: &a [*a]\n<<: *a\n? [x]: y\n", "LANEWAY_BROKERS=[", "a.\"b.c\".d={")
	if data, err := os.ReadFile("testdata/broken.yaml"); err == nil {
		f.Add(string(data), "LEVEL=x", "sasl=x")
	}
	f.Fuzz(func(t *testing.T, file, variable, override string) {
		c, err := Load(Source{Name: "f", Data: []byte(file), Environ: []string{variable}, Overrides: []string{override}, ReadFile: noFiles})
		_ = c.Warnings()
		if err != nil {
			if all, ok := errors.AsType[*Error](err); !ok || len(all.Problems) == 0 {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		first, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(Source{Name: "f", Data: first, ReadFile: noFiles})
		if err != nil {
			t.Fatalf("printed file has problems:\n%v\n%s", err, first)
		}
		second, err := again.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Fatalf("printed, loaded, printed:\n%s", cmp.Diff(string(first), string(second)))
		}
	})
}
