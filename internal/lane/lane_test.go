package lane_test

import (
	"testing"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

// topicID is the source topic's.
func topicID() origin.TopicID { return origin.TopicID{1} }

func open(tb testing.TB, cfg lane.Config, now int64) *lane.Machine {
	tb.Helper()
	if cfg.Stages == nil {
		cfg.Stages = []lane.Stage{{Delay: 5_000, Target: true}, {Delay: 60_000, Target: true}, {Delay: 600_000, Target: true}}
	}
	m := lane.New(cfg, lane.Inherited{Topic: topicID(), Parts: make([]lane.InheritedPart, 2+len(cfg.Stages)), Lane: offsets.LaneState{}}, now)
	for p := range 2 + len(cfg.Stages) {
		m.PartScanned(lane.Part(p))
	}
	m.MarksScanned()
	m.Flush(now)
	if m.WantsCommit() != lane.CommitNow {
		tb.Fatalf("after the scans: commit %v, phase %v", m.WantsCommit(), m.Phase())
	}
	c := m.Commit()
	m.Committed(c.Number)
	m.Flush(now)
	if m.Phase() != lane.Running {
		tb.Fatalf("phase %v after the take-over commit", m.Phase())
	}
	return m
}

func source(m *lane.Machine, offset int64, key uint64) lane.Copy {
	return lane.Copy{Offset: offset, Epoch: 0, Key: key, Keyed: true, ID: lane.ID{Offset: offset, Gen: m.Gen(topicID(), 0)}, Payload: offset}
}

func TestPlainPath(t *testing.T) {
	m := open(t, lane.Config{}, 1_000_000)
	copies := []lane.Copy{source(m, 0, 1), source(m, 1, 1), source(m, 2, 2)}
	if n := m.Fetched(lane.Source, copies, 3); n != 3 {
		t.Fatalf("admitted %d", n)
	}
	m.Flush(1_000_001)
	out := m.Out()
	if len(out.Starts) != 2 {
		t.Fatalf("starts %+v", out.Starts)
	}
	refs := []lane.Ref{out.Starts[0].Ref, out.Starts[1].Ref}
	out.Reset()
	m.ReturnedOK(refs)
	m.Flush(1_000_002)
	if len(out.Writes) != 1 || out.Writes[0].Kind != lane.ChunkMark || out.Writes[0].Bits.Count() != 2 {
		t.Fatalf("writes %+v", out.Writes)
	}
	token := out.Writes[0].Token
	out.Reset()
	m.Acked(token, 0)
	m.Flush(1_000_003)
	if len(out.Starts) != 1 || out.Starts[0].Payload != int64(1) {
		t.Fatalf("starts %+v", out.Starts)
	}
	_, lowest := m.Lag(lane.Source)
	if lowest != 1 {
		t.Errorf("lowest unsettled %d", lowest)
	}
}

const plainBatch = 500

// plain takes batches of records through a machine: read, run, settled.
type plain struct {
	m       *lane.Machine
	gen     lane.Gen
	payload any
	next    int64
	copies  [plainBatch]lane.Copy
	refs    []lane.Ref
}

func (p *plain) batch(tb testing.TB) {
	tb.Helper()
	for i := range p.copies {
		off := p.next + int64(i)
		p.copies[i] = lane.Copy{
			Offset: off, Key: uint64(off%100_000) * 0x9E3779B97F4A7C15, Keyed: true, ID: lane.ID{Offset: off, Gen: p.gen}, Payload: p.payload,
		}
	}
	p.next += plainBatch
	if got := p.m.Fetched(lane.Source, p.copies[:], p.next); got != plainBatch {
		tb.Fatalf("admitted %d", got)
	}
	p.m.Flush(1_000_000)
	p.refs = p.refs[:0]
	for _, s := range p.m.Out().Starts {
		p.refs = append(p.refs, s.Ref)
	}
	p.m.Out().Reset()
	p.m.ReturnedOK(p.refs)
	p.m.Flush(1_000_000)
	p.refs = p.refs[:0]
	for i := range p.m.Out().Writes {
		p.refs = append(p.refs, p.m.Out().Writes[i].Token)
	}
	p.m.Out().Reset()
	for _, w := range p.refs {
		p.m.Acked(w, 0)
	}
	p.m.Flush(1_000_000)
}

func BenchmarkPlainPath(b *testing.B) {
	for _, mode := range []struct {
		name string
		mode lane.Mode
	}{{"off", lane.Off}, {"dense", lane.RecordAfter}} {
		b.Run(mode.name, func(b *testing.B) {
			m := open(b, lane.Config{Mode: mode.mode}, 1_000_000)
			p := &plain{m: m, gen: m.Gen(topicID(), 0), payload: b}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += plainBatch {
				p.batch(b)
			}
		})
	}
}

func TestThePlainPathAllocatesNothing(t *testing.T) {
	for name, mode := range map[string]lane.Mode{"off": lane.Off, "dense marks": lane.RecordAfter} {
		t.Run(name, func(t *testing.T) {
			m := open(t, lane.Config{Mode: mode}, 1_000_000)
			p := &plain{m: m, gen: m.Gen(topicID(), 0), payload: t}
			for range 100 {
				p.batch(t) // the machine's tables grow to what they need
			}
			if n := testing.AllocsPerRun(100, func() { p.batch(t) }); n > 1 { // a chunk of 1,024 marks is new now and then
				t.Errorf("%.1f allocations for a batch of %d records", n, plainBatch)
			}
		})
	}
}
