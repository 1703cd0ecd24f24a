package dedupe

import (
	"math"
	"time"
)

const (
	// windowMargin is for what no setting bounds: clocks that differ, an operator who needs the weekend.
	windowMargin = 48 * time.Hour
	// keptForever is the window where the source's retention gives none.
	keptForever = 30 * 24 * time.Hour
)

// AutoWindow returns for how long a mark must be remembered, so that it outlives every record that it speaks of: as long
// as the source keeps a record, the longest way through the delays, and 48 hours.
//
// A record makes at most maxAttempts attempts and waits between two of them: the delays in their order, the last one
// again and again, each lengthened by up to jitter (0.2: a fifth). snoozeCap is how long it may be snoozed in all.
//
// A negative sourceRetention means that the source keeps records for ever. No window covers that: the result is 30 days
// then, or the waiting and 48 hours where these are longer; tell the user. What does not fit is [math.MaxInt64].
func AutoWindow(sourceRetention time.Duration, delays []time.Duration, maxAttempts int, jitter float64, snoozeCap time.Duration) time.Duration {
	life := addDurations(longestWait(delays, maxAttempts, jitter), max(snoozeCap, 0), windowMargin)
	if sourceRetention < 0 {
		return max(keptForever, life)
	}
	return addDurations(sourceRetention, life)
}

// longestWait sums the delays before attempts 2 to maxAttempts.
func longestWait(delays []time.Duration, maxAttempts int, jitter float64) time.Duration {
	waits := maxAttempts - 1
	if len(delays) == 0 || waits <= 0 {
		return 0
	}
	var sum float64
	for _, d := range delays[:min(waits, len(delays))] {
		sum += float64(d)
	}
	repeats := max(0, waits-len(delays))
	sum += float64(repeats) * float64(delays[len(delays)-1])
	return saturate(sum * (1 + max(jitter, 0)))
}

// saturate rounds to milliseconds: beside the margin one more or less is nothing.
func saturate(d float64) time.Duration {
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(d).Round(time.Millisecond)
}

// addDurations adds what is not negative.
func addDurations(ds ...time.Duration) (sum time.Duration) {
	for _, d := range ds {
		if d > math.MaxInt64-sum {
			return math.MaxInt64
		}
		sum += d
	}
	return sum
}
