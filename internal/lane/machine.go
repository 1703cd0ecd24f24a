package lane

import (
	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

// Phase is where a tenure stands.
type Phase uint8

// The phases, in the order in which a tenure goes through them.
const (
	Scanning Phase = iota // marks and copies are read (R25)
	Taking                // scanned; the take-over commit is not acknowledged yet (R24, R40)
	Running
	Giving  // no start, no fetch; what is under way ends (R18, R32)
	Leaving // the last commit is out
	Closed
)

// String returns the phase's name as metrics and logs show it.
func (p Phase) String() string {
	return [...]string{"scanning", "taking", "running", "giving", "leaving", "closed"}[p]
}

// part is one partition of the lane.
type part struct {
	tracker *offsets.Tracker
	epochs  offsets.Epochs
	topic   origin.TopicID
	scanned bool
	held    int  // idle fetched entries that wait for their due time or their turn
	unread  heap // known copies that were not fetched, by due time
}

// Machine is one tenure of one lane.
type Machine struct {
	cfg     Config
	targets []Part // stages that records are forwarded to, by growing delay

	phase   Phase
	tenure  int64
	number  int64 // the greatest tenure number that was seen anywhere (R40)
	opened  int64 // ms
	now     int64 // ms; of the last Flush
	topic   origin.TopicID
	gens    []generation
	genOf   map[genKey]Gen
	parts   []part
	marksIn bool // the idempotency partition has been scanned

	entries []entry
	payload []any         // parallel to entries
	x       []dedupe.Hash // parallel to entries; only with user keys
	more    map[int32]more
	free    []int32 // free entries: a stack
	touched uint64  // see touch.go
	live    int
	busy    int // entries in a step
	queues  queues
	ids     index
	parked  []parked
	work    []int32 // entries to look at again
	gated   []int32 // heads that wait for the source to pass their origin (R10)
	timers  heap

	marks     marks
	finished  recent
	furthest  int64 // greatest origin, in the present source, of a record that was found in a stage; -1 if none was
	replays   int   // known entries with run ≥ 1
	xbusy     map[dedupe.Hash]int32
	xwait     map[dedupe.Hash][]int32
	beyond    []ghost // settled copies that the metadata has no room for (R20)
	withheld  []place // settled as soon as the metadata speaks of their ghosts
	suspects  suspects
	displaced bool // a busy entry may stand behind the head of its queue

	commit  commits
	renewal bool    // the producer was replaced: nothing that carries the tenure is written until a commit shows a new one (R40)
	held    []int32 // entries and chunks whose write waits for that
	gone    bool    // the drain deadline has passed: do not wait for anything

	out   Out
	count Counts
}

// New returns a machine that waits for its scans.
func New(cfg Config, inherited Inherited, now int64) *Machine {
	m := &Machine{
		cfg: cfg.withDefaults(), furthest: -1, now: now, opened: now,
		topic: inherited.Topic, number: inherited.Lane.Tenure,
		genOf: map[genKey]Gen{}, more: map[int32]more{},
		xbusy: map[dedupe.Hash]int32{}, xwait: map[dedupe.Hash][]int32{},
	}
	m.marks.init(cfg)
	for i, s := range m.cfg.Stages {
		if s.Target {
			m.targets = append(m.targets, FirstStage+Part(i))
		}
	}
	for _, p := range inherited.Parts {
		m.parts = append(m.parts, part{
			tracker: offsets.NewTrackerConfig(m.cfg.Window, p.Offset, p.Settled),
			epochs:  p.Epochs, topic: p.Topic,
		})
	}
	m.parts[Source].scanned = true
	m.inheritSuspects(inherited.Lane)
	if m.cfg.Mode == Off {
		m.marksIn = true
	}
	return m
}

// Phase returns where the tenure stands.
func (m *Machine) Phase() Phase { return m.phase }

// Tenure returns the tenure's number (R40); 0 while scanning.
func (m *Machine) Tenure() int64 { return m.tenure }

// Counts counts records and copies since New. Every record that was taken up has ended in one of four ways or waits:
// Taken = Done + Dead + Skipped + Duplicates + Waiting.
type Counts struct {
	Taken      int64 // identities that were taken up: read from the source, or found elsewhere
	Found      int64 // of them, those that the take-over's scans found waiting
	Done       int64
	Dead       int64
	Skipped    int64
	Duplicates int64
	Waiting    int64 // identities that have not ended: a value, not a counter

	Read      int64 // copies that were fetched, from all parts
	Ghosts    int64 // copies that were no longer the live one of their identity
	Forwarded int64
	Followed  int64
	Snoozed   int64
}

// Counts returns the counters.
func (m *Machine) Counts() Counts {
	c := m.count
	c.Waiting = int64(m.live)
	return c
}

// Tick tells the time at which the calls that follow happen, up to the next Flush; now never goes back. A wait that a call
// begins is counted from then.
func (m *Machine) Tick(now int64) { m.now = max(m.now, now) }

// Flush does what has become possible and fills Out. It is called once after any number of other calls; now is in Unix
// milliseconds and never goes back.
func (m *Machine) Flush(now int64) {
	m.now = max(m.now, now)
	if m.phase == Closed {
		m.out.Reset() // R18, R23: nothing of an old tenure goes out
		return
	}
	m.expireTimers()
	m.checkTakeover()
	m.prune()
	for n := 0; n < len(m.work); n++ { //nolint:intrange // it grows on the way
		i := m.work[n]
		m.entries[i].flags &^= inWork
		m.advance(i)
	}
	m.work = m.work[:0]
	m.flushChunks()
	m.checkGiveUp()
}

// Out is what the machine wants done. The driver carries it out and empties it with Reset.
type Out struct {
	Starts []Start
	Writes []Write
}

// Out returns what has accumulated since the last Reset; it is valid until the next call of another method.
func (m *Machine) Out() *Out { return &m.out }

// Reset empties o and keeps its memory.
func (o *Out) Reset() {
	clear(o.Starts)
	clear(o.Writes)
	o.Starts, o.Writes = o.Starts[:0], o.Writes[:0]
}

// Start asks for a handler call.
type Start struct {
	Ref     Ref
	Payload any
	Attempt uint16 // attempts used before this one
	Part    Part   // where the copy stands; anything but the source is urgent
	Alone   bool   // nothing else runs in the whole process meanwhile (R35)
}

// Kind is what a write is for.
type Kind uint8

// The kinds of writes.
const (
	Forward      Kind = iota // the record into the replay or a stage topic
	DeadLetter               // the record into the dlt
	DoneMark                 // d|x|i|tenure
	TerminalMark             // t|i|tenure
	ClaimMark                // c|x|i|tries|tenure
	ClaimRelease             // a tombstone for that
	ChunkMark                // b|topic id|leader epoch|chunk|tenure
)

// Write asks for one record to be produced. The driver answers with [Machine.Acked] or [Machine.Failed]; it does not answer
// for what it still has when it gives the lane up.
type Write struct {
	Token   Ref
	Kind    Kind
	To      Part // of a forward
	ID      ID
	Hop     uint32
	Attempt uint16
	Snoozes uint16
	Due     int64
	Until   int64
	Since   int64
	Reason  Reason
	Force   bool
	Payload any // the record; nil for marks of chunks

	X      dedupe.Hash // of marks
	HasX   bool        // false: the key is the origin
	Tries  uint32      // of claims
	Tenure int64       // of marks

	Chunk ChunkID // of chunk marks
	Bits  dedupe.Bits
}
