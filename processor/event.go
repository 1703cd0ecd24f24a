package processor

import (
	"time"

	"github.com/laneway-go/laneway/internal/worker"
)

// EventKind says what became of a record.
type EventKind string

// The kinds of events.
const (
	EventRetried  EventKind = "retried"  // it failed, and waits for its next try
	EventSnoozed  EventKind = "snoozed"  // it was put off without using an attempt
	EventFollowed EventKind = "followed" // it waits behind an earlier record of its key
	EventDead     EventKind = "dead"     // it goes to the dead letter topic
)

// Event tells what became of a record that is not simply done. It is sent when the record's next copy is about to be written;
// a write that has to be repeated sends it again.
type Event struct {
	Kind    EventKind
	Origin  Origin
	Run     uint32
	Key     []byte
	Attempt int       // attempts used
	Reason  string    // as in the laneway-reason header
	Rule    string    // of the classification; "" if nothing was classified
	Class   string    // of the error
	Topic   string    // where the copy goes
	Due     time.Time // of a copy in a delay topic
}

// Counts says what became of the records of a topic in this process:
// Taken = Done + Dead + Skipped + Duplicates + Waiting.
type Counts struct {
	Taken      int64 // records that were taken up
	Found      int64 // of them, those that an earlier owner had left waiting in a delay or replay topic
	Done       int64
	Dead       int64
	Skipped    int64
	Duplicates int64
	Waiting    int64 // taken up, and neither of these yet
}

// Lane is the state of one partition that this process owns.
type Lane struct {
	Topic     string            `json:"topic"`
	Partition int32             `json:"partition"`
	Phase     string            `json:"phase"`            // scanning, taking, running, giving, leaving, closed
	Fence     int64             `json:"fence"`            // number of the tenure
	Unsettled int               `json:"unsettled"`        // records of the source that were taken up and have not settled
	Lowest    int64             `json:"lowest"`           // offset of the first of them, or the next one to be taken up
	Position  int64             `json:"position"`         // offset of the next record to be taken up
	Oldest    time.Time         `json:"oldest,omitzero"`  // timestamp of the first that has not settled, to a second or so; zero: all that was fetched has
	Progress  time.Time         `json:"progress"`         // when a record last went on
	Waiting   map[string]int    `json:"waiting"`          // records held in memory until they are due or their turn comes, by topic
	Tiers     []Tier            `json:"tiers"`            // the delay topics
	Pauses    map[string]string `json:"pauses"`           // topics that are not being fetched, and why
	Buffered  int64             `json:"buffered"`         // bytes of fetched records that were not taken up yet
	Calls     int               `json:"calls"`            // handler calls that are out
	Trouble   string            `json:"trouble,omitzero"` // why writes fail at the moment; "" if they do not
}

// Tier is one delay topic of a lane.
type Tier struct {
	Delay   string `json:"delay"`
	Waiting int64  `json:"waiting"` // records in it that have not settled
}

// Counts returns the counts of a source topic; zero before Run and for a topic that is not configured.
func (p *Processor) Counts(topic string) Counts {
	w := p.worker.Load()
	if w == nil {
		return Counts{}
	}
	c := w.Counts(topic)
	return Counts{
		Taken: c.Taken, Found: c.Found, Done: c.Done, Dead: c.Dead, Skipped: c.Skipped, Duplicates: c.Duplicates, Waiting: c.Waiting,
	}
}

// Lanes returns the state of each partition that this process owns, in no order. It is a snapshot that may be 100 ms old.
func (p *Processor) Lanes() []Lane {
	w := p.worker.Load()
	if w == nil {
		return nil
	}
	var out []Lane
	for _, s := range w.Lanes() {
		l := Lane{
			Topic: s.Topic, Partition: s.Partition, Phase: s.Phase.String(), Fence: s.Tenure, Unsettled: s.Unsettled,
			Lowest: s.Lowest, Position: s.Position, Oldest: s.Oldest, Progress: s.Progress, Waiting: s.Waiting,
			Pauses: s.Pauses, Buffered: s.Buffered, Calls: s.Calls, Trouble: s.Trouble,
		}
		for _, t := range s.Tiers {
			l.Tiers = append(l.Tiers, Tier{Delay: t.Name, Waiting: t.Waiting})
		}
		out = append(out, l)
	}
	return out
}

// hooks passes the worker's events on.
func (c Config) hooks() worker.Hooks {
	if c.Events == nil {
		return worker.Hooks{}
	}
	return worker.Hooks{Record: func(e worker.RecordEvent) {
		c.Events(Event{
			Kind: EventKind(e.Outcome), Origin: e.Identity.Origin, Run: e.Identity.Run, Key: e.Key, Attempt: e.Attempt,
			Reason: e.Reason, Rule: e.Rule, Class: e.Class, Topic: e.Stage, Due: e.Due,
		})
	}}
}
