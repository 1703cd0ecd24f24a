package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrGoexit is the error of a call that ended its own goroutine with [runtime.Goexit], as t.FailNow does.
	ErrGoexit = errors.New("call ended its goroutine")

	// ErrClosed is the cause with which the contexts of a closed queue's calls end.
	ErrClosed = errors.New("queue closed")

	// ErrStuck is what [Pool.Run] returns under the policy [Crash] when a call did not return in time. The call's task is
	// neither returned nor taken back.
	ErrStuck = errors.New("call ignores its time limit")

	// ErrAbandoned is what [Pool.Run] returns after [Pool.Abandon] left calls behind. Their tasks are neither returned nor
	// taken back.
	ErrAbandoned = errors.New("calls left behind")

	// ErrRan is what [Pool.Run] returns when it was called before.
	ErrRan = errors.New("pool ran before")
)

// TimeoutError is the cause with which a call's context ends at the time limit. It is a [context.DeadlineExceeded].
type TimeoutError struct {
	Limit time.Duration
}

// Error names the limit.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("call exceeded its time limit of %v", e.Limit)
}

// Is says that the error is a [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout and Temporary make the error a [net.Error], as [context.DeadlineExceeded] is one.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary is true: see Timeout.
func (e *TimeoutError) Temporary() bool { return true }

// PanicError is the error of a call that panicked.
type PanicError struct {
	Value any // what was passed to panic
}

// Error names the value.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
