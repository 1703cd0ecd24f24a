package retrytopics_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	rt "github.com/laneway-go/laneway/retrytopics"
)

func bytesOf(n int) []byte { return bytes.Repeat([]byte("x"), n) }

func TestFitGivesUpStackThenMessageThenValueThenTheRest(t *testing.T) {
	e := fullEnvelope()
	e.ValueOmitted = false
	e.ErrorStack, e.ErrorMessage = string(bytesOf(8000)), string(bytesOf(1000))
	rec := &kgo.Record{Topic: "t", Partition: 3, Key: bytesOf(100), Value: bytesOf(20_000), Headers: []kgo.RecordHeader{{Key: "u", Value: bytesOf(12_000)}}}
	type kept struct {
		Stack, Message, Value, User, Key, Stub bool
	}
	for _, tt := range []struct {
		name string
		max  int
		want kept
	}{
		{"all", 50_000, kept{Stack: true, Message: true, Value: true, User: true, Key: true}},
		{"no stack", 40_000, kept{Message: true, Value: true, User: true, Key: true}},
		{"no message", 33_400, kept{Value: true, User: true, Key: true}},
		{"stub with evidence", 32_000, kept{Stack: true, Message: true, User: true, Key: true, Stub: true}},
		{"stub without stack", 15_000, kept{Message: true, User: true, Key: true, Stub: true}},
		{"stub without evidence", 13_200, kept{User: true, Key: true, Stub: true}},
		{"stub without user headers", 12_000, kept{Stack: true, Message: true, Key: true, Stub: true}},
		{"least", 800, kept{Stub: true}},
		{"even less", 10, kept{Stub: true}},
	} {
		got := rt.Fit(rec, &e, tt.max)
		env, user, err := rt.ParseEnvelope(got.Headers)
		if err != nil || got.Topic != "t" || got.Partition != 3 || env.Origin != e.Origin {
			t.Errorf("%s: %+v, %v", tt.name, env.Origin, err)
		}
		is := kept{
			Stack: env.ErrorStack != "", Message: env.ErrorMessage != "", Value: got.Value != nil,
			User: len(user) > 0, Key: got.Key != nil, Stub: rt.IsStub(got.Headers),
		}
		if diff := cmp.Diff(tt.want, is); diff != "" {
			t.Errorf("%s: %d bytes of %d: %s", tt.name, rt.Size(got), tt.max, diff)
		}
	}
	if len(e.ErrorStack) != 8000 || e.ValueOmitted || len(rec.Value) != 20_000 || len(rec.Headers) != 1 {
		t.Error("the input was changed")
	}
}

func TestFitNeverChangesAKeyOrValueAndFitsOrIsAStub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEnvelope(t)
		e.ErrorStack = string(bytesOf(rapid.IntRange(0, 9000).Draw(t, "stack")))
		omitted := e.ValueOmitted
		optional := func(name string) []byte {
			return rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just([]byte{}), rapid.SliceOfN(rapid.Byte(), 0, 3000)).Draw(t, name)
		}
		rec := &kgo.Record{Key: optional("k"), Value: optional("v"), Headers: drawHeaders(t)}
		most := rapid.IntRange(0, 20_000).Draw(t, "max")
		got := rt.Fit(rec, &e, most)
		stub := rt.IsStub(got.Headers) && !omitted
		if !stub && rt.Size(got) > most && !rt.IsStub(got.Headers) {
			t.Fatalf("%d bytes, want at most %d", rt.Size(got), most)
		}
		if !rt.IsStub(got.Headers) && (!cmp.Equal(got.Key, rec.Key) || !cmp.Equal(got.Value, rec.Value) || !cmp.Equal(rt.UserHeaders(got.Headers), rt.UserHeaders(rec.Headers))) {
			t.Fatalf("key %v, value %v, headers %v", got.Key, got.Value, got.Headers)
		}
		if got.Key != nil && !cmp.Equal(got.Key, rec.Key) || got.Value != nil && !cmp.Equal(got.Value, rec.Value) {
			t.Fatal("a key or value was changed")
		}
		env, _, err := rt.ParseEnvelope(got.Headers)
		if err != nil || env.Identity() != e.Identity() || env.Hop != e.Hop {
			t.Fatalf("%+v, %v", env, err)
		}
		if full := (&kgo.Record{Key: rec.Key, Value: rec.Value, Headers: e.Set(rec.Headers)}); rt.Size(full) <= most && stub {
			t.Fatalf("cut down though %d bytes fit in %d", rt.Size(full), most)
		}
	})
}
