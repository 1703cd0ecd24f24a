package main

import (
	"slices"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
)

// state is everything at one moment: the broker's logs and commits, at most one owner and one zombie, what has happened, and
// what the environment may still do. States are values: a step makes a new one, and what it does not change is shared.
type state struct {
	w   *world
	now int64 // ms

	version   int // of the source's log: how often it was cut
	present   int // records that the source has; all but in worlds that start at its end
	logs      [maxParts][]copyOf
	dlt       []dead
	marks     []mark // the newest of each key, sorted by key: compaction has been everywhere at once
	committed *committed
	began     int // source offset from which on records are owed to anybody; -1: nothing was promised yet

	owner  *process
	zombie *process
	late   []write // of dead owners, on their way

	hist history
	left budget
}

// budget is what the environment may still do.
type budget struct {
	crashes, losses, zombie, late, broken, unheard, snoozed, replays, giveUps, renewals, refused, partly, forgets, kills int8
	again                                                                                                                bool
}

// copyOf is a record at one place of a log.
type copyOf struct {
	id               identity
	hop, tries, used uint8 // used: attempts; tries: attempts and snoozes
	force            bool
	due, until       int64
	since            bool
}

// dead is a record of the dead letter topic.
type dead struct {
	id     identity
	reason lane.Reason
}

// committed is what the group has committed for the lane. It is never changed once stored.
type committed struct {
	version int // of the source's log
	commits []lane.PartCommit
	parts   []offsets.Metadata // the same, read back
}

// settles says whether the commit has a place as settled. The source counts as far as its log is the one that was read.
func (c *committed) settles(p lane.Part, offset int64) bool {
	return c != nil && (offset < c.commits[p].Offset || c.parts[p].Settled.Contains(offset))
}

// history is what has happened, as somebody outside sees it.
type history struct {
	calls   [maxIDs]uint8 // handler calls that began
	effects idSet         // identities whose handler has succeeded, for whomever
	maybe   idSet         // by idempotency key: an effect may have taken place (C1)
	done    idSet         // by idempotency key: an owner has known a durable done mark
	closed  idSet         // an owner has known a durable terminal mark
	skipped idSet         // the handler did not want them
	lasts   [maxRecords]uint8
	nLasts  uint8 // records in the order of their last ends
	crashes uint8 // unclean ends of owners
	forgot  idSet // idempotency keys and identities whose marks were forgotten
	over    idSet // identities that an owner has known to be finished, by their marks
	owners  uint8 // how many there were; counted where it matters
}

// idSet is a set of identities, or of idempotency keys.
type idSet uint32

func (s idSet) has(i uint8) bool    { return s>>i&1 == 1 }
func (s idSet) with(i uint8) idSet  { return s | 1<<i }
func (s idSet) minus(i uint8) idSet { return s &^ (1 << i) }

// ends notes that a record has taken effect or has gone to the dlt, for its owner.
func (h *history) ends(record int) {
	list := h.lasts[:h.nLasts]
	if i := slices.Index(list, uint8(record)); i >= 0 {
		copy(list[i:], list[i+1:])
		list[len(list)-1] = uint8(record)
		return
	}
	h.lasts[h.nLasts] = uint8(record)
	h.nLasts++
}

// process is an owner of the lane: the machine and what is around it in its process.
type process struct {
	m        *lane.Machine
	version  int // of the source's log that it reads
	writes   []write
	calls    []call
	commit   *snapshot // in flight
	soon     int       // commits that it may still make without need
	scanned  uint8     // parts, a bit each
	ends     [maxParts]int64
	done     idSet // by idempotency key: done marks that it has read or written
	closed   idSet // terminal marks
	finished idSet // identities that it has settled for good
	careful  bool
	at       int64 // ms; when it last did something
	print    uint64
}

// call is a handler call that is out.
type call struct {
	ref lane.Ref
	id  identity
}

type snapshot struct {
	lane.Commit
	version int
}

// write is a write that a process has asked for and has no answer to.
type write struct {
	token  lane.Ref
	kind   lane.Kind
	to     lane.Part
	copy   copyOf
	reason lane.Reason
	mark   mark
	landed bool
	offset int64
}

// clone returns a state that may be changed; its processes are still shared.
func (s *state) clone() *state {
	c := *s
	return &c
}

// mine makes a process of a cloned state one's own.
func mine(p **process) *process {
	c := **p
	c.m = c.m.Clone()
	c.writes = slices.Clone(c.writes)
	c.calls = slices.Clone(c.calls)
	*p = &c
	return &c
}

// who returns the owner (0) or the zombie (1).
func (s *state) who(n uint8) **process {
	if n == 0 {
		return &s.owner
	}
	return &s.zombie
}

// put appends to a log that other states share.
func put[E any](log []E, e E) []E { return append(log[:len(log):len(log)], e) }

// remove takes element i out of a list that other states share.
func remove[E any](list []E, i int) []E {
	return append(list[:i:i], list[i+1:]...)
}

// initial returns the state in which a world begins.
func (w *world) initial() *state {
	s := &state{
		w: w, began: 0, present: len(w.logs[0]),
		left: budget{
			crashes: int8(w.crashes), losses: int8(w.losses), late: int8(w.late), broken: int8(w.broken),
			unheard: int8(w.unheard), snoozed: int8(w.snoozed), replays: int8(w.replays), giveUps: int8(w.giveUps),
			renewals: int8(w.renewals), refused: int8(w.refused), partly: int8(w.partly), forgets: int8(w.forgets), kills: int8(w.kills), again: w.again,
		},
	}
	if w.latest {
		s.began, s.present = -1, w.present
	}
	s.readSource()
	return s
}

// readSource makes the source's log that of the present version.
func (s *state) readSource() {
	log := s.w.logs[s.version]
	s.logs[lane.Source] = nil
	for _, r := range log[:min(s.present, len(log))] {
		s.logs[lane.Source] = put(s.logs[lane.Source], copyOf{id: idOf(r, 0)})
	}
}
