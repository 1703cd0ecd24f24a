package retrytopics

import "time"

// dueSlack is how much later than the longest delay a due time may be: the append time is the broker's, the due time was
// computed by a worker's clock.
const dueSlack = time.Minute

// ClampDue returns the time at which a record in a stage may start, given the due time in its headers, the time at which
// the broker appended it and the delay of its stage. A header is anybody's to write, so a due time is held between the
// append time and the append time + the delay with full jitter + 1 minute; the zero time, which is what an unreadable
// header gives, becomes the append time + the delay. It reports whether the answer differs from due.
//
// A follower takes over the due time of the record it waits for (R8), which may lie before its own append; it then starts
// at its append time, and that is no fault of anybody.
func ClampDue(due, appended time.Time, delay time.Duration, p Policy) (at time.Time, clamped bool) {
	latest := appended.Add(p.Longest(delay) + dueSlack)
	switch {
	case due.IsZero():
		return appended.Add(delay), true
	case due.Before(appended):
		return appended, true
	case due.After(latest):
		return latest, true
	}
	return due, false
}
