package lane

import (
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

// Inherited is what the group had committed for the lane when the tenure began.
type Inherited struct {
	Topic origin.TopicID  // of the source, as its name means it today
	Parts []InheritedPart // by Part: source, replay, stages
	Lane  offsets.LaneState
}

// InheritedPart is what was committed for one part. The driver has resolved what was missing or does not fit the log of today
// (R24, R41).
type InheritedPart struct {
	Topic   origin.TopicID
	Offset  int64
	Settled offsets.Settled
	Epochs  offsets.Epochs
}

// commits is the state of the lane's offset commits (R22).
type commits struct {
	sent     uint64 // number of the last snapshot
	acked    uint64
	inFlight bool
	source   int64   // offset of the source in the last snapshot
	stored   int64   // offset of the source in the last one that was acknowledged
	dirty    bool    // something has changed since the last snapshot
	urgent   bool    // something waits for the next one
	awaiting []int32 // entries that wait for a commit: arming, fencing
	last     bool    // the snapshot in flight is the one of a clean give-up
	names    bool    // the snapshot in flight names a record as running (R35)
}

// Commit is one snapshot of the lane: it is stored whole or not at all.
type Commit struct {
	Number uint64
	Tenure int64
	Parts  []PartCommit // by Part
}

// PartCommit is what is committed for one part.
type PartCommit struct {
	Offset   int64
	Epoch    int32 // leader epoch of the record before it; -1 if unknown
	Metadata string
}

// CommitState says whether the lane wants a commit: not at all, when it is convenient, or at once.
type CommitState uint8

// The states.
const (
	NoCommit CommitState = iota
	CommitSoon
	CommitNow
)

// WantsCommit says whether [Machine.Commit] should be called.
func (m *Machine) WantsCommit() CommitState {
	c := &m.commit
	switch {
	case c.inFlight || m.phase == Scanning || m.phase == Closed:
		return NoCommit
	case c.urgent:
		return CommitNow
	case c.dirty:
		return CommitSoon
	}
	return NoCommit
}

// MayRepeatCommit says whether a commit can be sent although nothing has changed.
func (m *Machine) MayRepeatCommit() bool { return m.phase == Running && !m.commit.inFlight }

// Commit returns a snapshot to be committed. The driver answers with [Machine.Committed] or [Machine.CommitFailed].
func (m *Machine) Commit() Commit {
	c := &m.commit
	c.sent++
	c.inFlight, c.dirty, c.urgent = true, false, false
	c.last = m.phase == Leaving
	c.names = !c.last && m.suspects.isSet
	out := Commit{Number: c.sent, Tenure: m.number, Parts: make([]PartCommit, len(m.parts))}
	for p := range m.parts {
		out.Parts[p] = m.snapshot(Part(p))
	}
	c.source = out.Parts[Source].Offset
	return out
}

func (m *Machine) snapshot(p Part) PartCommit {
	k := &m.parts[p]
	meta := offsets.Metadata{TopicID: k.topic, Epochs: k.epochs.From(k.tracker.Commit()), Settled: k.tracker.SettledSet()}
	if p == Source {
		meta.Lane = m.laneState()
	}
	offset := k.tracker.Commit()
	epoch := int32(-1)
	for _, s := range k.epochs {
		if s.First < offset {
			epoch = s.Epoch
			break
		}
	}
	return PartCommit{Offset: offset, Epoch: epoch, Metadata: meta.Encode(offset)}
}

func (m *Machine) laneState() *offsets.LaneState {
	s := &m.suspects
	l := &offsets.LaneState{Tenure: m.number, Unclean: s.unclean}
	if m.commit.last && (!m.gone || !m.busyWithWork()) {
		l.Unclean = 0
	} else if s.isSet {
		id := m.toCommit(s.running)
		l.Running = &id
	}
	for _, id := range s.list {
		l.Suspects = append(l.Suspects, m.toCommit(id))
	}
	return l
}

// Committed tells that a snapshot was stored for every partition of the lane, in the owner's generation.
func (m *Machine) Committed(number uint64) {
	c := &m.commit
	if number != c.sent || !c.inFlight {
		return
	}
	c.acked, c.inFlight = number, false
	c.stored = c.source
	m.suspects.named = c.names
	if m.renewal && m.phase >= Taking {
		m.renewed()
	}
	switch m.phase {
	case Taking:
		m.taken()
	case Leaving:
		if c.last {
			m.phase = Closed
			return
		}
	case Scanning, Running, Giving, Closed:
	}
	waiting := c.awaiting
	c.awaiting = nil
	for _, i := range waiting {
		switch e := &m.entries[i]; {
		case m.ext(i).fence > number:
			c.awaiting = append(c.awaiting, i)
			c.urgent = true
		case e.state == arming:
			m.armed(i)
		case e.state == fencing:
			m.fenced(i)
		}
	}
}

// CommitFailed tells that a snapshot was refused for a partition at least, or that nobody knows. The whole lane is sent again,
// as it is by then (R22).
func (m *Machine) CommitFailed(number uint64) {
	c := &m.commit
	if number != c.sent || !c.inFlight {
		return
	}
	c.inFlight, c.dirty = false, true
	m.suspects.named = m.suspects.named || c.names
	c.urgent = c.urgent || len(c.awaiting) > 0 || m.phase == Taking || m.phase == Leaving || m.renewal
}

// RenewTenure tells that the producer client, or its producer id, was replaced: a write that was given up may still land after
// its repetition. Nothing that carries the tenure's number is written until a commit has shown a new one (R40).
func (m *Machine) RenewTenure(now int64) {
	if m.phase < Taking || m.phase == Closed {
		return
	}
	m.number = max(m.number+1, now/1000)
	m.renewal = true
	m.commit.urgent = true
	if m.commit.inFlight {
		m.suspects.named = m.suspects.named || m.commit.names
		m.commit.sent++ // the snapshot in flight does not show it: its answer says nothing
		m.commit.inFlight = false
	}
}

func (m *Machine) renewed() {
	m.renewal = false
	m.tenure = m.number
	held := m.held
	m.held = nil
	for _, i := range held {
		if i&chunkBit != 0 {
			m.retryHeld(i &^ chunkBit)
			continue
		}
		m.rewrite(i)
	}
}
