package dispatch

import "context"

// Task is one call to make.
type Task struct {
	Token   uint64 // the owner's name for the task; it comes back in the [Result]
	Payload any    // for the [Func] alone, not looked at here; a pointer, so that it costs no allocation
	Attempt int32  // for the [Func] alone
	Urgent  bool   // goes before the queue's other tasks
	Alone   bool   // runs while no other call runs in any pool of the [Gate]; a call that was abandoned does not count
}

// Func makes the call that a task asks for. t and ctx are valid until it returns.
//
// ctx ends [Config.Timeout] after the call began, or with [Queue.Cancel] or [Pool.Cancel]; [context.Cause] tells which. Its
// channel and its timer are made when somebody first asks for them, so a Func that never does pays for neither. A child
// context costs no goroutine.
type Func func(ctx context.Context, slot *Slot, t *Task) error

// Owner is whoever submits tasks.
type Owner interface {
	// Returned has the outcomes of finished tasks, in no particular order. It is called from many goroutines, also at the
	// same time, and must not block. The slice is valid during the call only.
	Returned(results []Result)
}

// Result is the outcome of one task.
type Result struct {
	Token uint64
	Kind  Kind
	Err   error  // what the function returned; a [*PanicError] or [ErrGoexit] for [Panicked]; a [*TimeoutError] for [Stuck]
	Stack []byte // of the goroutine, for [Panicked] and, where it could be had, [Stuck]; at most 8 KiB
}

// Kind says how a task ended.
type Kind uint8

// The kinds.
const (
	Done      Kind = iota // the function returned; Err is what it returned, nil or not
	Panicked              // the function panicked, or ended its goroutine
	TimedOut              // the function returned an error after it had looked at its context, which the time limit ended
	Stuck                 // the function still runs at Timeout + Grace; what it returns later is ignored
	Canceled              // the function returned an error after it had looked at its context, which Cancel ended
	Unstarted             // the pool, or the queue, was ended before the function was called
)

// String returns the kind's name in snake case.
func (k Kind) String() string {
	switch k {
	case Done:
		return "done"
	case Panicked:
		return "panicked"
	case TimedOut:
		return "timed_out"
	case Stuck:
		return "stuck"
	case Canceled:
		return "canceled"
	case Unstarted:
		return "unstarted"
	}
	return "unknown"
}
