package lane

import "github.com/laneway-go/laneway/internal/offsets"

// Part names one of a lane's partitions by the topic that it belongs to.
type Part uint8

// The parts. The stages follow in the order of their delay.
const (
	Source     Part = 0
	Replay     Part = 1
	FirstStage Part = 2
)

// rank orders the parts by how far a record has come: the source and the replay topic are where it begins.
func (p Part) rank() int {
	if p < FirstStage {
		return 0
	}
	return int(p-FirstStage) + 1
}

// Mode says how finished work is remembered.
type Mode uint8

// The modes.
const (
	RecordAfter Mode = iota // a mark follows the effect
	ClaimFirst              // a claim goes before the effect, a mark follows it
	Off                     // no marks
)

// Ordering says which records wait for one another.
type Ordering uint8

// The orderings.
const (
	ByKey Ordering = iota
	ByPartition
	Unordered
)

// Stage is one delay topic of the lane.
type Stage struct {
	Delay  int64 // ms
	Target bool  // false: no longer configured, only drained (R43)
}

// Config is what a machine is told for its whole life. New fills in the defaults of zero fields.
type Config struct {
	Stages      []Stage // by growing delay; at least one is a target
	Mode        Mode
	Ordering    Ordering
	UserKeys    bool    // idempotency keys are the user's: done marks are records, not bits
	MaxAttempts int     // default 5
	Jitter      float64 // share of the delay that is added at most
	MaxJitter   int64   // ms; upper bound of what is added
	MaxSnoozes  int     // default 100
	MaxSnooze   int64   // ms; age past which a record is not snoozed again; default 24 h
	MaxReplays  int     // idle queued replays past which the replay topic is not fetched; default 64 (R7)
	HeldValues  int     // waiting records per stage whose values are kept in memory, however late they are due; default 256
	FetchLead   int64   // ms; how long before its due time a waiting record is fetched; default 2,000 (R44)
	MarkPause   int64   // ms between the beginnings of two writes of a chunk, if few keys wait for it; default 0 (R39)
	LongLife    int64   // ms; a life that lasts so long was no crash loop; default 10 min (R34)
	Turns       bool    // other lanes share the process: a suspect waits for GiveTurn (R35)
	Careful     int     // unclean lives from which on a lane is careful; default 3 (R34)
	Window      offsets.Config
}

func (c Config) withDefaults() Config {
	def(&c.MaxAttempts, 5)
	def(&c.MaxSnoozes, 100)
	def(&c.MaxSnooze, 24*60*60*1000)
	def(&c.MaxReplays, 64)
	def(&c.HeldValues, 256)
	def(&c.FetchLead, 2000)
	def(&c.LongLife, 10*60*1000)
	def(&c.Careful, 3)
	return c
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
