package main

import (
	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

// Bounds of a world. Places of copies fit in one byte, sets of identities in a word.
const (
	maxRecords = 6
	runs       = 3 // lives of a record: 0, 1 and 2
	maxIDs     = maxRecords * runs
	maxParts   = 5  // source, replay, three stages
	maxLog     = 32 // copies in one part
	maxHops    = 14 // L7: more means that somebody forwards without an end
)

// outcomes is a set of ways in which a handler may return.
type outcomes uint8

const (
	ok outcomes = 1 << iota
	fails
	permanent
	snoozes
	skips
	unsure // whether the effect took place: R42
)

// record is one record that a source log of the world holds.
type record struct {
	key     int // 0: none
	x       int // what makes two records the same work
	epoch   int32
	topic   int // 0, or 1 for the topic that was created anew
	offset  int64
	poison  bool // its handler never succeeds
	garbage bool // nobody can read it
}

// world is what an exploration starts from: the records, the lane's configuration, and the budgets of the environment.
type world struct {
	name     string
	keys     string // a letter a record; "-" is none
	same     string // a digit a record: equal digits are the same work; empty: every record its own
	poison   string // "x" at the records whose handler never succeeds
	garbage  string // "x" at the records that nobody can read
	mode     lane.Mode
	ordering lane.Ordering
	stages   int // default 2
	attempts int // default 2
	window   int64
	outcomes outcomes // default ok and fails

	crashes  int     // deaths of the owner
	losses   int     // an owner loses the lane and does not know: a zombie from then on
	zombie   int     // steps that a zombie takes
	late     int     // writes of a dead owner that land later, at any time
	broken   int     // writes that are reported as failed, appended or not
	unheard  int     // commits whose answer is lost, or that are refused
	commits  int     // commits that an owner makes without need; default 1
	snoozed  int     // times that handlers ask for more time
	snoozes  []int64 // by how much, in ms
	replays  int     // what operators replay
	force    bool    // they may force it
	again    bool    // they may send one replay twice
	anytime  bool    // they replay records that are not in the dlt, too
	giveUps  int     // lanes that are given up in good order
	renewals int     // producers that are replaced within a tenure
	refused  int     // forwards that are too large
	partly   int     // commits of which the broker stores the stages' part only, or the source's
	forgets  int     // marks that the owner forgets for their age
	kills    int     // with a killer: deaths that somebody else causes
	dropped  bool    // from the second owner on the last stage is not configured any more
	held     int     // waiting values per stage that are kept
	queued   int     // idle replays past which the replay topic is not fetched
	fine     bool    // every part is scanned in a step of its own, in any order

	careful int // unclean lives from which on a lane is careful; default: never
	killer  int // record + 1 whose handler kills the worker; the others never do

	latest  bool // the group starts at the end of the source
	present int  // with latest: records that are there at first

	logs   [][]int // source logs: one more a cut; records by offset. Default: all records, in order
	epochs []int32 // leader epochs of the records; default 0
	topics []int   // topic ids of the records; default 0

	records []record
	cfg     lane.Config
}

// The delays of the stages, in ms. They are small, so that the clock's seconds, which tenures are numbered by, stand still.
const stageDelay = 4

func (w *world) parts() int { return 2 + w.stages }

// strict says that no write of a dead owner lands late and no dead owner goes on: then every promise holds to the letter.
func (w *world) strict() bool { return w.late == 0 && w.losses == 0 && w.renewals == 0 }

func (w *world) remembers() bool { return w.mode != lane.Off }

// sealed returns the world with its defaults filled in.
func (w world) sealed() *world {
	w.stages = orElse(w.stages, 2)
	w.attempts = orElse(w.attempts, 2)
	w.commits = orElse(w.commits, 1)
	w.window = orElse(w.window, 8)
	w.outcomes = orElse(w.outcomes, ok|fails)
	w.careful = orElse(w.careful, 1000)
	for i := range w.keys {
		r := record{x: i, offset: int64(i), poison: at(w.poison, i) == 'x', garbage: at(w.garbage, i) == 'x'}
		if k := w.keys[i]; k != '-' {
			r.key = int(k - 'a' + 1)
		}
		if w.same != "" {
			r.x = int(w.same[i] - '0')
		}
		if w.epochs != nil {
			r.epoch = w.epochs[i]
		}
		if w.topics != nil {
			r.topic = w.topics[i]
		}
		w.records = append(w.records, r)
	}
	if w.logs == nil {
		w.logs = [][]int{nil}
		for i := range w.records {
			w.logs[0] = append(w.logs[0], i)
		}
	}
	for _, log := range w.logs {
		for offset, r := range log {
			w.records[r].offset = int64(offset)
		}
	}
	w.cfg = lane.Config{
		Mode: w.mode, Ordering: w.ordering, UserKeys: w.same != "", MaxAttempts: w.attempts, Careful: w.careful,
		MaxSnooze: forever, LongLife: forever,
		HeldValues: w.held, MaxReplays: w.queued, FetchLead: 1,
		Window: offsets.Config{Window: w.window, MaxSpan: w.window, GapBytes: -1},
	}
	for i := range w.stages {
		w.cfg.Stages = append(w.cfg.Stages, lane.Stage{Delay: stageDelay << i, Target: true})
	}
	return &w
}

const forever = int64(1) << 50

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// identity numbers the lives of all records: record times runs, plus the run.
type identity uint8

func idOf(record, run int) identity    { return identity(record*runs + run) }
func (id identity) record() int        { return int(id) / runs }
func (id identity) run() int           { return int(id) % runs }
func (w *world) xOf(id identity) uint8 { return uint8(w.records[id.record()].x) }

// keyOf returns what a record is ordered by; 0: nothing.
func (w *world) keyOf(id identity) int {
	switch w.ordering {
	case lane.ByPartition:
		return 1
	case lane.ByKey:
		return w.records[id.record()].key
	case lane.Unordered:
	}
	return 0
}

func topicID(n int) origin.TopicID { return origin.TopicID{1, byte(n)} }

// sourceTopic returns the number of the topic that a version of the source is a log of.
func (w *world) sourceTopic(version int) int {
	if log := w.logs[version]; len(log) > 0 {
		return w.records[log[0]].topic
	}
	return 0
}

// before says whether the source has one record before another (L3).
func (w *world) before(a, b int) bool {
	q, r := &w.records[a], &w.records[b]
	switch {
	case q.topic != r.topic:
		return q.topic < r.topic
	case q.epoch != r.epoch:
		return q.epoch < r.epoch
	}
	return q.offset < r.offset
}

// recordAt finds a record by its origin; -1 if there is none.
func (w *world) recordAt(topic origin.TopicID, epoch int32, offset int64) int {
	for i := range w.records {
		if r := &w.records[i]; r.offset == offset && r.epoch == epoch && topicID(r.topic) == topic {
			return i
		}
	}
	return -1
}

// epochEnd is what the leader of a version of the source answers to OffsetForLeaderEpoch: the newest epoch that it knows up to
// the one asked for, and where it ends.
func (w *world) epochEnd(version int, epoch int32) (answered int32, end int64, known bool) {
	log := w.logs[version]
	answered = -1
	for offset, r := range log {
		if e := w.records[r].epoch; e <= epoch && e >= answered {
			answered, end = e, int64(offset)+1
		}
	}
	return answered, end, answered >= 0
}

func (w *world) userX(id identity) (x dedupe.Hash, user bool) {
	if !w.cfg.UserKeys {
		return dedupe.Hash{}, false
	}
	return dedupe.Hash{uint64(w.xOf(id)) + 1, 0x9E3779B97F4A7C15 * (uint64(w.xOf(id)) + 1)}, true
}
