package exechandler

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrClosed is what Handle returns after [Handler.Close] has been called. The record reached no process.
var ErrClosed = errors.New("exec handler is closed")

// AnswerError is the failure that a process reported in its answer. The process goes on with other records.
type AnswerError struct {
	Message string // the answer's "error"
	Class   string // the answer's "class"; empty where it gave none
}

// Error returns the message as the process gave it.
func (e *AnswerError) Error() string { return e.Message }

// ErrorClass returns the class that the process gave, by which dead letters are grouped; it may be empty.
func (e *AnswerError) ErrorClass() string { return e.Class }

// ExitError says that a process ended while it had a record in hand. How much of the work was done is unknown.
type ExitError struct {
	Pid    int
	State  *os.ProcessState // how it ended
	Stderr string           // the end of what it wrote to its standard error, at most 4 KiB
}

// Error names the process, how it ended, for example by "exit status 1" or "signal: killed", and its last words.
func (e *ExitError) Error() string {
	return fmt.Sprintf("handler process %d ended: %v%s", e.Pid, e.State, lastWords(e.Stderr))
}

// ErrorClass returns "process_exit".
func (*ExitError) ErrorClass() string { return "process_exit" }

// ProtocolError says that a process broke the protocol while it had a record in hand, and was killed for it. How much of the
// work was done is unknown.
type ProtocolError struct {
	Pid    int
	Err    error  // what was wrong
	Stderr string // the end of what it wrote to its standard error, at most 4 KiB
}

// Error names the process, what was wrong, and its last words.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("handler process %d broke the protocol: %v%s", e.Pid, e.Err, lastWords(e.Stderr))
}

// ErrorClass returns "exec_protocol".
func (*ProtocolError) ErrorClass() string { return "exec_protocol" }

// Unwrap returns what was wrong.
func (e *ProtocolError) Unwrap() error { return e.Err }

// HangError says that the time limit of the call, or the worker's, ended before a process had answered. The process was
// killed. How much of the work was done is unknown.
type HangError struct {
	Pid    int
	Cause  error  // of the call's context
	Stderr string // the end of what it wrote to its standard error, at most 4 KiB
}

// Error names the process, why it was not waited for any longer, and its last words.
func (e *HangError) Error() string {
	return fmt.Sprintf("handler process %d did not answer: %v%s", e.Pid, e.Cause, lastWords(e.Stderr))
}

// Unwrap returns the cause of the context's end.
func (e *HangError) Unwrap() error { return e.Cause }

// failure is an error that can be completed when its process is gone.
type failure interface {
	error
	autopsy(c *child)
}

func (e *ExitError) autopsy(c *child) {
	e.Pid, e.Stderr, e.State = c.cmd.Process.Pid, c.stderr.String(), c.cmd.ProcessState
}

func (e *ProtocolError) autopsy(c *child) { e.Pid, e.Stderr = c.cmd.Process.Pid, c.stderr.String() }

func (e *HangError) autopsy(c *child) { e.Pid, e.Stderr = c.cmd.Process.Pid, c.stderr.String() }

// maxLastWords is how much of the standard error a message repeats: an error message in a dead letter has 1 KiB in all.
const maxLastWords = 512

// lastWords formats the end of a standard error; the last line of a stack trace is the one that tells most.
func lastWords(stderr string) string {
	stderr = strings.TrimSpace(stderr)
	if stderr == "" {
		return ""
	}
	if n := len(stderr) - maxLastWords; n > 0 {
		stderr = "…" + strings.ToValidUTF8(stderr[n:], "")
	}
	return "; stderr: " + stderr
}
