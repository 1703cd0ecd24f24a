package retrytopics

import (
	"fmt"
	"time"
)

// outcome is what the four error types below have in common: a handler's own word about the record, which no rule and
// no [Classifier] overrules.
type outcome interface {
	error
	decide() Decision
}

// PermanentError says that no further attempt can succeed. See [Permanent].
type PermanentError struct {
	Err error
}

// Permanent marks err as one that another attempt cannot cure: the record goes to the dead letter topic at once, with
// reason "permanent", and no retry is spent on it. It returns nil if err is nil, so that a call's result can be wrapped
// without looking at it.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// Error returns the text of the cause.
func (e *PermanentError) Error() string { return message(e.Err, "permanent error") }

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

func (e *PermanentError) decide() Decision {
	return Decision{Verdict: VerdictPermanent, Rule: RulePermanent}
}

// RetryAfterError says that the record is to be tried again, but not before a time. See [RetryAfter].
type RetryAfterError struct {
	Err   error
	Delay time.Duration
}

// RetryAfter puts the record off for d, as a rate limit asks for, without using up an attempt. The record waits at least
// d, and at least the first tier; [Policy] limits how often and for how long a record may be put off. A negative d counts
// as zero.
//
// Unlike the other outcomes it is never nil: a nil err puts the record off without a cause. Losing a record because
// nothing had gone wrong while it was asked to wait would be the worse mistake.
func RetryAfter(err error, d time.Duration) error {
	return &RetryAfterError{Err: err, Delay: max(d, 0)}
}

// Error returns the delay and the text of the cause.
func (e *RetryAfterError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("retry after %s", e.Delay)
	}
	return fmt.Sprintf("retry after %s: %s", e.Delay, e.Err)
}

// Unwrap returns the cause, or nil if there is none.
func (e *RetryAfterError) Unwrap() error { return e.Err }

func (e *RetryAfterError) decide() Decision {
	return Decision{Verdict: VerdictSnooze, Rule: RuleRetryAfter, RetryAfter: max(e.Delay, 0)}
}

// SkipError says that the record needs no work and is no failure. See [Skip].
type SkipError struct {
	Reason string
}

// Skip finishes the record without an effect and without a dead letter; the reason is recorded with its mark. It is
// never nil.
func Skip(reason string) error { return &SkipError{Reason: reason} }

// Error returns the reason.
func (e *SkipError) Error() string {
	if e.Reason == "" {
		return "skipped"
	}
	return "skipped: " + e.Reason
}

func (e *SkipError) decide() Decision {
	return Decision{Verdict: VerdictSkip, Rule: RuleSkip}
}

// UncertainError says that the effect may have taken place. See [Uncertain].
type UncertainError struct {
	Err error
}

// Uncertain marks err as one that leaves it open whether the effect took place: the request was sent and the answer never
// came. In claim_first mode such a record is not run again by itself but goes to the dead letter topic with reason
// "uncertain" (R42); in record_after mode it is retried. It returns nil if err is nil.
func Uncertain(err error) error {
	if err == nil {
		return nil
	}
	return &UncertainError{Err: err}
}

// Error returns the text of the cause.
func (e *UncertainError) Error() string { return message(e.Err, "uncertain outcome") }

// Unwrap returns the cause.
func (e *UncertainError) Unwrap() error { return e.Err }

func (e *UncertainError) decide() Decision {
	return Decision{Verdict: VerdictUncertain, Rule: RuleUncertain}
}

// message returns err's text, or another for a value that was built without a cause.
func message(err error, none string) string {
	if err == nil {
		return none
	}
	return err.Error()
}
