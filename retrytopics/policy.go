package retrytopics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Policy is the schedule of a topic's retries. The zero value of a field means its default; see [Policy.WithDefaults].
type Policy struct {
	// Tiers are the delays, one stage topic each, strictly growing, in whole milliseconds. After attempt n a record
	// waits for tier n; the last tier repeats until the attempts are used (R15). Default 5s, 1m, 10m.
	Tiers []time.Duration

	// MaxAttempts counts the first try too: 1 means no retry. Default 5.
	MaxAttempts int

	// Jitter is the part of a delay that may be added to it, between 0 and 1, so that what failed together does not come
	// back together. A delay is only ever made longer. Default 0.2; negative means none.
	Jitter float64

	// MaxJitter bounds what jitter adds. Long tiers need no more than a few seconds to spread, and a record overtakes
	// none of its stage but those within the jitter. Default 10s.
	MaxJitter time.Duration

	// MaxSnoozes and MaxSnoozeAge end the life of a record that is put off again and again without using an attempt
	// (R16): by number, and by age since it failed first. Defaults 100 and 24h.
	MaxSnoozes   int
	MaxSnoozeAge time.Duration
}

// Limits of a policy. They are far beyond use, and keep every sum of delays within a [time.Duration].
const (
	maxTiers     = 16
	maxTier      = 30 * day
	maxAttempts  = 1000
	maxSnoozes   = 10_000
	maxSnoozeAge = 365 * day
)

const day = 24 * time.Hour

// Parts of an automatic idempotency window.
const (
	windowMargin  = 2 * day  // for clocks, a weekend's outage, a rebalance that takes its time
	windowForEver = 30 * day // of a source that is kept for ever, which no finite window covers
)

// WithDefaults returns the policy with a value in every field. The slice is a copy.
func (p Policy) WithDefaults() Policy {
	p.Tiers = slices.Clone(p.Tiers)
	if len(p.Tiers) == 0 {
		p.Tiers = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute}
	}
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 5
	}
	if p.Jitter == 0 {
		p.Jitter = 0.2
	}
	if p.MaxJitter == 0 {
		p.MaxJitter = 10 * time.Second
	}
	if p.MaxSnoozes == 0 {
		p.MaxSnoozes = 100
	}
	if p.MaxSnoozeAge == 0 {
		p.MaxSnoozeAge = day
	}
	return p
}

// Validate returns everything that is wrong with the policy, joined, or nil. Defaults count as set.
func (p Policy) Validate() error {
	p = p.WithDefaults()
	errs := validateTiers(p.Tiers)
	if p.MaxAttempts < 1 || p.MaxAttempts > maxAttempts {
		errs = append(errs, fmt.Errorf("max_attempts %d: want 1 to %d", p.MaxAttempts, maxAttempts))
	}
	if math.IsNaN(p.Jitter) || p.Jitter > 1 {
		errs = append(errs, fmt.Errorf("jitter %v: want at most 1", p.Jitter))
	}
	if p.MaxJitter < 0 || p.MaxJitter > maxTier {
		errs = append(errs, fmt.Errorf("max_jitter %s: want 0s to %s", p.MaxJitter, maxTier))
	}
	if p.MaxSnoozes < 0 || p.MaxSnoozes > maxSnoozes {
		errs = append(errs, fmt.Errorf("max_snoozes %d: want 0 to %d", p.MaxSnoozes, maxSnoozes))
	}
	if p.MaxSnoozeAge < 0 || p.MaxSnoozeAge > maxSnoozeAge {
		errs = append(errs, fmt.Errorf("max_snooze_age %s: want 0s to %s", p.MaxSnoozeAge, maxSnoozeAge))
	}
	return errors.Join(errs...)
}

func validateTiers(tiers []time.Duration) []error {
	var errs []error
	if len(tiers) > maxTiers {
		errs = append(errs, fmt.Errorf("tiers: %d of them, want at most %d", len(tiers), maxTiers))
	}
	for i, d := range tiers {
		switch {
		case d < time.Millisecond || d > maxTier:
			errs = append(errs, fmt.Errorf("tiers[%d] %s: want 1ms to %s", i, d, maxTier))
		case d%time.Millisecond != 0:
			errs = append(errs, fmt.Errorf("tiers[%d] %s: want whole milliseconds", i, d))
		case i > 0 && d <= tiers[i-1]:
			errs = append(errs, fmt.Errorf("tiers[%d] %s: want more than tiers[%d] %s", i, d, i-1, tiers[i-1]))
		}
	}
	return errs
}

// Stage returns the tier, counted from 0, in which a record waits that has used this many attempts, at least one (R15).
func (p Policy) Stage(attempts int) int {
	p = p.WithDefaults()
	return min(max(attempts, 1), len(p.Tiers)) - 1
}

// SnoozeStage returns the tier, counted from 0, for a record that is to wait this long: the longest one that is not
// longer, or else the first (R16).
func (p Policy) SnoozeStage(remaining time.Duration) int {
	p = p.WithDefaults()
	i, exact := slices.BinarySearch(p.Tiers, remaining)
	if exact {
		return i
	}
	return max(i-1, 0)
}

// Exhausted tells whether a record that has used this many attempts has none left.
func (p Policy) Exhausted(attempts int) bool { return attempts >= p.WithDefaults().MaxAttempts }

// Schedule returns the delay before each further attempt, without jitter: the first entry comes after the first
// failure. It is empty where there is only one attempt.
func (p Policy) Schedule() []time.Duration {
	p = p.WithDefaults()
	s := make([]time.Duration, 0, max(p.MaxAttempts-1, 0))
	for attempts := 1; attempts < p.MaxAttempts; attempts++ {
		s = append(s, p.Tiers[p.Stage(attempts)])
	}
	return s
}

// Horizon returns how long a record can take from its first failure to its last attempt: all delays of the schedule with
// full jitter. It leaves out snoozes, outages and the time that the handler itself takes.
func (p Policy) Horizon() time.Duration {
	p = p.WithDefaults()
	var sum time.Duration
	for _, d := range p.Schedule() {
		sum += p.Longest(d)
	}
	return sum
}

// Jittered returns the delay lengthened by jitter. u, from 0 to 1, is the caller's random number.
func (p Policy) Jittered(delay time.Duration, u float64) time.Duration {
	p = p.WithDefaults()
	extra := time.Duration(float64(delay) * max(p.Jitter, 0) * min(max(u, 0), 1))
	return delay + min(extra, p.MaxJitter)
}

// Longest returns the delay with full jitter.
func (p Policy) Longest(delay time.Duration) time.Duration { return p.Jittered(delay, 1) }

// AutoWindow returns how long an idempotency mark has to live so that it outlasts every copy of its record (R36): what
// the source keeps, the longest life in the stages, the longest snooze, and two days. A negative retention means a
// source that is kept for ever; no window covers that, and 30 days, or the life of a record in the stages if that is
// longer, is what it gets.
func (p Policy) AutoWindow(sourceRetention time.Duration) time.Duration {
	p = p.WithDefaults()
	life := p.Horizon() + p.MaxSnoozeAge + windowMargin
	if sourceRetention < 0 {
		return max(windowForEver, life)
	}
	if sourceRetention > math.MaxInt64-life {
		return math.MaxInt64
	}
	return sourceRetention + life
}
