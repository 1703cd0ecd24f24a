package main

import (
	"slices"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
)

// What a driver reads: commits at the take-over, logs in scans and fetches.

// takeOver makes a new owner from what the group has committed (R24, R41).
func (s *state) takeOver() {
	in := lane.Inherited{Topic: topicID(s.w.sourceTopic(s.version)), Parts: make([]lane.InheritedPart, s.w.parts())}
	for p := range in.Parts {
		in.Parts[p].Topic = topicID(9)
	}
	in.Parts[lane.Source].Topic = in.Topic
	switch {
	case s.committed != nil:
		s.inherit(&in)
	case s.w.latest:
		in.Parts[lane.Source].Offset = int64(len(s.logs[lane.Source]))
	}
	cfg := s.w.cfg
	if s.w.dropped && s.hist.owners > 0 {
		cfg.Stages = slices.Clone(cfg.Stages)
		cfg.Stages[len(cfg.Stages)-1].Target = false
	}
	s.hist.owners++
	p := &process{m: lane.New(cfg, in, s.now), version: s.version, soon: s.w.commits, scanned: 1}
	p.ends[lane.Source] = in.Parts[lane.Source].Offset
	p.careful = in.Lane.Unclean >= s.w.careful
	s.owner = p
	s.flush(p, 0)
}

// inherit reads the committed offsets and metadata, and fits those of the source to its log.
func (s *state) inherit(in *lane.Inherited) {
	c := s.committed
	for p := range in.Parts {
		in.Parts[p].Offset, in.Parts[p].Settled, in.Parts[p].Epochs = c.commits[p].Offset, c.parts[p].Settled, c.parts[p].Epochs
	}
	if l := c.parts[lane.Source].Lane; l != nil {
		in.Lane = *l
	}
	src := &in.Parts[lane.Source]
	if c.parts[lane.Source].TopicID != in.Topic {
		*src = lane.InheritedPart{Topic: in.Topic}
		return
	}
	fork, known := s.fork(src.Epochs)
	switch {
	case !known:
		*src = lane.InheritedPart{Topic: in.Topic}
	case fork < src.Offset || fork < src.Settled.Upto:
		src.Offset, src.Settled, src.Epochs = min(src.Offset, fork), src.Settled.Below(fork), src.Epochs.Below(fork)
	}
	src.Offset = min(src.Offset, int64(len(s.logs[lane.Source])))
}

func (s *state) fork(epochs offsets.Epochs) (fork int64, known bool) {
	return offsets.Fork(epochs, func(epoch int32) (int32, int64, bool) { return s.w.epochEnd(s.version, epoch) })
}

// notice tells a process that the source's log is another one. If it was cut below what the process has read, the tenure ends.
func (s *state) notice(p *process, who uint8) {
	same := s.w.sourceTopic(p.version) == s.w.sourceTopic(s.version)
	fork, known := s.fork(p.m.Epochs(lane.Source))
	if same && known && fork >= p.m.Reach(lane.Source) {
		p.version = s.version
		s.tellEpochEnds(p)
		s.flush(p, who)
		return
	}
	p.m.Lost()
	s.flush(p, who)
}

// scanAll reads all parts to their ends; marksFirst: the idempotency topic before the others.
func (s *state) scanAll(p *process, marksFirst bool) {
	if marksFirst {
		s.scan(p, marksPart)
	}
	for part := 1; part < s.w.parts(); part++ {
		s.scan(p, part)
		s.flush(p, 0)
	}
	if !marksFirst {
		s.scan(p, marksPart)
	}
}

// scan reads one part, or the marks.
func (s *state) scan(p *process, part int) {
	p.scanned |= 1 << part
	if part == marksPart {
		if !s.w.remembers() {
			return
		}
		for _, k := range s.marks {
			p.m.Marked(s.w.forMachine(p.m, k))
		}
		p.done, p.closed = s.done(), s.closed()
		s.hist.done |= p.done
		s.hist.closed |= p.closed
		p.m.MarksScanned()
	} else {
		log := s.logs[part]
		var copies []lane.Copy
		for offset := int(p.m.Position(lane.Part(part))); offset < len(log); offset++ {
			copies = append(copies, s.forMachine(p.m, lane.Part(part), offset, false))
		}
		p.m.Scanned(lane.Part(part), copies)
		p.m.PartScanned(lane.Part(part))
		p.ends[part] = int64(len(log))
	}
	if s.scannedAll(p) {
		s.tellEpochEnds(p)
	}
}

func (s *state) scannedAll(p *process) bool {
	all := uint8(1<<s.w.parts() - 1)
	if s.w.remembers() {
		all |= 1 << marksPart
	}
	return p.scanned&all == all
}

// tellEpochEnds answers where the older epochs end whose records wait in the stages (R10).
func (s *state) tellEpochEnds(p *process) {
	current := int32(s.version) // an election is a new epoch, also before anything is written in it
	if s.w.topics != nil {
		current = 0
	}
	for _, c := range s.logs[lane.Source] {
		current = max(current, s.w.records[c.id.record()].epoch)
	}
	for _, epoch := range p.m.Generations() {
		if answered, end, known := s.w.epochEnd(s.version, epoch); epoch != current {
			if !known || answered < 0 {
				end = 0
			}
			p.m.EpochEnds(epoch, end)
		}
	}
}

// fetch reads the next n copies of a part.
func (s *state) fetch(p *process, part lane.Part, n int) {
	from := int(p.m.Position(part))
	copies := make([]lane.Copy, 0, n)
	for offset := from; offset < from+n; offset++ {
		copies = append(copies, s.forMachine(p.m, part, offset, true))
	}
	if got := p.m.Fetched(part, copies, int64(from+n)); got == 0 {
		broken("L7: %s is open, and nothing of it is admitted", s.w.place(part, int64(from)))
	}
	p.ends[part] = max(p.ends[part], p.m.Position(part))
}

// forMachine returns a copy as the driver hands it in.
func (s *state) forMachine(m *lane.Machine, part lane.Part, offset int, withValue bool) lane.Copy {
	c := &s.logs[part][offset]
	r := &s.w.records[c.id.record()]
	out := lane.Copy{
		Offset: int64(offset), Key: uint64(r.key) * 0x9E3779B97F4A7C15, Keyed: r.key != 0, ID: s.w.laneID(m, c.id),
		Hop: uint32(c.hop), Attempt: uint16(c.used), Snoozes: uint16(c.tries - c.used), Force: c.force, Due: c.due, Until: c.until,
		Broken: r.garbage,
	}
	if part == lane.Source {
		out.Epoch = r.epoch
	}
	if c.since {
		out.Since = 1
	}
	out.X, out.HasX = s.w.userX(c.id)
	if withValue {
		out.Payload = valueAt(part, offset, c.id)
	}
	return out
}

// value stands for a record as it was fetched: its part, and its offset there or, in the source, its number, because another
// record may have its offset later.
type value uint8

func valueAt(part lane.Part, offset int, id identity) value {
	if part == lane.Source {
		return value(id.record())
	}
	return value(part)<<5 | value(offset)
}

// valueOf returns the copy that was fetched, and its place.
func (s *state) valueOf(v value) (c copyOf, part lane.Part, offset int64) {
	if part = lane.Part(v >> 5); part == lane.Source {
		return copyOf{id: idOf(int(v), 0)}, part, s.w.records[v].offset
	}
	return s.logs[part][v&31], part, int64(v & 31)
}
