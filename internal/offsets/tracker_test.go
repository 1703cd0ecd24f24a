package offsets_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/internal/offsets"
)

func configs() *rapid.Generator[offsets.Config] {
	return rapid.Custom(func(t *rapid.T) offsets.Config {
		return offsets.Config{
			Window:   rapid.SampledFrom([]int64{1, 8, 100}).Draw(t, "window"),
			MaxSpan:  rapid.SampledFrom([]int64{16, 200, 1000}).Draw(t, "max span"),
			GapBytes: rapid.SampledFrom([]int{-1, 1, 5, 60}).Draw(t, "gap bytes"),
		}
	})
}

func settledSets(from, upto int64) *rapid.Generator[offsets.Settled] {
	return rapid.Custom(func(t *rapid.T) offsets.Settled {
		from := rapid.Int64Range(from, upto).Draw(t, "from")
		upto := rapid.Int64Range(from, upto).Draw(t, "upto")
		return offsets.SettledOf(from, upto, rapid.SliceOfN(rapid.Int64Range(from, upto+5), 0, 60).Draw(t, "settled")...)
	})
}

// pair drives a tracker and its model alike.
type pair struct {
	model   *model
	tracker *offsets.Tracker
	seen    map[string]string // canonical form by the model's state
	byForm  map[string]string // and the other way round
}

func (p *pair) receive(t *rapid.T, off int64) {
	if got, want := p.tracker.Receive(off), p.model.receive(off); got != want {
		t.Fatalf("Receive(%d) = %v, want %v", off, got, want)
	}
}

func (p *pair) settle(off int64) {
	p.tracker.Settle(off)
	p.model.settle(off)
}

func (p *pair) check(t *rapid.T) {
	tr, m := p.tracker, p.model
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"Start", tr.Start(), m.start},
		{"Position", tr.Position(), m.position},
		{"Inherited", tr.Inherited(), m.inh},
		{"Commit", tr.Commit(), m.commit()},
		{"Unsettled", int64(tr.Unsettled()), int64(len(m.owed))},
		{"Span", tr.Span(), m.position - m.commit()},
		{"Reach", tr.Reach(), m.reach()},
	} {
		if c.got != c.want {
			t.Fatalf("%s = %d, want %d", c.name, c.got, c.want)
		}
	}
	if tr.Admits() != m.admits() {
		t.Fatalf("Admits = %v, want %v", tr.Admits(), m.admits())
	}
	for off := m.start - 3; off < m.position+130; off++ {
		if tr.Settled(off) != m.settled(off) {
			t.Fatalf("Settled(%d) = %v, want %v", off, tr.Settled(off), m.settled(off))
		}
	}
	if diff := cmp.Diff(m.settledSet(), tr.SettledSet()); diff != "" {
		t.Fatalf("SettledSet (-want +got):\n%s", diff)
	}
	p.checkState(t)
}

// checkState: equal states have equal forms, and other states have others.
func (p *pair) checkState(t *rapid.T) {
	state, form := p.model.state(), string(p.tracker.AppendState(nil))
	if p.seen == nil {
		p.seen, p.byForm = map[string]string{}, map[string]string{}
	}
	if was, ok := p.seen[state]; ok && was != form {
		t.Fatalf("two forms of the state %s", state)
	}
	if was, ok := p.byForm[form]; ok && was != state {
		t.Fatalf("one form of two states:\n%s\n%s", was, state)
	}
	p.seen[state], p.byForm[form] = form, state
	if other := p.model.rebuilt(); string(other.AppendState(nil)) != form {
		t.Fatalf("AppendState depends on the past in the state %s", state)
	}
}

func TestTrackerDoesWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := configs().Draw(t, "config")
		start := rapid.Int64Range(0, 300).Draw(t, "start")
		inherited := settledSets(max(0, start-20), start+200).Draw(t, "inherited")
		p := &pair{model: newModel(cfg, start, inherited), tracker: offsets.NewTrackerConfig(cfg, start, inherited)}
		gap := rapid.SampledFrom([]int64{0, 0, 0, 1, 5, 63, 64, 150, 1500})
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) { p.receive(t, p.model.position+gap.Draw(t, "gap")) },
			"receive many": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					p.receive(t, p.model.position)
				}
			},
			"receive what is admitted": func(t *rapid.T) {
				gap := gap.Draw(t, "gap")
				for range 300 {
					if p.tracker.Admits() != p.model.admits() {
						t.Fatalf("Admits = %v at span %d", !p.model.admits(), p.tracker.Span())
					}
					if !p.model.admits() {
						return
					}
					p.receive(t, p.model.position+gap)
				}
			},
			"receive again": func(t *rapid.T) { p.receive(t, p.model.position-1-gap.Draw(t, "back")) },
			"advance": func(t *rapid.T) {
				next := p.model.position - 2 + gap.Draw(t, "gap")
				p.tracker.Advance(next)
				p.model.position = max(p.model.position, next)
			},
			"settle": func(t *rapid.T) {
				p.settle(rapid.Int64Range(p.model.commit()-3, p.model.position-1).Draw(t, "off"))
			},
			"settle the lowest": func(*rapid.T) { p.settle(p.model.commit()) },
			"settle most": func(t *rapid.T) {
				keep := rapid.Int64Range(2, 40).Draw(t, "keep")
				for off := p.model.commit(); off < p.model.position; off++ {
					if off%keep != 0 {
						p.settle(off)
					}
				}
			},
			"settle a ghost": func(t *rapid.T) { p.settle(p.model.position + gap.Draw(t, "ahead")) },
			"admit": func(t *rapid.T) {
				n := rapid.IntRange(0, 300).Draw(t, "n")
				if got, want := p.tracker.Admit(n), p.model.admit(n); got != want {
					t.Fatalf("Admit(%d) = %d, want %d", n, got, want)
				}
			},
			"go on with a clone": func(t *rapid.T) {
				old, before := p.tracker, p.tracker.AppendState(nil)
				p.tracker = old.Clone()
				p.receive(t, p.model.position)
				p.settle(p.model.commit())
				p.settle(p.model.position + 7)
				if !bytes.Equal(before, old.AppendState(nil)) {
					t.Fatal("a clone changed its original")
				}
			},
			"": p.check,
		})
	})
}

func TestR21CommitsTheLowestOwedNotTheHighestSettled(t *testing.T) {
	tr := offsets.NewTracker(0, offsets.SettledOf(0, 4, 1, 3))
	if got := tr.Commit(); got != 0 {
		t.Fatalf("Commit before anything is read = %d, want 0", got)
	}
	if got, want := tr.SettledSet(), offsets.SettledOf(0, 20_000, 1, 3); !got.Equal(want) {
		t.Fatalf("SettledSet = %v, want what was inherited, %v", got, want)
	}
	if !tr.Receive(0) || tr.Receive(1) {
		t.Fatal("0 is owed, 1 was settled by the predecessor")
	}
	tr.Settle(0)
	if got := tr.Commit(); got != 2 {
		t.Fatalf("Commit = %d, want the position 2", got)
	}
}

func TestR20OneStuckRecordDoesNotStopTheOthers(t *testing.T) {
	const n = 100_000
	tr := offsets.NewTracker(0, offsets.Settled{})
	tr.Receive(0)
	for off := int64(1); off <= n; off++ {
		if !tr.Admits() {
			t.Fatalf("refused at %d", off)
		}
		tr.Receive(off)
		tr.Settle(off)
	}
	next := takeOver(t, tr)
	tr.Settle(0)
	if tr.Commit() != n+1 || !tr.Receive(n+1) || tr.Commit() != n+1 || tr.Settled(n+1) || !tr.Settled(n) {
		t.Fatalf("after the stuck one is settled: commit %d", tr.Commit())
	}
	if next.Commit() != 0 || next.Position() != 0 || next.Inherited() != n+1 {
		t.Fatalf("successor: commit %d, position %d, inherited %d", next.Commit(), next.Position(), next.Inherited())
	}
	if !next.Receive(0) {
		t.Fatal("0 is not owed any more")
	}
	for off := int64(1); off <= n; off++ {
		if next.Receive(off) {
			t.Fatalf("%d is repeated", off)
		}
	}
}

func TestR20AdmissionStopsWhenEverySecondIsUnsettled(t *testing.T) {
	tr := offsets.NewTracker(0, offsets.Settled{})
	off := int64(0)
	for ; off < 50_000 && tr.Admits(); off++ {
		tr.Receive(off)
		if off%2 == 1 {
			tr.Settle(off)
		}
	}
	if off != offsets.DefaultWindow || tr.Resumes() {
		t.Fatalf("admitted up to %d, resumes %v; want the window", off, tr.Resumes())
	}
	next := takeOver(t, tr)
	for off := range int64(offsets.DefaultWindow) {
		if fresh := next.Receive(off); fresh != (off%2 == 0) {
			t.Fatalf("Receive(%d) = %v", off, fresh)
		}
	}
	for off := int64(0); !next.Admits(); off++ {
		next.Settle(off)
	}
	if next.Commit() == 0 {
		t.Fatal("never refused")
	}
}

func TestR20ResumesAtHalf(t *testing.T) {
	tr := offsets.NewTrackerConfig(offsets.Config{Window: 8, GapBytes: -1}, 0, offsets.Settled{})
	for off := int64(0); tr.Admits(); off++ {
		tr.Receive(off)
	}
	for off := range int64(8) {
		if got, want := tr.Resumes(), off >= 4; got != want {
			t.Errorf("%d of 8 settled: Resumes = %v, want %v", off, got, want)
		}
		tr.Settle(off)
	}
}

func TestR20AGapWiderThanMaxSpanTakesNoMemory(t *testing.T) {
	const far = int64(1) << 50
	tr := offsets.NewTracker(0, offsets.Settled{})
	for _, off := range []int64{0, 1, far, far + 1} {
		tr.Receive(off)
	}
	if tr.Admits() {
		t.Fatal("admits beyond the span")
	}
	next := takeOver(t, tr)
	if got, want := next.SettledSet(), tr.SettledSet(); !got.Equal(want) {
		t.Fatalf("settled set of the successor: %v, want %v", got, want)
	}
	for _, stop := range []int64{1, far, far + 1} {
		last := int64(-1)
		tr.EachUnsettled(func(off int64) bool { last = off; return off < stop })
		if last != stop {
			t.Errorf("EachUnsettled ended at %d, want %d", last, stop)
		}
	}
	for _, off := range []int64{0, 1} {
		tr.Settle(off)
	}
	if tr.Commit() != far || tr.Unsettled() != 2 || tr.Settled(far+1) || !tr.Admits() {
		t.Fatalf("commit %d, unsettled %d", tr.Commit(), tr.Unsettled())
	}
}

// The bytes of the gaps are kept up to date while records come and go, and must not drift.
func TestR20TheBytesOfGapsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := offsets.Config{Window: 1, MaxSpan: 100_000, GapBytes: rapid.IntRange(3, 14).Draw(t, "gap bytes")}
		tr, m := offsets.NewTrackerConfig(cfg, 0, offsets.Settled{}), newModel(cfg, 0, offsets.Settled{})
		for range 200 {
			if m.admits() || rapid.IntRange(0, 9).Draw(t, "against the rule") == 0 {
				off := m.position + rapid.SampledFrom([]int64{0, 0, 1, 126, 127, 128, 300, 16_384}).Draw(t, "gap")
				tr.Receive(off)
				m.receive(off)
			} else {
				off := rapid.SampledFrom(slices.Sorted(maps.Keys(m.owed))).Draw(t, "settle")
				tr.Settle(off)
				m.settle(off)
			}
			if tr.Admits() != m.admits() {
				t.Fatalf("Admits = %v with %d bytes, span %d", tr.Admits(), m.gapBytes(), tr.Span())
			}
		}
	})
}

func TestGhostsAheadOutliveAJump(t *testing.T) {
	tr := offsets.NewTracker(0, offsets.Settled{})
	tr.Settle(300)
	tr.Settle(310)
	tr.Advance(301)
	if tr.Receive(310) || !tr.Receive(311) {
		t.Error("310 was settled before it was read, 311 was not")
	}
}

func TestOffsetsBehindAWideGapStayInOrder(t *testing.T) {
	tr := offsets.NewTrackerConfig(offsets.Config{MaxSpan: 200}, 0, offsets.Settled{})
	for _, off := range []int64{0, 128, 256, 576} { // the last is beyond the span
		tr.Receive(off)
	}
	tr.Settle(0)
	tr.Receive(577)
	tr.Receive(578)
	other := tr.Clone()
	tr.Receive(700)
	other.Receive(800)
	for _, c := range []struct {
		tr   *offsets.Tracker
		want []int64
	}{{tr, []int64{128, 256, 576, 577, 578, 700}}, {other, []int64{128, 256, 576, 577, 578, 800}}} {
		var got []int64
		c.tr.EachUnsettled(func(off int64) bool { got = append(got, off); return true })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("unsettled (-want +got):\n%s", diff)
		}
		for _, off := range c.want {
			if c.tr.Commit() != off {
				t.Errorf("Commit = %d, want %d", c.tr.Commit(), off)
			}
			c.tr.Settle(off)
		}
	}
}

func TestR20GapsAreCountedAnewBehindAWideGap(t *testing.T) {
	cfg := offsets.Config{Window: 1, MaxSpan: 200, GapBytes: 4}
	tr := offsets.NewTrackerConfig(cfg, 0, offsets.Settled{})
	m := newModel(cfg, 0, offsets.Settled{})
	for _, off := range []int64{0, 1, 2, 140, 600, 601, 602, 735} {
		tr.Receive(off)
		m.receive(off)
		if tr.Admits() != m.admits() {
			t.Errorf("after %d: Admits = %v", off, tr.Admits())
		}
	}
	for _, off := range []int64{0, 1, 2, 140} {
		tr.Settle(off)
		m.settle(off)
		if tr.Admits() != m.admits() {
			t.Errorf("%d settled: Admits = %v", off, tr.Admits())
		}
	}
	if tr.Commit() != 600 || m.gapBytes() != 5 {
		t.Errorf("commit %d, %d bytes: not the case that this is about", tr.Commit(), m.gapBytes())
	}
}

// takeOver is what the next owner makes of a commit.
func takeOver(t *testing.T, tr *offsets.Tracker) *offsets.Tracker {
	t.Helper()
	text := offsets.Metadata{Settled: tr.SettledSet()}.Encode(tr.Commit())
	if len(text) > offsets.MaxMetadata {
		t.Fatalf("metadata takes %d characters", len(text))
	}
	m, err := offsets.Decode(text, tr.Commit())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tr.SettledSet(), m.Settled); diff != "" {
		t.Fatalf("metadata (-sent +read):\n%s", diff)
	}
	return offsets.NewTracker(tr.Commit(), m.Settled)
}

func TestTheDensePathAllocatesNothing(t *testing.T) {
	tr := offsets.NewTracker(0, offsets.Settled{})
	const lag = 500
	off := int64(0)
	step := func() {
		if !tr.Admits() || !tr.Receive(off) {
			t.Fatal("not admitted")
		}
		tr.Settle(off - lag)
		off++
	}
	for range 2 * lag {
		step()
	}
	if n := testing.AllocsPerRun(10_000, step); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkReceiveSettle(b *testing.B) {
	for _, c := range []struct {
		name  string
		lag   int64
		stuck bool
	}{
		{"one at a time", 0, false},
		{"500 in flight", 500, false},
		{"500 in flight above a stuck record", 500, true},
		{"2000 in flight above a stuck record", 2000, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			tr := offsets.NewTracker(0, offsets.Settled{})
			off, stuck := int64(0), int64(-1)
			for b.Loop() {
				if c.stuck && !tr.Admits() { // the next one is stuck then
					tr.Settle(stuck)
					stuck = off
				}
				tr.Receive(off)
				if off-c.lag != stuck {
					tr.Settle(off - c.lag)
				}
				off++
			}
		})
	}
}

func BenchmarkAdmits(b *testing.B) {
	tr := offsets.NewTracker(0, offsets.Settled{})
	receive(tr, 900_000, func(i int64) bool { return i%400 == 0 })
	for b.Loop() {
		tr.Admits()
	}
}

func BenchmarkClone(b *testing.B) {
	tr := offsets.NewTrackerConfig(offsets.Config{Window: 8}, 0, offsets.SettledOf(0, 8, 1, 3))
	tr.Receive(0)
	b.ReportAllocs()
	for b.Loop() {
		tr = tr.Clone()
	}
}
