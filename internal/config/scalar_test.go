package config

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsNeedAUnit(t *testing.T) {
	tests := map[string]string{
		"15s": "15s", "1h30m": "1h30m", "60m": "1h", "7d": "7d", "1d12h": "36h", "0s": "0s", "0d": "0s", "1.5s": "1.5s", "24h": "1d",
		"15": "", "": "", "s": "", "1w": "", "1d-1h": "", "70000d": "", "1d9000000h": "", "d": "", "inf": "", "1 s": "",
	}
	for in, want := range tests {
		var d Duration
		err := d.UnmarshalText([]byte(in))
		if (err != nil) != (want == "") || err == nil && d.String() != want {
			t.Errorf("%q: %v, %v; want %q", in, d, err, want)
		}
	}
}

func TestTextFormsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(50000*day)).Draw(t, "duration"))
		if d%3 == 0 {
			d -= d % Duration(time.Second)
		}
		var backD Duration
		if err := backD.UnmarshalText([]byte(d.String())); err != nil || backD != d {
			t.Errorf("%s is read as %s, %v", d, backD, err)
		}
		b := Bytes(rapid.Int64Range(0, 1<<50).Draw(t, "bytes"))
		var backB Bytes
		if err := backB.UnmarshalText([]byte(b.String())); err != nil || backB != b {
			t.Errorf("%s is read as %s, %v", b, backB, err)
		}
		keys := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "path")
		path := ""
		for _, k := range keys {
			path = join(path, k)
		}
		if back, err := splitPath(path); err != nil || !slices.Equal(back, keys) {
			t.Errorf("path %s is read as %q, %v; want %q", path, back, err, keys)
		}
	})
}
