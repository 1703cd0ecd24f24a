package lane_test

import (
	"testing"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
)

// R34: a give-up that leaves a handler behind is no clean one.
func TestAGiveUpThatLeavesAHandlerBehindIsNotClean(t *testing.T) {
	m := open(t, lane.Config{}, 1_000_000)
	m.Fetched(lane.Source, []lane.Copy{source(m, 0, 1)}, 1)
	m.Flush(1_000_001)
	if len(m.Out().Starts) != 1 {
		t.Fatal("no start")
	}
	m.Out().Reset()
	m.GiveUp()
	m.Flush(1_000_002)
	m.Abandon()
	m.Flush(1_000_003)
	if m.Phase() != lane.Leaving {
		t.Fatalf("%v", m.Phase())
	}
	if l := laneMeta(t, m.Commit()); l.Unclean == 0 {
		t.Errorf("unclean lives %d with a handler that still runs", l.Unclean)
	}
}

// R8/L7: the window of a stage is exactly full when the fetch ends.
func TestAStageWhoseWindowIsFilledExactlyGoesOn(t *testing.T) {
	cfg := lane.Config{Window: offsets.Config{Window: 2, GapBytes: -1}, Stages: []lane.Stage{{Delay: 5000, Target: true}, {Delay: 60000, Target: true}}}
	in := lane.Inherited{Topic: topicID(), Parts: make([]lane.InheritedPart, 4)}
	m := lane.New(cfg, in, 1_000_000)
	g := m.Gen(topicID(), 0)
	r := lane.Copy{Offset: 0, Key: 7, Keyed: true, ID: lane.ID{Offset: 1, Gen: g}, Hop: 1, Payload: 1}
	y := lane.Copy{Offset: 1, Key: 8, Keyed: true, ID: lane.ID{Offset: 3, Gen: g}, Hop: 1, Payload: 3}
	p := lane.Copy{Offset: 3, Key: 8, Keyed: true, ID: lane.ID{Offset: 2, Gen: g}, Hop: 1, Attempt: 1, Payload: 2}
	q := lane.Copy{Offset: 2, Key: 7, Keyed: true, ID: lane.ID{Offset: 0, Gen: g}, Hop: 1, Attempt: 1, Payload: 0}
	m.Scanned(lane.FirstStage, []lane.Copy{r, y, q, p})
	for p := range 4 {
		m.PartScanned(lane.Part(p))
	}
	m.MarksScanned()
	now := int64(1_000_000)
	m.Flush(now)
	c := m.Commit()
	m.Committed(c.Number)
	m.Flush(now)
	for o, k := range []uint64{7, 7, 8, 8} {
		m.Fetched(lane.Source, []lane.Copy{source(m, int64(o), k)}, int64(o)+1)
		m.Flush(now)
	}
	if n := m.Fetched(lane.FirstStage, []lane.Copy{r}, 1); n != 1 {
		t.Fatal(n)
	}
	m.Flush(now)
	if n := m.Fetched(lane.FirstStage, []lane.Copy{y}, 2); n != 1 {
		t.Fatal(n)
	}
	m.Flush(now)
	for _, w := range m.Out().Writes { // y is written behind p
		t.Logf("%v of %v", w.Kind, w.ID)
	}
	if len(m.Out().Writes) == 1 {
		tok := m.Out().Writes[0].Token
		m.Out().Reset()
		m.Acked(tok, 4)
		m.Flush(now)
	}
	t.Logf("fetch %v, writes %d", m.Fetch(lane.FirstStage), len(m.Out().Writes))
	m.Flush(now + 3_600_000)
	if m.Fetch(lane.FirstStage) == lane.WindowFull && len(m.Out().Writes) == 0 && len(m.Out().Starts) == 0 {
		t.Errorf("stage is not fetched (%v), nothing is written or started: stands still for ever", m.Fetch(lane.FirstStage))
	}
}

// R39: one write of a chunk in flight.
func TestOneWriteOfAChunkIsInFlightAfterAPauseAndAFailure(t *testing.T) {
	m := open(t, lane.Config{MarkPause: 5}, 1_000_000)
	now := int64(1_000_000)
	var copies []lane.Copy
	for i := range int64(40) {
		copies = append(copies, source(m, i, uint64(i+1)))
	}
	copies = append(copies, source(m, 40, 1)) // behind record 0
	m.Fetched(lane.Source, copies, 41)
	m.Flush(now)
	var refs []lane.Ref
	for _, s := range m.Out().Starts {
		refs = append(refs, s.Ref)
	}
	m.Out().Reset()
	inFlight := map[lane.Ref]bool{}
	var last lane.Ref
	step := func(what string) {
		m.Flush(now)
		for _, w := range m.Out().Writes {
			if w.Kind == lane.ChunkMark {
				inFlight[w.Token] = true
				last = w.Token
				t.Logf("t=%d %s: chunk write %d bits %d", now-1_000_000, what, w.Token, w.Bits.Count())
			}
		}
		m.Out().Reset()
		if len(inFlight) > 1 {
			t.Errorf("t=%d %s: %d writes of one chunk in flight", now-1_000_000, what, len(inFlight))
		}
	}
	// the first write sets began
	m.ReturnedOK(refs[1:2])
	step("first")
	for k := range inFlight {
		m.Acked(k, 0)
		delete(inFlight, k)
	}
	now++ // pause until t=5
	m.ReturnedOK(refs[2:30])
	step("linger 1")
	now++
	m.ReturnedOK(refs[30:35])
	step("linger 2")
	m.ReturnedOK(refs[0:1]) // somebody waits behind it; 8*1 < 34, so linger on
	step("linger 3")
	// 8*awaited >= waiting is needed: use give-up instead of waiting keys: Running only lingers
	m.GiveUp()
	step("give-up sends at once")
	if len(inFlight) != 1 {
		t.Fatalf("in flight %d", len(inFlight))
	}
	now++
	m.Failed(last, now)
	delete(inFlight, last)
	for now < 1_000_000+250 {
		now++
		step("tick")
	}
}

// A chunk write that the topic refuses for its size is made again.
func TestARefusedChunkIsWrittenAgain(t *testing.T) {
	m := open(t, lane.Config{}, 1_000_000)
	m.Fetched(lane.Source, []lane.Copy{source(m, 0, 1)}, 1)
	m.Flush(1_000_000)
	m.ReturnedOK([]lane.Ref{m.Out().Starts[0].Ref})
	m.Out().Reset()
	m.Flush(1_000_000)
	token := m.Out().Writes[0].Token
	m.Out().Reset()
	m.Refused(token)
	m.Flush(1_000_000 + 3_600_000)
	if len(m.Out().Writes) == 0 {
		t.Error("the chunk is never written again: its records never settle")
	}
}

// R32, R40: the release names the claim's own tenure.
func TestAReleaseNamesTheClaimThatWasWritten(t *testing.T) {
	m := open(t, lane.Config{Mode: lane.ClaimFirst}, 1_000_000)
	m.Fetched(lane.Source, []lane.Copy{source(m, 0, 1)}, 1)
	m.Flush(1_000_000)
	w := m.Out().Writes[0]
	m.Out().Reset()
	m.Acked(w.Token, 0)
	m.Flush(1_000_000)
	c := m.Commit()
	m.Committed(c.Number)
	m.Flush(1_000_000)
	ref := m.Out().Starts[0].Ref
	m.Out().Reset()
	m.RenewTenure(1_000_001)
	c = m.Commit()
	m.Committed(c.Number)
	m.Flush(1_000_001)
	m.GiveUp()
	m.Returned(ref, lane.Outcome{Kind: lane.Unstarted})
	m.Flush(1_000_002)
	r := m.Out().Writes[0]
	if r.Kind != lane.ClaimRelease || r.Tenure != w.Tenure || r.Tries != w.Tries {
		t.Errorf("claim of tenure %d is released as one of tenure %d", w.Tenure, r.Tenure)
	}
}

func laneMeta(t *testing.T, c lane.Commit) *offsets.LaneState {
	t.Helper()
	m, err := offsets.Decode(c.Parts[0].Metadata, c.Parts[0].Offset)
	if err != nil {
		t.Fatal(err)
	}
	return m.Lane
}
