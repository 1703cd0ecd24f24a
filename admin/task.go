package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Kind says what a task does.
type Kind string

// The kinds of tasks.
const (
	KindRedrive Kind = "redrive" // send dead letters again, and resolve them
	KindDiscard Kind = "discard" // resolve dead letters without sending them
	KindReplay  Kind = "replay"  // send a range of source records again, to this group only
)

// DefaultRate is how many records a second a task sends unless told otherwise. It is low, because what is sent again often
// meets a dependency that has only just come back.
const DefaultRate = 10.0

// Spec says what a task is to do. It is written down once and does not change.
type Spec struct {
	Kind   Kind   `json:"kind"`
	Source string `json:"source"`

	// Filter selects dead letters; of a replay only its partitions and its range count, which is one of the source topic.
	Filter Filter `json:"filter"`
	// Spans are the snapshot: what lies behind their ends is not part of the task, whatever happens later. [Client.Plan] fills
	// them in.
	Spans []Span `json:"spans"`
	// TopicID is that of the topic that the spans are of. A topic that was created anew since is not touched.
	TopicID string `json:"topic_id"`

	Rate             float64 `json:"rate"`                        // records a second; 0: DefaultRate, negative: no limit
	RerunDone        bool    `json:"rerun_done,omitempty"`        // run also what another identity of its key has done (R33)
	AllowExpired     bool    `json:"allow_expired,omitempty"`     // send also what is older than the idempotency window
	IncludeUncertain bool    `json:"include_uncertain,omitempty"` // send also what may have taken effect (R30)

	Reason string    `json:"reason"` // why somebody wants this
	By     string    `json:"by"`     // who: user@host
	At     time.Time `json:"at"`
}

// topic returns the topic that the spans are of.
func (s *Spec) topic(source Source) string {
	if s.Kind == KindReplay {
		return source.Name()
	}
	return source.Want.Names.DLT()
}

// rate returns records a second, 0 for no limit.
func (s *Spec) rate() float64 {
	switch {
	case s.Rate < 0:
		return 0
	case s.Rate == 0:
		return DefaultRate
	}
	return s.Rate
}

// Phase is where a task is in its life.
type Phase string

// The phases.
const (
	PhaseCreated    Phase = "created"    // nobody has begun
	PhaseRunning    Phase = "running"    // a process holds the lease
	PhaseStalled    Phase = "stalled"    // the process that had it is gone: its lease has run out
	PhasePaused     Phase = "paused"     // the process that had it was stopped, or met an error
	PhaseCancelling Phase = "cancelling" // cancelled, and the process that has it does not know yet
	PhaseCancelled  Phase = "cancelled"
	PhaseDone       Phase = "done"
)

// Ended tells whether nothing comes after the phase.
func (p Phase) Ended() bool { return p == PhaseDone || p == PhaseCancelled }

// Progress counts what a task has done.
type Progress struct {
	Sent      int64 `json:"sent"`      // written to the replay topic and acknowledged
	Bytes     int64 `json:"bytes"`     // of their keys and values
	Resolved  int64 `json:"resolved"`  // dead letters that are resolved by it
	Uncertain int64 `json:"uncertain"` // left out: the effect may have taken place
	Unsent    int64 `json:"unsent"`    // cannot be sent: see Plan.Unsendable
}

// Task is a task with what became of it.
type Task struct {
	Number   uint32 // also the run of what it sends
	Spec     Spec
	Phase    Phase
	Progress Progress
	Next     map[int32]int64 // by partition, the first offset that was not looked at
	Holder   string          // the process that has or had it
	Until    time.Time       // end of its lease
	At       time.Time       // of the last news
	Error    string          // why it is paused
	Cancel   string          // why it was cancelled
}

// Left returns how many offsets of the snapshot were not looked at.
func (t *Task) Left() (n int64) {
	for _, s := range t.Spec.Spans {
		s.From = max(s.From, t.Next[s.Partition])
		n += s.Len()
	}
	return n
}

// ReplayID is what the records of the task carry as their replay id.
func (t *Task) ReplayID() string { return replayID(t.Number) }

func replayID(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

// ErrNoTask says that there is no task of a number.
var ErrNoTask = errors.New("no such task")

// Tasks returns all tasks that the control topic has, the oldest first.
func (c *Client) Tasks(ctx context.Context, now time.Time) ([]Task, error) {
	s, err := c.readControl(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Task, 0, len(s.order))
	for _, number := range s.order {
		out = append(out, s.tasks[number].task(now))
	}
	return out, nil
}

// Task returns one task, or an error that wraps [ErrNoTask].
func (c *Client) Task(ctx context.Context, number uint32, now time.Time) (*Task, error) {
	s, err := c.readControl(ctx)
	if err != nil {
		return nil, err
	}
	r := s.tasks[number]
	if r == nil {
		return nil, fmt.Errorf("task %d: %w", number, ErrNoTask)
	}
	t := r.task(now)
	return &t, nil
}

// task puts together what the records of a task say.
func (r *taskRecord) task(now time.Time) Task {
	t := Task{Number: r.number, Spec: r.spec, Phase: r.phase(now), At: r.spec.At, Next: map[int32]int64{}}
	if r.state != nil {
		t.Progress, t.Next, t.Holder, t.Until = r.state.Progress, r.state.Next, r.state.Holder, r.state.Until
		t.At, t.Error = r.state.At, r.state.Error
	}
	if r.cancel != nil {
		t.Cancel = r.cancel.Reason
	}
	return t
}

func (r *taskRecord) phase(now time.Time) Phase {
	held := r.heldUntil().After(now)
	switch {
	case r.state != nil && r.state.Phase.Ended():
		return r.state.Phase
	case r.cancel != nil && held:
		return PhaseCancelling
	case r.cancel != nil:
		return PhaseCancelled
	case held:
		return PhaseRunning
	case r.state == nil:
		return PhaseCreated
	case r.state.Phase == PhaseRunning:
		return PhaseStalled
	}
	return r.state.Phase
}

// heldUntil returns the end of the present lease. A process that has only claimed the task counts from its claim.
func (r *taskRecord) heldUntil() time.Time {
	switch {
	case r.state != nil && r.state.Epoch == r.epoch:
		return r.state.Until
	case r.epoch > 0:
		return r.claimed.Add(leaseTime)
	}
	return time.Time{}
}

// Returned counts the dead letters that are there again after the task had sent them, and are not resolved.
func (c *Client) Returned(ctx context.Context, t *Task) (n int64, err error) {
	q := Query{Source: t.Spec.Source, Filter: Filter{Returned: t.Number}, Resolved: true}
	return n, c.DeadLetters(ctx, q, func(*DeadLetter) error { n++; return nil })
}

// Create writes down a task that [Client.Plan] has made, and returns it with its number. Nobody works on it before
// [Client.Execute]. It is refused if the plan is (see [Plan.Refusal]), or gives no reason.
func (c *Client) Create(ctx context.Context, p *Plan) (*Task, error) {
	if err := p.Refusal(); err != nil {
		return nil, err
	}
	if p.Spec.Reason == "" {
		return nil, ErrNoReason
	}
	rec, err := controlRecord(creation{V: controlVersion, Spec: p.Spec}, keyTask, newNonce())
	if err != nil {
		return nil, err
	}
	offset, err := c.write(ctx, rec)
	if err != nil {
		return nil, err
	}
	number, err := numberOf(offset)
	if err != nil {
		return nil, fmt.Errorf("number the task: %w", err)
	}
	return &Task{Number: number, Spec: p.Spec, Phase: PhaseCreated, Next: map[int32]int64{}, At: p.Spec.At}, nil
}

// ErrNoReason says that a change gives no reason.
var ErrNoReason = errors.New("no reason is given")

// Cancel tells a task to end. A process that works on it notices within seconds; what it has sent by then stays sent. It does
// nothing to a task that has ended, and returns the task as it is then.
func (c *Client) Cancel(ctx context.Context, number uint32, by, reason string, now time.Time) (*Task, error) {
	t, err := c.Task(ctx, number, now)
	switch {
	case err != nil:
		return nil, err
	case reason == "":
		return nil, ErrNoReason
	case t.Phase.Ended():
		return t, nil
	}
	rec, err := controlRecord(cancellation{V: controlVersion, At: now.UTC(), By: by, Reason: reason}, keyCancel, number)
	if err != nil {
		return nil, err
	}
	if _, err := c.write(ctx, rec); err != nil {
		return nil, err
	}
	return c.Task(ctx, number, now)
}
