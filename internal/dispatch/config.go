package dispatch

import (
	"cmp"
	"time"
)

// Config describes a [Pool]. The zero value of a field means the default that its comment names.
type Config struct {
	Slots   int           // calls at once; default 64
	Timeout time.Duration // of one call; default 30 s
	Grace   time.Duration // past Timeout + Grace a call counts as stuck; default 10 s

	// MaxAbandoned bounds the stuck calls whose slots were replaced and that still run. A call that gets stuck beyond it
	// takes its slot along, until one of them returns. Default: Slots.
	MaxAbandoned int

	Stuck   StuckPolicy     // default Abandon
	OnStuck func(StuckInfo) // is told of each stuck call, from Run's goroutine; must not block; default: nobody

	Gate *Gate // shared by the pools of a process; default: one of the pool's own
}

// StuckPolicy says what a pool does about a call that ignores its time limit.
type StuckPolicy uint8

// The policies.
const (
	Abandon StuckPolicy = iota // the task comes back as [Stuck], the slot is replaced
	Crash                      // nothing starts any more, and [Pool.Run] returns [ErrStuck] when all other calls have returned
)

// String returns the policy's name.
func (s StuckPolicy) String() string {
	switch s {
	case Abandon:
		return "abandon"
	case Crash:
		return "crash"
	}
	return "unknown"
}

// StuckInfo tells of a call that ignores its time limit.
type StuckInfo struct {
	Token   uint64
	Owner   Owner
	Since   time.Time
	Stack   []byte // of the call's goroutine, at most 8 KiB; nil where it could not be had
	Slots   int    // that the pool has left
	Running int    // abandoned calls that still run, this one included
}

// maxDuration keeps sums of two limits from overflowing; no call lasts 100 years.
const maxDuration time.Duration = 100 * 365 * 24 * time.Hour

func (c Config) withDefaults() Config {
	c.Slots = cmp.Or(max(c.Slots, 0), 64)
	c.Timeout = min(cmp.Or(max(c.Timeout, 0), 30*time.Second), maxDuration)
	c.Grace = min(cmp.Or(max(c.Grace, 0), 10*time.Second), maxDuration)
	c.MaxAbandoned = cmp.Or(max(c.MaxAbandoned, 0), c.Slots)
	if c.Gate == nil {
		c.Gate = NewGate(0)
	}
	return c
}
