package lane

import (
	"slices"

	"github.com/laneway-go/laneway/internal/offsets"
)

// suspects finds the record that kills its worker (R34, R35).
type suspects struct {
	unclean  int  // lives in a row that ended uncleanly, this one included until it is known better
	careful  bool // one record at a time
	reset    bool // this life has been long enough to be no crash loop
	running  ID   // committed as running
	isSet    bool
	list     []ID // died once while running alone in their lane
	convict  ID   // died twice
	hasGuilt bool
	named    bool // the group may still have a record committed as running
	turn     turn
}

// turn says whether a suspect of the lane may run: one at a time in the whole process, from the commit that names it to the one
// that no longer does. Else a death would count for all suspects that are named, and only one of them caused it (R35).
type turn uint8

const (
	noTurn turn = iota
	wantsTurn
	hasTurn
)

func (s *suspects) has(id ID) bool { return slices.Contains(s.list, id) }

// inheritSuspects reads what the lives before this one have committed. An identity that was running when its worker died is a
// suspect; a suspect is convicted.
func (m *Machine) inheritSuspects(l offsets.LaneState) {
	s := &m.suspects
	s.unclean = l.Unclean + 1
	s.careful = l.Unclean >= m.cfg.Careful
	for _, id := range l.Suspects {
		s.list = append(s.list, m.fromCommit(id))
	}
	if l.Running == nil {
		return
	}
	s.named = true
	s.running = m.fromCommit(*l.Running)
	if s.has(s.running) {
		// It stays named until it is in the dlt, so that a death before that does not forget the verdict.
		s.convict, s.hasGuilt, s.isSet = s.running, true, true
	} else {
		s.list = append(s.list, s.running) // it runs no more: another death in this life is not its own
	}
}

// WantsTurn says that a suspect could start, and waits for the turn of this lane. See [Config].Turns.
func (m *Machine) WantsTurn() bool { return m.suspects.turn == wantsTurn && m.phase == Running }

// GiveTurn lets a suspect of the lane start at the next Flush.
func (m *Machine) GiveTurn() {
	m.suspects.turn = hasTurn
	m.workGated()
}

// EndTurn gives the turn back, unless a record of the lane runs, or the group may still think so. It is asked after each Flush.
func (m *Machine) EndTurn() (ended bool) {
	s := &m.suspects
	if m.phase != Closed && (s.isSet || s.named || m.busyWithWork()) {
		return false
	}
	s.turn = noTurn
	return true
}

// survived notes that a handler call has come back: whatever kills the process now, it is not that record.
func (m *Machine) survived(id ID) {
	s := &m.suspects
	if !s.careful {
		return
	}
	if s.isSet && s.running == id && !s.hasGuilt {
		s.isSet = false
		m.commit.dirty = true
		m.commit.urgent = m.commit.urgent || s.turn == hasTurn
	}
	m.workGated()
}

func (m *Machine) fromCommit(id offsets.Identity) ID {
	return ID{Offset: id.Offset, Run: id.Run, Gen: m.Gen(id.TopicID, id.Epoch)}
}

func (m *Machine) toCommit(id ID) offsets.Identity {
	g := &m.gens[id.Gen]
	return offsets.Identity{TopicID: g.topic, Epoch: g.epoch, Offset: id.Offset, Run: id.Run}
}

// maySuspectStart lets one record of a careful lane go on at a time. A convict goes to the dlt.
func (m *Machine) maySuspectStart(i int32) bool {
	s := &m.suspects
	id := m.entries[i].id()
	switch {
	case s.hasGuilt && s.convict == id:
		m.bury(i, Crash)
		return false
	case m.busyWithWork():
		m.gated = append(m.gated, i)
		return false
	case m.cfg.Turns && s.has(id) && s.turn != hasTurn:
		s.turn = wantsTurn
		m.gated = append(m.gated, i)
		return false
	}
	return true
}

// busyWithWork says whether a handler of the lane runs or is about to.
func (m *Machine) busyWithWork() bool {
	for i := range m.entries {
		switch m.entries[i].state {
		case arming, claiming, fencing, running, marking:
			return true
		case free, idle, forwarding, following, burying, closing, releasing:
		}
	}
	return false
}

// arm commits a record's name before it runs.
func (m *Machine) arm(i int32) {
	m.step(i, arming)
	m.suspects.running, m.suspects.isSet = m.entries[i].id(), true
	x := m.ext(i)
	x.fence = m.commit.sent + 1
	m.setExt(i, x)
	m.commit.awaiting = append(m.commit.awaiting, i)
	m.commit.urgent = true
}

// armed goes on after that commit has succeeded.
func (m *Machine) armed(i int32) {
	switch {
	case m.phase != Running:
		m.step(i, idle)
	case m.cfg.Mode == ClaimFirst:
		m.claim(i)
	default:
		m.start(i)
	}
}

// acquit clears a record that has ended without killing anybody. The one that was convicted ends the search.
func (m *Machine) acquit(id ID) {
	s := &m.suspects
	if len(s.list) == 0 && !s.isSet {
		return
	}
	if s.isSet && s.running == id {
		s.isSet = false
		m.commit.urgent = m.commit.urgent || s.turn == hasTurn
	}
	s.list = slices.DeleteFunc(s.list, func(k ID) bool { return k == id })
	if s.hasGuilt && s.convict == id {
		s.hasGuilt, s.careful = false, false
		s.unclean = 1
	}
	m.commit.dirty = true
	m.workAll()
}

// outlived ends the search when this life has lasted long enough (R34).
func (m *Machine) outlived() {
	s := &m.suspects
	if s.reset || m.now-m.opened < m.cfg.LongLife {
		return
	}
	s.reset, s.careful = true, false
	s.unclean = 0
	m.commit.dirty = true
	m.workAll()
}

// workAll looks again at everything that may start.
func (m *Machine) workAll() {
	m.workGated()
	for i := range m.entries {
		if m.entries[i].state == idle && m.entries[i].isHead() {
			m.enqueue(int32(i))
		}
	}
}
