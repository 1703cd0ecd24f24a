package assign

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func profiles() *rapid.Generator[Profile] {
	return rapid.Custom(func(t *rapid.T) Profile {
		return Profile{
			Weight:  rapid.IntRange(1, MaxWeight).Draw(t, "weight"),
			Version: rapid.String().Draw(t, "version"),
			Sources: rapid.SliceOf(rapid.String()).Draw(t, "sources"),
		}
	})
}

func TestProfileComesBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := profiles().Draw(t, "profile")
		got, err := ParseProfile(want.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		want.Sources = sortedSet(want.Sources)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestProfileBytesDoNotDependOnTheOrderOfSources(t *testing.T) {
	a := Profile{Weight: 1, Sources: []string{"b", "a", "b"}}.AppendTo(nil)
	b := Profile{Weight: 1, Sources: []string{"a", "b"}}.AppendTo(nil)
	if !bytes.Equal(a, b) {
		t.Fatalf("%x != %x", a, b)
	}
}

// The bytes are shared by releases that run side by side: they change with the version byte only, and by appending.
func TestProfileBytesStay(t *testing.T) {
	got := Profile{Weight: 3, Version: "1.2", Sources: []string{"orders", "eu"}}.AppendTo(nil)
	want := []byte("\x01\x03\x031.2\x02\x02eu\x06orders")
	if !bytes.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestProfileOfALaterVersionIsReadAsFarAsItIsKnown(t *testing.T) {
	want := Profile{Weight: 2, Version: "next", Sources: []string{"orders"}}
	later := append(want.AppendTo(nil), "a field of the future"...)
	later[0] = profileV1 + 1
	got, err := ParseProfile(later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestProfileThatIsDamagedIsRefused(t *testing.T) {
	whole := Profile{Weight: 2, Version: "v", Sources: []string{"orders"}}.AppendTo(nil)
	for n := range whole {
		if p, err := ParseProfile(whole[:n]); err == nil {
			t.Errorf("first %d bytes of %d are read as %+v", n, len(whole), p)
		}
	}
	for name, data := range map[string]string{
		"version 0":         "\x00\x01\x00\x00",
		"weight 0":          "\x01\x00\x00\x00",
		"weight 17":         "\x01\x11\x00\x00",
		"endless number":    "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"count beyond data": "\x01\x01\x00\xff\xff\xff\xff\x0f",
		"other text":        `{"weight":1}`,
	} {
		if p, err := ParseProfile([]byte(data)); err == nil {
			t.Errorf("%s: read as %+v", name, p)
		}
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add(Profile{Weight: 1, Version: "v1.0.0", Sources: []string{"orders", "payments"}}.AppendTo(nil))
	f.Add([]byte{profileV1})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProfile(data)
		if err != nil {
			return
		}
		if p.Weight < 1 || p.Weight > MaxWeight || len(p.Sources) > len(data) {
			t.Fatalf("accepted %+v", p)
		}
		again, err := ParseProfile(p.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		p.Sources = sortedSet(p.Sources)
		if diff := cmp.Diff(p, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
