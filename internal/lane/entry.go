package lane

import "github.com/laneway-go/laneway/dedupe"

const none = int32(-1)

// Ref names a step of an entry (or a write of a chunk): the answer to an older step is recognized and ignored.
type Ref uint64

func makeRef(i int32, seq uint32) Ref { return Ref(uint32(i))<<32 | Ref(seq) }

const chunkBit = int32(1) << 30 // in the index of a Ref: it names a chunk

func (r Ref) index() int32 { return int32(r >> 32) }

// Entry returns the number of the entry that a reference belongs to. It stays the same from step to step until the record has
// ended; then another record may have it.
func (r Ref) Entry() int32 { return r.index() }

func (r Ref) seq() uint32 { return uint32(r) }

// state is the step that an entry is in. Everything but free and idle is busy.
type state uint8

const (
	free state = iota
	idle
	arming     // careful: its name is being committed as running (R35)
	claiming   // its claim is being written (R29)
	fencing    // its claim is acked, a commit that was sent after that is awaited (R31)
	running    // its handler runs
	marking    // its done mark is being written
	forwarding // its next copy is being written, after a failure or a snooze
	following  // its next copy is being written, behind its predecessor's (R8)
	burying    // its dlt copy is being written
	closing    // its terminal mark is being written
	releasing  // its claim is being released (R32)
)

type flags uint8

const (
	fetched  flags = 1 << iota // the copy at its place was read in this tenure: R6
	keyed                      // it stands in the queue of its key
	forced                     // a replay that runs although another identity is done
	hasX                       // its idempotency key is the user's
	indexed                    // m.ids knows it
	inWork                     // m.work holds it
	extended                   // m.more has something about it
	timed                      // m.timers holds its due time
)

// entry is the machine's memory of one identity: its live copy and its step. 64 bytes; ten million records may wait (R44).
type entry struct {
	key     uint64
	offset  int64 // place: offset in part
	origin  int64
	due     int64
	prev    int32 // in the queue of the key: see queue.go
	next    int32
	seq     uint32
	run     uint32
	hop     uint32
	gen     Gen
	attempt uint16
	snoozes uint16
	part    Part
	state   state
	flags   flags
	arg     uint8 // forwarding, following: the target part; burying, closing: the reason
}

// more is what few entries need.
type more struct {
	until  int64  // end of a long snooze
	since  int64  // first failure
	fails  int    // failed writes of the present step
	fence  uint64 // commit that must be acknowledged before it goes on: arming, fencing
	tries  uint32 // of the claim that is out
	claim  bool   // a claim of this tenure is out
	named  int64  // tenure number in that claim
	broken bool   // not readable: it goes to the dlt as undecodable
}

// place is a copy's place.
type place struct {
	id     ID
	part   Part
	offset int64
}

func (e *entry) id() ID           { return ID{Offset: e.origin, Run: e.run, Gen: e.gen} }
func (e *entry) has(f flags) bool { return e.flags&f != 0 }
func (e *entry) isBusy() bool     { return e.state > idle }
func (e *entry) tries() uint32    { return uint32(e.attempt) + uint32(e.snoozes) }

// isRunning says whether the entry is busy other than as a follower: R6, R12.
func (e *entry) holdsKey() bool { return e.state > idle && e.state != following }

// alloc returns a free entry, the one that was freed last.
func (m *Machine) alloc() int32 {
	m.live++
	if n := len(m.free) - 1; n >= 0 {
		i := m.free[n]
		m.free = m.free[:n]
		return i
	}
	m.entries = append(m.entries, entry{})
	m.payload = append(m.payload, nil)
	if m.cfg.UserKeys {
		m.x = append(m.x, dedupe.Hash{})
	}
	return int32(len(m.entries) - 1)
}

// release forgets an entry that stands in no queue.
func (m *Machine) release(i int32) {
	e := &m.entries[i]
	if e.has(indexed) {
		m.ids.remove(m, i)
	}
	if e.has(extended) {
		delete(m.more, i)
	}
	if e.state == idle {
		m.unhold(e)
	}
	if e.run > 0 {
		m.replays--
	}
	m.payload[i] = nil
	*e = entry{state: free, seq: e.seq + 1, flags: e.flags & inWork}
	m.free = append(m.free, i)
	m.live--
}

func (m *Machine) ext(i int32) more { return m.more[i] }

func (m *Machine) setExt(i int32, x more) {
	m.more[i] = x
	m.entries[i].flags |= extended
}

// enqueue puts an entry on the list of those to look at again.
func (m *Machine) enqueue(i int32) {
	if i == none {
		return
	}
	if e := &m.entries[i]; e.state != free && !e.has(inWork) {
		e.flags |= inWork
		m.work = append(m.work, i)
	}
}

// step begins a new step of an entry and returns its name.
func (m *Machine) step(i int32, s state) Ref {
	e := &m.entries[i]
	switch {
	case e.state <= idle && s > idle:
		m.busy++
		m.takeX(i, s)
		m.unhold(e)
	case e.state > idle && s <= idle:
		if m.busy--; m.busy == 0 {
			m.displaced = false
		}
		m.freeX(i)
		m.hold(e)
	}
	e.state = s
	e.seq++
	e.flags &^= timed
	return makeRef(i, e.seq)
}

// hold and unhold count the values that wait in memory, a part each.
func (m *Machine) unhold(e *entry) {
	if e.has(fetched) {
		m.parts[e.part].held--
	}
}

func (m *Machine) hold(e *entry) {
	if e.has(fetched) {
		m.parts[e.part].held++
	}
}

// find returns the entry that a reference names, if its step is still the same.
func (m *Machine) find(r Ref) (int32, bool) {
	i := r.index()
	if i < 0 || int(i) >= len(m.entries) || m.entries[i].seq != r.seq() || m.entries[i].state <= idle {
		return none, false
	}
	return i, true
}
