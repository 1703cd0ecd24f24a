package dedupe_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/dedupe"
)

func drawTopicID(t *rapid.T) (id dedupe.TopicID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "topic id"))
	return id
}

func drawMark(t *rapid.T) dedupe.Mark {
	count, epoch := rapid.Int64Min(0), rapid.Int32Min(-1)
	m := dedupe.Mark{
		Kind:      rapid.SampledFrom([]dedupe.Kind{dedupe.Done, dedupe.Terminal, dedupe.Claim, dedupe.Dense, dedupe.Position}).Draw(t, "kind"),
		Tenure:    count.Draw(t, "tenure"),
		Tombstone: rapid.Bool().Draw(t, "tombstone"),
	}
	drawMarkKey(t, &m, count, epoch)
	if m.Tombstone {
		return m
	}
	m.At = rapid.Int64().Draw(t, "at")
	text := rapid.StringN(0, 60, dedupe.MaxText)
	switch m.Kind {
	case dedupe.Done, dedupe.Terminal:
		m.Reason = text.Draw(t, "reason")
	case dedupe.Claim:
		m.Owner = text.Draw(t, "owner")
	case dedupe.Dense:
		m.Bits = drawBits(t, "bits")
	case dedupe.Position:
		m.Identity.TopicID, m.Identity.LeaderEpoch = drawTopicID(t), epoch.Draw(t, "epoch")
		m.Position = count.Draw(t, "position")
	}
	return m
}

func drawMarkKey(t *rapid.T, m *dedupe.Mark, count *rapid.Generator[int64], epoch *rapid.Generator[int32]) {
	switch m.Kind {
	case dedupe.Done, dedupe.Claim, dedupe.Terminal:
		m.Identity.TopicID, m.Identity.LeaderEpoch = drawTopicID(t), epoch.Draw(t, "epoch")
		m.Identity.Offset, m.Identity.Run = count.Draw(t, "offset"), rapid.Uint32().Draw(t, "run")
	case dedupe.Dense:
		m.Chunk = dedupe.Chunk{TopicID: drawTopicID(t), Epoch: epoch.Draw(t, "epoch"), Index: rapid.Int64Range(0, 1<<53-1).Draw(t, "index")}
	case dedupe.Position:
	}
	if m.Kind == dedupe.Claim {
		m.Tries = int(rapid.Uint32().Draw(t, "tries"))
	}
	if m.Kind == dedupe.Done || m.Kind == dedupe.Claim {
		if m.DefaultKey = rapid.Bool().Draw(t, "default key"); !m.DefaultKey {
			n := rapid.SampledFrom([]int{1, 8, 32, dedupe.MaxKey}).Draw(t, "length")
			m.Key = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "x")
		}
	}
}

func TestMarkSurvivesWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, got := drawMark(t), drawMark(t) // got holds what another mark left behind
		key, value := m.AppendKey(nil), m.AppendValue(nil)
		if len(key) == 0 || (value == nil) != m.Tombstone {
			t.Fatalf("key %x, value %x", key, value)
		}
		if err := got.Decode(key, value); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Whatever differs in what a mark states, and whatever tenure states it, differs in its key: no mark can take the place
// of another one.
func TestMarksOfOtherThingsHaveOtherKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMark(t), drawMark(t)
		if rapid.Bool().Draw(t, "alike") {
			b = a
			b.Tenure += int64(rapid.IntRange(0, 1).Draw(t, "next tenure"))
			b.Identity.Run += uint32(rapid.IntRange(0, 1).Draw(t, "next run"))
		}
		stated := func(m dedupe.Mark) dedupe.Mark {
			s := dedupe.Mark{Kind: m.Kind, Key: m.Key, DefaultKey: m.DefaultKey, Tries: m.Tries, Tenure: m.Tenure, Chunk: m.Chunk}
			if m.Kind != dedupe.Position && m.Kind != dedupe.Dense {
				s.Identity = m.Identity
			}
			return s
		}
		same := cmp.Equal(stated(a), stated(b), cmpopts.EquateEmpty())
		if bytes.Equal(a.AppendKey(nil), b.AppendKey(nil)) != same {
			t.Fatalf("stated the same: %t\n%s\n%s", same, &a, &b)
		}
	})
}

func TestDecodeLeavesThePlace(t *testing.T) {
	place := dedupe.Origin{Topic: "orders", Partition: 3}
	m := dedupe.Mark{Identity: dedupe.Identity{Origin: place}}
	done := dedupe.Mark{Kind: dedupe.Done, DefaultKey: true, Identity: dedupe.Identity{Origin: dedupe.Origin{Offset: 7}}}
	if err := m.Decode(done.AppendKey(nil), done.AppendValue(nil)); err != nil {
		t.Fatal(err)
	}
	if got := m.Identity.String(); got != "orders/3/7" {
		t.Errorf("identity %s", got)
	}
	if err := m.Decode(nil, nil); err == nil || m.Identity.Topic != "orders" || m.Identity.Partition != 3 || m.Identity.Offset != 0 {
		t.Errorf("%v, identity %s", err, m.Identity)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("é", 200) // 400 bytes; one of them would be cut in two at 255 bytes
	m := dedupe.Mark{Kind: dedupe.Terminal, Reason: "x" + long}
	var got dedupe.Mark
	if err := got.Decode(m.AppendKey(nil), m.AppendValue(nil)); err != nil {
		t.Fatal(err)
	}
	if want := "x" + long[:254]; got.Reason != want {
		t.Errorf("%d bytes %q", len(got.Reason), got.Reason)
	}
	m.Reason = strings.Repeat("\x80", 1000)
	if n := len(m.AppendValue(nil)) - len((&dedupe.Mark{Kind: dedupe.Terminal}).AppendValue(nil)); n < dedupe.MaxText-4 || n > dedupe.MaxText+1 {
		t.Errorf("%d bytes of broken text", n)
	}
}

func TestLongKeysAreWrittenInCanonicalForm(t *testing.T) {
	x := bytes.Repeat([]byte("k"), 1000)
	m := dedupe.Mark{Kind: dedupe.Done, Key: x}
	var got dedupe.Mark
	if err := got.Decode(m.AppendKey(nil), m.AppendValue(nil)); err != nil || !bytes.Equal(got.Key, dedupe.CanonicalKey(x)) {
		t.Errorf("%v, key %x", err, got.Key)
	}
}

func TestDecodeTellsDamageFromOtherVersions(t *testing.T) {
	m := dedupe.Mark{Kind: dedupe.Done, Key: []byte("x")}
	key, value := m.AppendKey(nil), m.AppendValue(nil)
	chunk := (&dedupe.Mark{Kind: dedupe.Dense}).AppendKey(nil)
	with := func(b []byte, i int, v byte) []byte {
		b = bytes.Clone(b)
		b[i] = v
		return b
	}
	longX := append([]byte{1, 'd', 201}, make([]byte, 201+32+8)...)
	for name, c := range map[string]struct {
		key, value []byte
		want       error
	}{
		"no key":                   {nil, value, dedupe.ErrDamaged},
		"version only":             {key[:1], value, dedupe.ErrDamaged},
		"next version":             {with(key, 0, 2), value, dedupe.ErrUnknownVersion},
		"next value version":       {key, with(value, 0, 2), dedupe.ErrUnknownVersion},
		"kind to come":             {with(key, 1, 'z'), value, dedupe.ErrUnknownVersion},
		"kind to come, taken back": {with(key, 1, 'z'), nil, dedupe.ErrUnknownVersion},
		"short key":                {key[:len(key)-1], value, dedupe.ErrDamaged},
		"long key":                 {append(bytes.Clone(key), 0), value, dedupe.ErrDamaged},
		"too long x":               {longX, value, dedupe.ErrDamaged},
		"negative tenure":          {with(key, len(key)-8, 0x80), value, dedupe.ErrDamaged},
		"negative offset":          {with(key, len(key)-20, 0x80), value, dedupe.ErrDamaged},
		"leader epoch below -1":    {with(key, len(key)-24, 0x80), value, dedupe.ErrDamaged},
		"chunk of no offset":       {with(chunk, len(chunk)-16, 0x7f), nil, dedupe.ErrDamaged},
		"negative chunk":           {with(chunk, len(chunk)-16, 0x80), nil, dedupe.ErrDamaged},
		"empty value":              {key, []byte{}, dedupe.ErrDamaged},
		"short value":              {key, value[:5], dedupe.ErrDamaged},
		"no text":                  {key, value[:9], dedupe.ErrDamaged},
		"text longer than it":      {key, with(value, 9, 5), dedupe.ErrDamaged},
	} {
		got := dedupe.Mark{Kind: dedupe.Dense, Bits: dedupe.Bits{1}, Reason: "old", Owner: "old"}
		err := got.Decode(c.key, c.value)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if diff := cmp.Diff(dedupe.Mark{}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestValuesMayGrowAtTheEnd(t *testing.T) {
	for _, m := range goldenMarks() {
		if m.Tombstone {
			continue
		}
		var got dedupe.Mark
		err := got.Decode(m.AppendKey(nil), append(m.AppendValue(nil), "of a later release"...))
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v %s", m.Kind, err, diff)
		}
	}
}

func TestAppendKeyPanicsWithoutKind(t *testing.T) {
	defer func() {
		if p := recover(); p != "dedupe: mark of kind(0)" {
			t.Errorf("panic %v", p)
		}
	}()
	new(dedupe.Mark).AppendKey(nil)
}

func goldenMarks() []dedupe.Mark {
	id := dedupe.TopicID{0x0f, 15: 0x3c}
	i := dedupe.Identity{Origin: dedupe.Origin{TopicID: id, LeaderEpoch: 7, Offset: 1042}, Run: 2}
	var bits dedupe.Bits
	for n := range 700 {
		if n != 300 {
			bits.Set(n)
		}
	}
	var sparse dedupe.Bits
	for w := range sparse {
		sparse[w] = 0x5555555555555555
	}
	const tenure, at = 1767366245, 1767366245678
	return []dedupe.Mark{
		{Kind: dedupe.Done, Key: []byte("order-17"), Identity: i, Tenure: tenure, At: at},
		{Kind: dedupe.Done, Key: dedupe.CanonicalKey(bytes.Repeat([]byte("k"), 201)), Identity: i, Tenure: tenure, At: at, Reason: "by hand"},
		{Kind: dedupe.Done, DefaultKey: true, Identity: i, Tenure: tenure, At: at},
		{Kind: dedupe.Done, Key: []byte("order-17"), Identity: i, Tenure: tenure, Tombstone: true},
		{Kind: dedupe.Terminal, Identity: i, Tenure: tenure, At: at, Reason: "exhausted"},
		{Kind: dedupe.Claim, Key: []byte{0xff, 0}, Identity: i, Tries: 3, Tenure: tenure, At: at, Owner: "worker-1"},
		{Kind: dedupe.Dense, Chunk: dedupe.Chunk{TopicID: id, Epoch: 7, Index: 1}, Tenure: tenure, At: at, Bits: bits},
		{Kind: dedupe.Dense, Chunk: dedupe.Chunk{Epoch: -1}, Tenure: tenure, At: at, Bits: sparse},
		{Kind: dedupe.Dense, Chunk: dedupe.Chunk{TopicID: id, Epoch: 7, Index: 1}, Tenure: tenure, Tombstone: true},
		{Kind: dedupe.Position, Tenure: tenure, At: at, Identity: dedupe.Identity{Origin: dedupe.Origin{TopicID: id, LeaderEpoch: 7}}, Position: 2050},
	}
}

// Topics hold what earlier releases wrote. A new version gets a file of its own; a line that is in a file stays as it is.
func TestGoldenMarksAreReadAndWrittenAsEver(t *testing.T) {
	file, err := os.ReadFile("testdata/marks-v1.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	marks := goldenMarks()
	if len(lines) != 3*len(marks) {
		t.Fatalf("%d lines for %d marks", len(lines), len(marks))
	}
	for n, m := range marks {
		text, key, value := lines[3*n], unhex(t, lines[3*n+1], "key "), unhex(t, lines[3*n+2], "value ")
		if got := m.String(); got != text {
			t.Errorf("mark %d is\n%s, want\n%s", n, got, text)
		}
		if got := m.AppendKey(nil); !bytes.Equal(got, key) {
			t.Errorf("%s: key %x, want %x", text, got, key)
		}
		if got := m.AppendValue(nil); !bytes.Equal(got, value) {
			t.Errorf("%s: value %x, want %x", text, got, value)
		}
		var got dedupe.Mark
		if err := got.Decode(key, value); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// unhex returns nil for "nil".
func unhex(t *testing.T, line, prefix string) []byte {
	t.Helper()
	digits, ok := strings.CutPrefix(line, prefix)
	if !ok {
		t.Fatalf("line %q does not begin with %q", line, prefix)
	}
	if digits == "nil" {
		return nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzMarkDecode(f *testing.F) {
	for _, m := range goldenMarks() {
		f.Add(m.AppendKey(nil), m.AppendValue(nil))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		var m, again dedupe.Mark
		if err := m.Decode(key, value); err != nil {
			if !errors.Is(err, dedupe.ErrDamaged) && !errors.Is(err, dedupe.ErrUnknownVersion) {
				t.Errorf("error %v", err)
			}
			return
		}
		if got := m.AppendKey(nil); !bytes.Equal(got, key) {
			t.Errorf("key %x was read, %x is written: a tombstone would miss it", key, got)
		}
		if err := again.Decode(key, m.AppendValue(nil)); err != nil {
			t.Errorf("%s: %v", &m, err)
		}
		if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDecodeAllocatesNothingTheSecondTime(t *testing.T) {
	for _, m := range goldenMarks() {
		key, value := m.AppendKey(nil), m.AppendValue(nil)
		var got dedupe.Mark
		if n := testing.AllocsPerRun(100, func() {
			if err := got.Decode(key, value); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations to read", &m, n)
		}
		if n := testing.AllocsPerRun(100, func() {
			key, value = m.AppendKey(key[:0]), m.AppendValue(value[:0])
		}); n != 0 {
			t.Errorf("%s: %v allocations to write", &m, n)
		}
	}
}
