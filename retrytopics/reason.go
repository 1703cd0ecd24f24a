package retrytopics

import "strings"

// Reason says why a record is where it is: in a stage, in the dead letter topic, or finished by a mark.
type Reason string

// The reasons.
const (
	ReasonRetryable   Reason = "retryable"   // failed, attempts left
	ReasonSnoozed     Reason = "snoozed"     // put off without using an attempt
	ReasonFollowed    Reason = "followed"    // waits behind an earlier record of its key
	ReasonPermanent   Reason = "permanent"   // no attempt can succeed
	ReasonExhausted   Reason = "exhausted"   // no attempts left
	ReasonUndecodable Reason = "undecodable" // never reached the handler
	ReasonTimeout     Reason = "timeout"     // the handler ran out of time
	ReasonPanic       Reason = "panic"       // the handler panicked
	ReasonCrash       Reason = "crash"       // the process died with it, more than once
	ReasonUncertain   Reason = "uncertain"   // the effect may have taken place
	ReasonExpired     Reason = "expired"     // put off too often or for too long
	ReasonParked      Reason = "parked"      // set aside by an operator
	ReasonSkipped     Reason = "skipped"     // the handler found no work to do; on marks only
)

// maxReason bounds the length of a reason, in bytes.
const maxReason = 32

// wellFormed tells whether r could be a reason, of this release or of a later one.
func (r Reason) wellFormed() bool {
	const letters = "abcdefghijklmnopqrstuvwxyz-"
	return r != "" && len(r) <= maxReason && strings.Trim(string(r), letters) == ""
}
