package lane

import (
	"cmp"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/origin"
)

// Gen is a generation of source offsets: an index into the machine's table of (topic id, leader epoch) pairs. Two records of
// one generation with one offset are the same record.
type Gen uint32

// ID is the identity of a record: its origin and its run.
type ID struct {
	Offset int64
	Run    uint32
	Gen    Gen
}

// Copy is a record at one place of the lane, as the driver read it.
type Copy struct {
	Offset int64  // its place in the part
	Epoch  int32  // leader epoch of the batch that it was read from
	Key    uint64 // hash of the record's key: equal keys have equal hashes
	Keyed  bool

	ID      ID
	Hop     uint32
	Attempt uint16 // attempts used
	Snoozes uint16
	Force   bool
	Broken  bool  // not readable as one of ours: it goes to the dlt as undecodable
	Due     int64 // ms
	Until   int64 // ms; end of a snooze that is longer than the stage's delay, or 0
	Since   int64 // ms; when it failed first, or 0

	X    dedupe.Hash // of the idempotency key
	HasX bool        // false: the idempotency key is the origin

	Payload any // the record itself, handed back at the start and with each write; nil in a scan
}

// generation is one entry of the table behind [Gen].
type generation struct {
	topic   origin.TopicID
	epoch   int32
	present bool  // of the topic that the source's name means today
	end     int64 // where the epoch ends in the source's log (R10); unknown while it runs
}

const noEnd = int64(1)<<62 - 1

type genKey struct {
	topic origin.TopicID
	epoch int32
}

// Gen returns the generation of a topic id and a leader epoch. The zero id means the present topic (R41).
func (m *Machine) Gen(topic origin.TopicID, epoch int32) Gen {
	if topic == (origin.TopicID{}) {
		topic = m.topic
	}
	key := genKey{topic, epoch}
	g, ok := m.genOf[key]
	if !ok {
		g = Gen(len(m.gens))
		m.gens = append(m.gens, generation{topic: topic, epoch: epoch, present: topic == m.topic, end: noEnd})
		m.genOf[key] = g
	}
	return g
}

// Generation returns what [Machine.Gen] was called with.
func (m *Machine) Generation(g Gen) (topic origin.TopicID, epoch int32) {
	return m.gens[g].topic, m.gens[g].epoch
}

// Generations returns the leader epochs, of the present source topic, that records of the lane carry and whose end is not
// known. The driver asks the broker for their ends (R10).
func (m *Machine) Generations() []int32 {
	var out []int32
	for _, g := range m.gens {
		if g.present && g.end == noEnd && g.epoch >= 0 {
			out = append(out, g.epoch)
		}
	}
	return out
}

// EpochEnds tells where a leader epoch of the source ends: behind its last record (R10).
func (m *Machine) EpochEnds(epoch int32, end int64) {
	for i := range m.gens {
		if g := &m.gens[i]; g.present && g.epoch == epoch {
			g.end = end
		}
	}
	m.workGated()
}

// compareOrigin orders records of the lane as the source had them: another topic id before the present one, then by leader
// epoch, then by offset.
func (m *Machine) compareOrigin(ag Gen, ao int64, bg Gen, bo int64) int {
	if ag == bg {
		return cmp.Compare(ao, bo)
	}
	a, b := &m.gens[ag], &m.gens[bg]
	if a.topic != b.topic {
		if a.present != b.present {
			if b.present {
				return -1
			}
			return 1
		}
		return cmp.Compare(ag, bg)
	}
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(ao, bo))
}
