package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
)

// leaseTime is how long a process holds a task without a sign of life. It renews it three times as often. Leases of two
// processes are compared by their clocks, which should agree to within a few seconds; where they do not, records may be sent
// twice by one task, which the worker takes for one.
const leaseTime = 30 * time.Second

var (
	// ErrHeld says that another process works on the task.
	ErrHeld = errors.New("another process works on the task")
	// ErrEnded says that the task is done or cancelled.
	ErrEnded = errors.New("task has ended")
	// ErrCancelled says that the task was cancelled while it was being worked on.
	ErrCancelled = errors.New("task was cancelled")
)

// Observer is told how a task gets on, after each batch. It is called from the goroutine of [Client.Execute].
type Observer func(t Task)

// Execute works on a task until it is done, and returns it as it is then. It takes up where the last process stopped: what that
// one sent in its last batch, and did not write down any more, may be sent once more, as the same life of the same record,
// which the worker notices. At most one process works on a task: the error wraps [ErrHeld] where another one does, and
// [ErrEnded] where there is nothing left to do.
//
// When ctx ends, the task is left paused, and the error is the context's; so it is after any other error. observe may be nil.
func (c *Client) Execute(ctx context.Context, number uint32, observe Observer) (*Task, error) {
	e := &execution{c: c, number: number, observe: observe, holder: newHolder(), bits: map[chunkKey]*dedupe.Bits{}}
	if err := e.acquire(ctx); err != nil {
		return nil, err
	}
	err := e.run(ctx)
	if err == nil {
		err = e.close(ctx, PhaseDone, nil)
		return e.task(), err
	}
	// The context may have ended; the lease is given back all the same.
	const patience = 5 * time.Second
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	switch {
	case errors.Is(err, ErrHeld): // the other process has it
	case errors.Is(err, ErrCancelled):
		err = errors.Join(err, e.close(last, PhaseCancelled, nil))
	default:
		err = errors.Join(err, e.close(last, PhasePaused, err))
	}
	return e.task(), err
}

// execution is one process's work on a task.
type execution struct {
	c       *Client
	number  uint32
	holder  string
	observe Observer

	control *controlState
	log     log // of the control topic
	record  *taskRecord
	source  Source
	state   state
	marks   *marks

	producer *kgo.Client
	batch    []*kgo.Record
	bits     map[chunkKey]*dedupe.Bits // of the chunks in hand, with what was resolved in them before
	changed  map[chunkKey]bool
	pending  Progress // of the batch
	at       Span     // From: behind the last record that was visited
	pace     pace
}

// newHolder names this process: host, process, and a nonce.
func newHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	host = strings.ReplaceAll(host, "/", "-")
	return host + ":" + strconv.Itoa(os.Getpid()) + ":" + newNonce()
}

func newNonce() string { return strings.ToLower(rand.Text()) }

// acquire takes the lease: of all claims of one epoch, the first in the log has it.
func (e *execution) acquire(ctx context.Context) error {
	var err error
	if e.log, err = e.c.log(ctx, e.c.control()); err != nil {
		return err
	}
	if e.control, err = e.c.readControl(ctx); err != nil {
		return err
	}
	if e.record = e.control.tasks[e.number]; e.record == nil {
		return fmt.Errorf("task %d: %w", e.number, ErrNoTask)
	}
	now := time.Now()
	switch phase := e.record.phase(now); phase {
	case PhaseDone, PhaseCancelled:
		return fmt.Errorf("task %d: %w: %s", e.number, ErrEnded, phase)
	case PhaseRunning, PhaseCancelling:
		return fmt.Errorf("task %d: %w: %s, until %s", e.number, ErrHeld, e.record.holder, e.record.heldUntil().Format(time.RFC3339))
	case PhaseCreated, PhaseStalled, PhasePaused:
	}
	if e.source, err = e.c.Source(e.record.spec.Source); err != nil {
		return err
	}
	epoch := e.record.epoch + 1
	rec, err := controlRecord(claim{V: controlVersion, At: now.UTC()}, keyClaim, e.number, epoch, e.holder)
	if err != nil {
		return err
	}
	if _, err := e.c.write(ctx, rec); err != nil {
		return err
	}
	e.state = state{V: controlVersion, Number: e.number, Epoch: epoch, Holder: e.holder, Next: map[int32]int64{}}
	if err := e.look(ctx); err != nil {
		return err
	}
	if last := e.record.state; last != nil { // of the epoch before: now it is known to be the last
		e.state.Next, e.state.Progress = maps.Clone(last.Next), last.Progress
	}
	if e.state.Next == nil {
		e.state.Next = map[int32]int64{}
	}
	return e.save(ctx)
}

// look reads what is new in the control topic: somebody may have cancelled the task, or taken it over.
func (e *execution) look(ctx context.Context) error {
	l, err := e.c.log(ctx, e.c.control())
	if err != nil {
		return err
	}
	if err := e.c.followControl(ctx, e.control, l); err != nil {
		return err
	}
	switch {
	case e.record.epoch != e.state.Epoch || e.record.holder != e.holder:
		return fmt.Errorf("task %d: %w: %s", e.number, ErrHeld, e.record.holder)
	case e.record.cancel != nil:
		return fmt.Errorf("task %d: %w: %s", e.number, ErrCancelled, e.record.cancel.Reason)
	}
	return nil
}

// save writes down how far the task is, and renews the lease.
func (e *execution) save(ctx context.Context, before ...*kgo.Record) error {
	now := time.Now().UTC()
	e.state.At, e.state.Until = now, now.Add(e.c.lease)
	if e.state.Phase != PhaseDone && e.state.Phase != PhaseCancelled && e.state.Phase != PhasePaused {
		e.state.Phase = PhaseRunning
	} else {
		e.state.Until = now
	}
	rec, err := controlRecord(e.state, keyState, e.number, e.state.Epoch)
	if err != nil {
		return err
	}
	if _, err := e.c.write(ctx, append(before, rec)...); err != nil {
		return err
	}
	if e.observe != nil {
		e.observe(*e.task())
	}
	return nil
}

func (e *execution) close(ctx context.Context, phase Phase, cause error) error {
	e.state.Phase = phase
	if cause != nil {
		e.state.Error = cause.Error()
	}
	return e.save(ctx)
}

func (e *execution) task() *Task {
	r := *e.record
	st := e.state
	st.Next = maps.Clone(st.Next)
	r.state = &st
	t := r.task(st.At)
	return &t
}
