package offsets_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

var update = flag.Bool("update", false, "write testdata/metadata_v1.golden anew; only for a case that is new")

func identities() *rapid.Generator[offsets.Identity] {
	return rapid.Custom(func(t *rapid.T) offsets.Identity {
		return offsets.Identity{
			TopicID: origin.TopicID{rapid.Byte().Draw(t, "topic")}, Epoch: rapid.Int32Min(-1).Draw(t, "epoch"),
			Offset: rapid.Int64Min(0).Draw(t, "offset"), Run: rapid.Uint32().Draw(t, "run"),
		}
	})
}

func metadatas(commit int64) *rapid.Generator[offsets.Metadata] {
	return rapid.Custom(func(t *rapid.T) offsets.Metadata {
		m := offsets.Metadata{TopicID: origin.TopicID{rapid.Byte().Draw(t, "topic")}}
		first := commit
		for range rapid.IntRange(0, 10).Draw(t, "epochs") {
			m.Epochs.Note(rapid.Int32().Draw(t, "epoch"), first)
			first += rapid.Int64Range(0, 1<<30).Draw(t, "length")
		}
		upto := commit + rapid.Int64Range(0, 400).Draw(t, "reach")
		m.Settled = offsets.SettledOf(commit, upto, rapid.SliceOf(rapid.Int64Range(commit, commit+400)).Draw(t, "settled")...)
		if rapid.Bool().Draw(t, "source") {
			m.Lane = &offsets.LaneState{
				Tenure: rapid.Int64Min(0).Draw(t, "tenure"), Unclean: rapid.IntRange(0, math.MaxInt32).Draw(t, "unclean"),
				Running:  rapid.Ptr(identities(), true).Draw(t, "running"),
				Suspects: rapid.SliceOfN(identities(), 0, offsets.MaxSuspects).Draw(t, "suspects"),
			}
		}
		return m
	})
}

func TestDecodeReadsWhatEncodeWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commit := rapid.Int64Range(0, math.MaxInt64-1<<40).Draw(t, "commit")
		m := metadatas(commit).Draw(t, "metadata")
		text := m.Encode(commit)
		if len(text) > offsets.MaxMetadata || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%d characters: %s", len(text), text)
		}
		got, err := offsets.Decode(text, commit)
		if err != nil {
			t.Fatal(err)
		}
		m.Epochs = m.Epochs.From(commit)
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-sent +read):\n%s", diff)
		}
		if _, err := offsets.Decode(text, commit+1); !errors.Is(err, offsets.ErrDamaged) {
			t.Fatalf("beside another commit offset: %v", err)
		}
	})
}

func TestDecodeNoticesEveryChangedCharacter(t *testing.T) {
	m := offsets.Metadata{TopicID: origin.TopicID{1}, Epochs: offsets.Epochs{{3, 90}}, Settled: offsets.SettledOf(100, 130, 101, 120)}
	text := m.Encode(100)
	for i := range text {
		for c := byte(' '); c <= '~'; c++ {
			changed := text[:i] + string(c) + text[i+1:]
			if got, err := offsets.Decode(changed, 100); changed != text && err == nil {
				t.Fatalf("%q is read as %+v", changed, got)
			}
		}
		if _, err := offsets.Decode(text[:i], 100); err == nil {
			t.Fatalf("%q is read", text[:i])
		}
	}
}

func TestDecodeSaysWhoseMetadataItIs(t *testing.T) {
	long := strings.Repeat("A", offsets.MaxMetadata)
	for _, c := range []struct {
		text string
		want error
	}{
		{"", offsets.ErrForeign},
		{"kgo-1b4e28ba-2fa1-11d2-883f-0016d3cca427", offsets.ErrForeign},
		{"lw", offsets.ErrForeign},
		{"lw1", offsets.ErrForeign},
		{"lwx:", offsets.ErrForeign},
		{"lw2:AAAA", offsets.ErrUnknownVersion},
		{"lw1:", offsets.ErrDamaged},
		{"lw1:AAAA", offsets.ErrDamaged},
		{"lw1:not base64", offsets.ErrDamaged},
		{"lw1:" + long, offsets.ErrDamaged},
		{offsets.Metadata{}.Encode(-1), offsets.ErrDamaged},
	} {
		if m, err := offsets.Decode(c.text, -1); !errors.Is(err, c.want) || !m.Settled.Empty() {
			t.Errorf("Decode(%.40q) = %+v, %v; want %v", c.text, m, err, c.want)
		}
	}
}

// seal makes a text of sections that no release wrote.
func seal(sections []byte, commit int64) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(binary.BigEndian.AppendUint64(nil, uint64(commit)), table), table, sections)
	return "lw1:" + base64.RawStdEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, sum), sections...))
}

func TestDecodeSkipsSectionsOfALaterRelease(t *testing.T) {
	got, err := offsets.Decode(seal([]byte{2, 2, 5, 0, 200, 3, 'n', 'e', 'w'}, 10), 10)
	want := offsets.Metadata{Epochs: offsets.Epochs{{5, 10}}, Settled: offsets.SettledOf(10, 10)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeRefusesWhatCannotBe(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for name, sections := range map[string][]byte{
		"a section twice":            {2, 0, 2, 0},
		"sections out of order":      {2, 0, 1, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a section that is cut":      {1, 16, 0},
		"a topic id too short":       {1, 2, 0, 0},
		"a topic id too long":        {1, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"nine epochs":                {2, 18, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0},
		"epochs that ascend":         {2, 4, 1, 0, 2, 0},
		"an epoch below offset 0":    {2, 2, 1, 21},
		"a lane that is cut":         {3, 1, 1},
		"two running identities":     {3, 3, 1, 0, 2},
		"no such topic":              {3, 7, 1, 0, 1, 2, 0, 0, 0},
		"nine suspects":              append([]byte{3, 39, 1, 0, 0}, make([]byte, 36)...),
		"no such form":               {4, 2, 5, 2},
		"runs above the end":         {4, 4, 5, 0, 3, 3},
		"a run of no length":         {4, 3, 5, 0, 3},
		"owed above the end":         {4, 5, 5, 1, 6, 0, 0},
		"a bitmap that is cut":       {4, 5, 5, 1, 5, 2, 1},
		"a bitmap above the end":     {4, 6, 20, 1, 5, 2, 1, 0},
		"a bitmap bit above the end": {4, 5, 20, 1, 5, 1, 32},
		"a gap above the end":        {4, 5, 20, 1, 5, 0, 5},
		"a gap that overflows":       append([]byte{4, 15, 20, 1, 5, 1, 1}, binary.AppendUvarint(nil, math.MaxUint64-3)...),
		"an epoch too large":         append([]byte{2, 11}, append(huge, 0)...),
		"a tenure too large":         append([]byte{3, 12}, append(huge, 0, 0)...),
		"too many unclean lives":     append([]byte{3, 12, 1}, append(huge, 0)...),
		"an epoch of no record":      append([]byte{3, 16, 1, 0, 1, 0}, append(huge, 0, 0)...),
		"a run too large":            append([]byte{3, 16, 1, 0, 1, 0, 0, 0}, huge...),
		"an offset below 0":          {3, 7, 1, 0, 1, 0, 0, 21, 0},
		"more than a broker takes":   append([]byte{200, 0xa0, 0x1f}, make([]byte, 4000)...),
		"a reach that overflows":     append([]byte{4, 11}, append(huge, 0)...),
	} {
		if m, err := offsets.Decode(seal(sections, 10), 10); !errors.Is(err, offsets.ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// lane is the lane state of a bad day.
func lane(commit int64) *offsets.LaneState {
	l := &offsets.LaneState{Tenure: 1_800_000_000, Unclean: 7, Running: &offsets.Identity{TopicID: origin.TopicID{1}, Epoch: 1200, Offset: commit + 1<<20}}
	for i := range int64(offsets.MaxSuspects) {
		l.Suspects = append(l.Suspects, offsets.Identity{TopicID: origin.TopicID{1}, Epoch: 1200, Offset: commit + i<<17, Run: 4_000_000_000})
	}
	return l
}

func epochs(commit int64) offsets.Epochs {
	var e offsets.Epochs
	for i := range int64(offsets.MaxEpochs) {
		e.Note(int32(1_000_000+i), commit+i<<17)
	}
	return e
}

func TestR20WhatIsAdmittedFits(t *testing.T) {
	const start = int64(1) << 40
	for _, c := range []struct {
		name string
		make func(tr *offsets.Tracker)
	}{
		{"a full window above one that is stuck", func(tr *offsets.Tracker) {
			receive(tr, offsets.DefaultWindow, func(i int64) bool { return i == 0 })
		}},
		{"every second one, a full window", func(tr *offsets.Tracker) {
			receive(tr, offsets.DefaultWindow, func(i int64) bool { return i%2 == 0 })
		}},
		{"no order at all, a full window, and a gap above", func(tr *offsets.Tracker) {
			receive(tr, offsets.DefaultWindow-1, func(i int64) bool { return i*i%11 < 5 })
			tr.Receive(tr.Position() + 1<<45)
		}},
		{"every second one to the limit, far above one that is stuck", func(tr *offsets.Tracker) {
			receive(tr, 1_000_000, func(i int64) bool { return i == 0 || i > 900_000 && i%2 == 0 })
		}},
		{"the widest span, few unsettled", func(tr *offsets.Tracker) {
			receive(tr, 1<<20, func(i int64) bool { return i%800 == 0 })
		}},
		{"ghosts all over the window", func(tr *offsets.Tracker) {
			for off := start; off < start+2*offsets.DefaultWindow; off += 1 + off*off%3 {
				tr.Settle(off)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := offsets.NewTracker(start, offsets.Settled{})
			c.make(tr)
			m := offsets.Metadata{TopicID: origin.TopicID{1}, Epochs: epochs(start), Settled: tr.SettledSet(), Lane: lane(start)}
			text := m.Encode(tr.Commit())
			t.Logf("span %d, unsettled %d, %d characters", tr.Span(), tr.Unsettled(), len(text))
			if len(text) > 4000 {
				t.Errorf("%d characters, want at most 4000", len(text))
			}
			got, err := offsets.Decode(text, tr.Commit())
			if diff := cmp.Diff(m, got); err != nil || diff != "" {
				t.Errorf("%v (-sent +read):\n%s", err, diff)
			}
		})
	}
}

// receive takes up to n records as long as they are admitted, and settles all but those that are owed.
func receive(tr *offsets.Tracker, n int64, owed func(i int64) bool) {
	for i := int64(0); i < n && tr.Admits(); i++ {
		tr.Receive(tr.Position())
		if !owed(i) {
			tr.Settle(tr.Position() - 1)
		}
	}
}

// Random lives of a partition, with the real limits: whatever was admitted, every commit is read by a successor as it was
// meant, and the next life goes on from there.
func TestR20NothingAdmittedIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := offsets.NewTracker(1_000_000, offsets.Settled{})
		gap := rapid.SampledFrom([]int64{0, 1, 100, 1 << 14, 1 << 21, 1 << 35})
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				keep := rapid.Int64Range(1, 500).Draw(t, "keep")
				receive(tr, rapid.Int64Range(1, 60_000).Draw(t, "n"), func(i int64) bool { return i%keep == 0 })
			},
			"receive behind a gap": func(t *rapid.T) {
				if tr.Admits() {
					tr.Receive(tr.Position() + gap.Draw(t, "gap"))
				}
			},
			"advance": func(t *rapid.T) { tr.Advance(tr.Position() + gap.Draw(t, "gap")) },
			"settle some": func(t *rapid.T) {
				n, keep := rapid.IntRange(1, 20_000).Draw(t, "n"), rapid.IntRange(1, 50).Draw(t, "keep")
				var owed []int64
				tr.EachUnsettled(func(off int64) bool { owed = append(owed, off); return len(owed) < n })
				for i, off := range owed {
					if keep == 1 || i%keep != 0 {
						tr.Settle(off)
					}
				}
			},
			"find ghosts": func(t *rapid.T) {
				step := rapid.Int64Range(1, 40).Draw(t, "step")
				for off := tr.Position(); off < tr.Position()+30_000; off += step {
					tr.Settle(off)
				}
			},
			"take over": func(t *rapid.T) {
				m := offsets.Metadata{TopicID: origin.TopicID{1}, Epochs: epochs(tr.Commit()), Settled: tr.SettledSet(), Lane: lane(tr.Commit())}
				got, err := offsets.Decode(m.Encode(tr.Commit()), tr.Commit())
				if err != nil || !got.Settled.Equal(m.Settled) {
					t.Fatalf("span %d, unsettled %d: %v", tr.Span(), tr.Unsettled(), err)
				}
				tr = offsets.NewTracker(tr.Commit(), got.Settled)
			},
		})
	})
}

func TestEncodeLeavesOutTheTopOfWhatDoesNotFit(t *testing.T) {
	var offs []int64
	for off := int64(0); off < 100_000; off += 2 + off/2%2 {
		offs = append(offs, off)
	}
	set := offsets.SettledOf(0, 100_000, offs...)
	text := offsets.Metadata{Settled: set}.Encode(0)
	got, err := offsets.Decode(text, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < offsets.MaxMetadata-8 || len(text) > offsets.MaxMetadata {
		t.Errorf("%d characters, want all there are and no more", len(text))
	}
	if upto := got.Settled.Upto; upto >= set.Upto || !got.Settled.Equal(set.Below(upto)) {
		t.Errorf("not the lower part of the set: ends at %d", upto)
	}
}

func TestEncodeLeavesOutWhatLiesBelowTheCommit(t *testing.T) {
	m := offsets.Metadata{Epochs: offsets.Epochs{{4, 90}, {2, 50}}, Settled: offsets.SettledOf(80, 120, 85, 86, 105, 106, 110)}
	got, err := offsets.Decode(m.Encode(106), 106)
	want := offsets.Metadata{Epochs: offsets.Epochs{{4, 90}}, Settled: offsets.SettledOf(106, 120, 106, 110)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEncodeKeepsTheLastSuspects(t *testing.T) {
	l := &offsets.LaneState{}
	for i := range int64(offsets.MaxSuspects + 3) {
		l.Suspects = append(l.Suspects, offsets.Identity{Offset: i})
	}
	got, err := offsets.Decode(offsets.Metadata{Lane: l}.Encode(0), 0)
	if err != nil || got.Lane == nil {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(l.Suspects[3:], got.Lane.Suspects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIdentityIsTheOriginWithinItsPartition(t *testing.T) {
	i := origin.Identity{Origin: origin.Origin{Topic: "orders", TopicID: origin.TopicID{9}, Partition: 3, LeaderEpoch: 7, Offset: 42}, Run: 2}
	if diff := cmp.Diff(i, offsets.IdentityOf(i).In("orders", 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The file holds what version 1 looked like when it was first written. It must be readable for as long as a release
// reads version 1, and a release that writes it must write just this.
func TestVersion1StaysReadable(t *testing.T) {
	id := origin.TopicID{0xde, 0xad, 15: 0x01}
	var second []int64
	for off := int64(501); off < 700; off += 2 {
		second = append(second, off)
	}
	cases := []struct {
		name   string
		commit int64
		m      offsets.Metadata
	}{
		{"nothing", 0, offsets.Metadata{Settled: offsets.SettledOf(0, 0)}},
		{"idle", 1042, offsets.Metadata{TopicID: id, Epochs: offsets.Epochs{{3, 1000}}, Settled: offsets.SettledOf(1042, 21042)}},
		{"runs", 70, offsets.Metadata{TopicID: id, Epochs: offsets.Epochs{{9, 80}, {8, 60}}, Settled: offsets.SettledOf(70, 20070, 71, 72, 73, 300)}},
		{"bitmap", 500, offsets.Metadata{TopicID: id, Settled: offsets.SettledOf(500, 20500, second...)}},
		{"lane", 100, offsets.Metadata{TopicID: id, Settled: offsets.SettledOf(100, 100), Lane: &offsets.LaneState{
			Tenure: 1_767_225_600, Unclean: 3, Running: &offsets.Identity{TopicID: id, Epoch: 9, Offset: 104},
			Suspects: []offsets.Identity{{TopicID: id, Epoch: -1, Offset: 90, Run: 5}, {TopicID: origin.TopicID{7}, Epoch: 2, Offset: 4}},
		}}},
	}
	const file = "testdata/metadata_v1.golden"
	if *update {
		b := strings.Builder{}
		for _, c := range cases {
			fmt.Fprintf(&b, "%s %d %s\n", c.name, c.commit, c.m.Encode(c.commit))
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d lines, want %d", len(lines), len(cases))
	}
	for i, c := range cases {
		text, ok := strings.CutPrefix(lines[i], fmt.Sprintf("%s %d ", c.name, c.commit))
		got, err := offsets.Decode(text, c.commit)
		if diff := cmp.Diff(c.m, got, cmpopts.EquateEmpty()); !ok || err != nil || diff != "" {
			t.Errorf("%s: %v (-want +read):\n%s", c.name, err, diff)
		}
		if now := c.m.Encode(c.commit); now != text {
			t.Errorf("%s: written as %s, was %s", c.name, now, text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{2, 2, 5, 0, 4, 4, 5, 0, 1, 2}, int64(10))
	f.Add([]byte{4, 7, 100, 1, 60, 2, 5, 6, 7}, int64(1<<40))
	f.Add([]byte{3, 12, 1, 0, 1, 0, 0, 0, 0, 0, 2, 2, 1}, int64(5))
	f.Fuzz(func(t *testing.T, sections []byte, commit int64) {
		_, _ = offsets.Decode(string(sections), commit)
		m, err := offsets.Decode(seal(sections, commit), commit)
		if err != nil {
			if !errors.Is(err, offsets.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if m.Settled.From != commit || m.Settled.Upto < commit || len(m.Epochs) > offsets.MaxEpochs {
			t.Fatalf("%+v", m)
		}
		if m.Lane != nil && (len(m.Lane.Suspects) > offsets.MaxSuspects || m.Lane.Tenure < 0) {
			t.Fatalf("%+v", m.Lane)
		}
		m.Epochs = m.Epochs.From(commit)
		text := m.Encode(commit)
		again, err := offsets.Decode(text, commit)
		if err != nil || len(text) > offsets.MaxMetadata {
			t.Fatalf("%d characters: %v", len(text), err)
		}
		if len(sections) < 3000 { // a longer one may have spent its bytes in a worse way than Encode does, or a better one
			if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-read +read again):\n%s", diff)
			}
		}
		m.Settled.Contains(commit)
		offsets.NewTracker(commit, m.Settled).AppendState(nil)
	})
}

func BenchmarkCommit(b *testing.B) {
	for _, keep := range []int64{2, 50, 20_000} {
		b.Run(fmt.Sprintf("1 of %d unsettled", keep), func(b *testing.B) {
			tr := offsets.NewTracker(0, offsets.Settled{})
			receive(tr, offsets.DefaultWindow, func(i int64) bool { return i%keep == 0 })
			b.ReportAllocs()
			for b.Loop() {
				_ = offsets.Metadata{Settled: tr.SettledSet()}.Encode(tr.Commit())
			}
		})
	}
}
