package main

import (
	"errors"
	"fmt"
	"io"
)

// The exit codes. Supervisors and scripts depend on them.
const (
	exitOK       = 0
	exitError    = 1 // anything without a code of its own
	exitUsage    = 2 // the command line makes no sense
	exitFindings = 3 // a check found problems, or a plan found work
	exitForced   = 4 // a second signal, or the end of the time for a shutdown
	exitStuck    = 5 // a handler call does not return, and the policy is to crash
	exitFenced   = 6 // another process has this worker's static id
)

// exitFailure is an error that decides the exit code. Without an error in it nothing is printed: the command has said it
// all.
type exitFailure struct { //nolint:errname // it is not always an error: a check that found something is no failure of the check
	code int
	err  error
}

// Error returns the text of the inner error.
func (e *exitFailure) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the inner error.
func (e *exitFailure) Unwrap() error { return e.err }

// exitCode returns the code for what a command returned.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if failure, ok := errors.AsType[*exitFailure](err); ok {
		return failure.code
	}
	return exitError
}

// report prints an error, with a hint where the command line was wrong.
func report(stderr io.Writer, err error) {
	failure, coded := errors.AsType[*exitFailure](err)
	switch {
	case err == nil, coded && failure.err == nil:
	case coded && failure.code == exitUsage:
		fmt.Fprintf(stderr, "processor: %v\nprocessor: add --help to the command to see how it is used\n", err)
	default:
		fmt.Fprintf(stderr, "processor: %v\n", err)
	}
}
