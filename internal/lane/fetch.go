package lane

import "github.com/laneway-go/laneway/internal/offsets"

// Pause is why a part is not fetched.
type Pause uint8

// The reasons.
const (
	Open          Pause = iota
	NotRunning          // the take-over or the give-up is under way
	WindowFull          // R20
	ReplaysQueued       // enough replays wait for their turn (R7)
	NothingDue          // what comes next is due later (R44)
)

// String returns the reason as metrics show it; "" for an open part.
func (p Pause) String() string {
	return [...]string{"", "not_running", "window_full", "replays_queued", "nothing_due"}[p]
}

// Position returns the offset that a part is to be fetched from.
func (m *Machine) Position(p Part) int64 { return m.tracker(p).Position() }

// Fetch says whether a part is to be fetched now, and if not, why.
func (m *Machine) Fetch(p Part) Pause {
	switch {
	case m.phase != Running:
		return NotRunning
	case !m.tracker(p).Admits():
		return WindowFull
	case p == Replay && m.parts[Replay].held >= m.cfg.MaxReplays:
		return ReplaysQueued
	case p >= FirstStage && m.parts[p].held >= m.cfg.HeldValues:
		if due, waits := m.nextUnread(p); waits && due-m.cfg.FetchLead > m.now {
			return NothingDue
		}
	}
	return Open
}

// Resumes says whether a part that was full has so much room again that fetching it anew is worth its cost (R20).
func (m *Machine) Resumes(p Part) bool { return m.tracker(p).Resumes() }

// IsPastWaiting says whether the source has been read past the origin of everything that was found waiting: only then may its
// intake be stopped for long without that those records wait for it (R10, R44).
func (m *Machine) IsPastWaiting() bool { return m.tracker(Source).Position() > m.furthest }

// nextUnread returns when the first of the copies that are known in a stage, and were not fetched, is due.
func (m *Machine) nextUnread(p Part) (due int64, ok bool) {
	h := &m.parts[p].unread
	for len(*h) > 0 {
		t := (*h)[0]
		e := &m.entries[t.what.index()]
		if e.state != free && e.seq == t.what.seq() && e.part == p && !e.has(fetched) {
			return t.at, true
		}
		h.pop()
	}
	return 0, false
}

// Waiting returns how many known records wait in a stage, and how many of a part are held in memory.
func (m *Machine) Waiting(p Part) (held int) { return m.parts[p].held }

// Lag returns how many received records of a part are not settled, and the lowest of them (or the position).
func (m *Machine) Lag(p Part) (unsettled int, lowest int64) {
	t := m.tracker(p)
	return t.Unsettled(), t.Commit()
}

// Epochs returns the leader epochs of the records that were read from a part, newest first.
func (m *Machine) Epochs(p Part) offsets.Epochs { return m.parts[p].epochs }

// Reach returns the offset up to which the machine knows anything of a part: what it has read, and what it has inherited. If
// the log is another one from an offset below that on, the tenure has to end (R41).
func (m *Machine) Reach(p Part) int64 {
	t := m.tracker(p)
	return max(t.Position(), t.Inherited())
}

// Settled says whether nothing is owed for a copy at a place any more.
func (m *Machine) Settled(p Part, offset int64) bool { return m.tracker(p).Settled(offset) }
