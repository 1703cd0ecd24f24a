package retrytopics

import (
	"errors"
	"strconv"
	"time"
)

// Verdict is what is to be done with a record after its handler returned.
type Verdict uint8

// The verdicts. The zero value is a success.
const (
	VerdictOK        Verdict = iota // the effect took place
	VerdictRetryable                // try again after the next tier's delay; one attempt is used
	VerdictPermanent                // no attempt can succeed: to the dead letter topic
	VerdictSnooze                   // try again after Decision.RetryAfter; no attempt is used
	VerdictSkip                     // no work to do
	VerdictUncertain                // the effect may have taken place (R42)
)

// String returns the verdict in lower case, as it stands in logs and metrics.
func (v Verdict) String() string {
	switch v {
	case VerdictOK:
		return "ok"
	case VerdictRetryable:
		return "retryable"
	case VerdictPermanent:
		return "permanent"
	case VerdictSnooze:
		return "snooze"
	case VerdictSkip:
		return "skip"
	case VerdictUncertain:
		return "uncertain"
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Names of the rules that are not in the table of the built-in ones.
const (
	RuleOK              = "ok"
	RulePermanent       = "permanent-error"
	RuleRetryAfter      = "retry-after-error"
	RuleSkip            = "skip-error"
	RuleUncertain       = "uncertain-error"
	RuleClassifier      = "classifier"       // the user's classifier decided
	RuleClassifierPanic = "classifier-panic" // the user's classifier panicked; the record is retried
	RuleErrorPanic      = "error-panic"      // a method of the error itself panicked; the record is retried
	RuleUnknown         = "unknown"          // no rule had an opinion; the record is retried
)

// Decision is a verdict and how it came about.
type Decision struct {
	Verdict    Verdict
	Rule       string        // the rule that decided, for example "http-429"; bounded in number
	Class      string        // the class of the error: "timeout", "sqlstate-23505" or its Go type; bounded in number
	RetryAfter time.Duration // of a snooze: the wait that was asked for, not negative
}

// Classifier is a user's own rule for plain errors, asked before the built-in rules. It returns false where it has no
// opinion. It may be called from several goroutines at once, and must not block.
type Classifier func(err error) (Verdict, bool)

// Classify decides what err means for its record. The first that has an opinion wins:
//
//  1. no error: ok;
//  2. an outcome anywhere in the error's tree. [Uncertain] wins over all others, because a second effect is what it is
//     there to prevent; among the rest the outermost wins, so that a wrapper may correct what it wraps;
//  3. the user's classifier, which may be nil;
//  4. the table of built-in rules;
//  5. unknown errors are retryable.
//
// It never panics: a panic of the classifier or of one of the error's methods makes the record retryable.
func Classify(err error, user Classifier) (d Decision) {
	if err == nil {
		return Decision{Verdict: VerdictOK, Rule: RuleOK}
	}
	defer func() {
		if recover() != nil {
			d = Decision{Verdict: VerdictRetryable, Rule: RuleErrorPanic, Class: "panic"}
		}
	}()
	if o, ok := findOutcome(err); ok {
		d = o.decide()
		d.Class = errorClass(err)
		return d
	}
	if d, ok := askUser(err, user); ok {
		return d
	}
	for _, r := range builtinRules() {
		if d, ok := r(err); ok {
			return d
		}
	}
	return Decision{Verdict: VerdictRetryable, Rule: RuleUnknown, Class: errorClass(err)}
}

func findOutcome(err error) (outcome, bool) {
	if u, ok := errors.AsType[*UncertainError](err); ok {
		return u, true
	}
	return errors.AsType[outcome](err)
}

func askUser(err error, user Classifier) (d Decision, ok bool) {
	if user == nil {
		return Decision{}, false
	}
	defer func() {
		if recover() != nil {
			d, ok = Decision{Verdict: VerdictRetryable, Rule: RuleClassifierPanic, Class: errorClass(err)}, true
		}
	}()
	v, ok := user(err)
	if !ok || v > VerdictUncertain {
		return Decision{}, false
	}
	d = Decision{Verdict: v, Rule: RuleClassifier, Class: errorClass(err)}
	if v == VerdictSnooze {
		d.RetryAfter = askedDelay(err)
	}
	return d, true
}
