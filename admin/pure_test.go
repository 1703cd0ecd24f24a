package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

func TestNormalizeMasksWhatDiffersFromRecordToRecord(t *testing.T) {
	for message, want := range map[string]string{
		"":                        "",
		"connection refused":      "connection refused",
		"order 17 not found":      "order N not found",
		"dial tcp 10.0.0.7:5432:": "dial tcp N.N.N.N:N:",
		`user "anna b." unknown`:  `user "…" unknown`,
		"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8 is bad": "id ID is bad",
		"hash deadbeef00 differs":                        "hash ID differs",
		"facade deadbeef":                                "facade deadbeef",
		"HTTP 503:\n  try   later":                       "HTTP N: try later",
		"order-17: took 3s":                              "order-N: took Ns",
		"it's broken 5":                                  "it's broken N",
		"größe 3 \xff":                                   "größe N \xff",
	} {
		if got := Normalize(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("order 17 of \"x\" `y` 'z")
	f.Fuzz(func(t *testing.T, s string) {
		got := Normalize(s)
		if len(got) > maxCause || strings.ContainsAny(got, "0123456789\n") && !strings.Contains(got, "…") {
			t.Errorf("%q: %q", s, got)
		}
	})
}

func TestRangesAreReadAsRpkWritesThem(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	at := func(d time.Duration) Position { return AtTime(now.Add(d)) }
	for text, want := range map[string]Range{
		"":                      {},
		"start":                 {},
		"start:end":             {},
		"10":                    {From: AtOffset(10)},
		"10:20":                 {From: AtOffset(10), To: AtOffset(20)},
		":20":                   {To: AtOffset(20)},
		"@-1h":                  {From: at(-time.Hour)},
		"@-2d":                  {From: at(-48 * time.Hour)},
		"@-1d2h":                {From: at(-26 * time.Hour)},
		"@-2h:-1h":              {From: at(-2 * time.Hour), To: at(-time.Hour)},
		"@-2h:@-1h":             {From: at(-2 * time.Hour), To: at(-time.Hour)},
		"@2026-01-02T15:04:05Z": {From: at(0)},
		"@2026-01-02T14:04:05Z:@2026-01-02T15:04:05Z": {From: at(-time.Hour), To: at(0)},
		"@2026-01-02:end": {From: AtTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))},
		"@1767366245":     {From: at(0)},
		"@1767366245000":  {From: at(0)},
	} {
		got, err := ParseRange(text, now)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"x", "-5", "20:10", "@-1h:-2h", "@-x", "@", "1:2:3", "@-3", "@99d", "10-20"} {
		if got, err := ParseRange(text, now); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"10:20", "@-1h", "@2026-01-02T14:04:05Z:@-1d", "::", "@:@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRange(s, time.Unix(1_700_000_000, 0))
		if err == nil && r.check() != nil {
			t.Errorf("%q: %+v is backwards", s, r)
		}
	})
}

func TestIdentitiesTellEveryLifeApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set identities
		seen := map[Identity]bool{}
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			i := Identity{Origin: Origin{
				Topic: "orders", LeaderEpoch: rapid.Int32Range(0, 2).Draw(t, "epoch"), Offset: rapid.Int64Range(0, 130).Draw(t, "offset"),
			}, Run: rapid.Uint32Range(0, 2).Draw(t, "run")}
			if fresh := set.add(i); fresh == seen[i] {
				t.Fatalf("%v: fresh %v", i, fresh)
			}
			seen[i] = true
		}
	})
}

func FuzzControl(f *testing.F) {
	f.Add([]byte("task/x"), []byte(`{"v":1,"spec":{"kind":"redrive"}}`), []byte("state/1/1"), []byte(`{"v":1,"epoch":1}`))
	f.Add([]byte("task/x"), []byte(`{"v":1}`), []byte("claim/1/2/h"), []byte(`{"v":1}`))
	f.Add([]byte("resolved/1/a/2/3"), []byte(`{"v":1,"bits":"AgEB"}`), []byte("cancel/1"), []byte(`{"v":2}`))
	f.Fuzz(func(_ *testing.T, k1, v1, k2, v2 []byte) {
		s := newControlState()
		s.apply(&kgo.Record{Key: k1, Value: v1})
		s.apply(&kgo.Record{Key: k2, Value: v2, Offset: 1})
		for _, number := range s.order {
			s.tasks[number].task(time.Unix(0, 0))
		}
	})
}

func TestOfTheClaimsOfOneEpochTheFirstCounts(t *testing.T) {
	s := newControlState()
	at := int64(40)
	put := func(value any, key ...any) {
		r, err := controlRecord(value, key...)
		if err != nil {
			t.Fatal(err)
		}
		r.Offset = at
		at++
		s.apply(r)
	}
	put(creation{V: 1, Spec: Spec{Kind: KindRedrive}}, keyTask, "nonce")
	put(claim{V: 1}, keyClaim, 41, 1, "a")
	put(claim{V: 1}, keyClaim, 41, 1, "b")
	put(state{V: 1, Epoch: 1, Next: map[int32]int64{0: 7}}, keyState, 41, 1)
	put(claim{V: 1}, keyClaim, 41, 2, "b")
	put(claim{V: 1}, keyClaim, 41, 2, "a")
	put(state{V: 1, Epoch: 2, Next: map[int32]int64{0: 9}}, keyState, 41, 2)
	put(state{V: 1, Epoch: 1, Next: map[int32]int64{0: 8}}, keyState, 41, 1) // of one that is thought dead
	put(state{V: 9}, keyState, 41, 3)
	r := s.tasks[41]
	if r.holder != "b" || r.epoch != 2 || r.state.Next[0] != 9 || s.damaged != 1 {
		t.Errorf("%+v, %+v, damaged %d", r, r.state, s.damaged)
	}
}

func TestThePaceIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pace{rate: rapid.Float64Range(0.5, 5000).Draw(t, "rate")}
		begin := time.Unix(1_700_000_000, 0)
		now, total := begin, 0
		for range rapid.IntRange(1, 50).Draw(t, "batches") {
			if left := p.left(now); left > 0 {
				now = now.Add(left)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "late")) * time.Millisecond)
			n := rapid.IntRange(1, p.batch()).Draw(t, "n")
			p.sent(n, now)
			total += n
			if most := now.Sub(begin).Seconds()*p.rate + float64(p.batch()) + 1e-3; float64(total) > most {
				t.Fatalf("%d sent after %s at %f a second", total, now.Sub(begin), p.rate)
			}
		}
	})
}
