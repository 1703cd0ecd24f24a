package worker

import (
	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/retrytopics"
)

// returned hands the results of handler calls that did not simply succeed to the machine.
func (t *tenure) returned(results []dispatch.Result) {
	for i := range results {
		r := &results[i]
		ref := lane.Ref(r.Token)
		t.topic.meter.count(t.w.ctx, r.Kind)
		o, ev := t.judge(r)
		if !t.m.Expects(ref) {
			continue // an abandoned call has come back
		}
		delete(t.evidence, ref.Entry())
		if ev != nil {
			ev.at = t.now
			t.evidence[ref.Entry()] = ev
		}
		t.m.Returned(ref, o)
	}
}

// judge says what a result means for its record. The classification has one place: this one.
func (t *tenure) judge(r *dispatch.Result) (lane.Outcome, *evidence) {
	switch r.Kind {
	case dispatch.Unstarted:
		return lane.Outcome{Kind: lane.Unstarted}, nil
	case dispatch.Canceled:
		return lane.Outcome{Kind: lane.Aborted}, nil // R19; nobody knows how far it came (R42)
	case dispatch.Panicked:
		return t.ambiguous(retrytopics.ReasonPanic, "panic", r)
	case dispatch.TimedOut, dispatch.Stuck:
		return t.ambiguous(retrytopics.ReasonTimeout, "timeout", r)
	case dispatch.Done:
	}
	if r.Err == nil {
		return lane.Outcome{Kind: lane.OK}, nil
	}
	d := retrytopics.Classify(r.Err, t.topic.Classifier)
	ev := &evidence{rule: d.Rule, class: d.Class, message: r.Err.Error()}
	switch d.Verdict {
	case retrytopics.VerdictPermanent:
		return lane.Outcome{Kind: lane.Dead, Reason: lane.Permanent}, ev
	case retrytopics.VerdictSnooze:
		ev.reason = retrytopics.ReasonSnoozed
		return lane.Outcome{Kind: lane.Snooze, Until: ceilMilli(t.now.Add(d.RetryAfter))}, ev
	case retrytopics.VerdictSkip:
		return lane.Outcome{Kind: lane.Skip}, ev
	case retrytopics.VerdictUncertain:
		if t.topic.Mode == lane.ClaimFirst {
			return lane.Outcome{Kind: lane.Dead, Reason: lane.UncertainReason}, ev
		}
	case retrytopics.VerdictOK, retrytopics.VerdictRetryable:
	}
	return lane.Outcome{Kind: lane.Retry}, ev
}

// ambiguous is a failure that does not say whether the effect took place: it is retried, but in claim_first mode it is for a
// person (R42).
func (t *tenure) ambiguous(why retrytopics.Reason, rule string, r *dispatch.Result) (lane.Outcome, *evidence) {
	ev := &evidence{reason: why, rule: rule, class: string(why), stack: string(r.Stack)}
	if r.Err != nil {
		ev.message = r.Err.Error()
	}
	if t.topic.Mode == lane.ClaimFirst {
		return lane.Outcome{Kind: lane.Dead, Reason: lane.UncertainReason}, ev
	}
	return lane.Outcome{Kind: lane.Retry}, ev
}
