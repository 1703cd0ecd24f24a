package retrytopics

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Names of topic settings.
const (
	settingCleanup       = "cleanup.policy"
	settingRetention     = "retention.ms"
	settingRetentionSize = "retention.bytes"
	settingTimestamp     = "message.timestamp.type"
	settingMaxMessage    = "max.message.bytes"
	settingMinISR        = "min.insync.replicas"
	settingUnclean       = "unclean.leader.election.enable"
	settingSegment       = "segment.bytes"
	settingCompactionLag = "max.compaction.lag.ms"
)

// Values of topic settings.
const (
	cleanupCompact = "compact"
	cleanupDelete  = "delete"
	appendTime     = "LogAppendTime"
	unlimited      = "-1"
)

const (
	// defaultMaxMessage is Kafka's own max.message.bytes, for a source that does not tell.
	defaultMaxMessage = 1_048_588

	// markSegment keeps the segments of marks small: only closed ones are compacted or deleted (R36).
	markSegment = 64 << 20

	// markCompactionLag closes and compacts a segment that fills slowly. Shorter means that the whole topic is rewritten
	// more often; longer, that a take-over reads more marks that are out of date.
	markCompactionLag = 6 * time.Hour

	// safeReplicas is where losing one broker must not lose an acknowledged record, and safeMinISR is what that takes.
	safeReplicas = 3
	safeMinISR   = 2
)

// grade is how bad a value is.
type grade uint8

const (
	gradeFine   grade = iota
	gradeAdvice       // works, but not as well: a warning
	gradeBroken       // can lose, stop or repeat records: the worker does not start
)

// settingSpec is one setting of a topic: what it is given, and which other values will do.
type settingSpec struct {
	name  string
	want  string
	judge func(has string) grade
}

// keptSettings are those of stages, replay and dead letter topics, whose records nobody but us may remove (R36). A
// retention of 0 means for ever.
func keptSettings(source TopicState, retention time.Duration) []settingSpec {
	return append([]settingSpec{
		{settingCleanup, cleanupDelete, func(has string) grade {
			return brokenUnless(slices.Equal(policies(has), []string{cleanupDelete}))
		}},
		keepFor(retention),
		exactly(settingRetentionSize, unlimited),
		// By the producer's clock, a source timestamp in the future would be refused for ever, and one far in the past
		// would be deleted at once by a finite retention. The source's own time is in the envelope.
		exactly(settingTimestamp, appendTime),
		atLeast(settingMaxMessage, min(number(source.Configs[settingMaxMessage], defaultMaxMessage)+HeaderRoom, math.MaxInt32)),
	}, durable(source)...)
}

// markSettings are those of the idempotency topic. Retention catches what compaction leaves behind when a topic is no
// longer written to; while it is, the owner's tombstones do that.
func markSettings(source TopicState, window time.Duration) []settingSpec {
	return append([]settingSpec{
		{settingCleanup, cleanupCompact + "," + cleanupDelete, func(has string) grade {
			switch p := policies(has); {
			case !slices.Contains(p, cleanupCompact):
				return gradeBroken
			case !slices.Contains(p, cleanupDelete):
				return gradeAdvice
			}
			return gradeFine
		}},
		keepFor(window),
		exactly(settingRetentionSize, unlimited),
		atMost(settingSegment, markSegment),
		atMost(settingCompactionLag, markCompactionLag.Milliseconds()),
	}, durable(source)...)
}

// controlSettings are those of the control topic, which holds the newest state of each task and order.
func controlSettings(source TopicState) []settingSpec {
	return append([]settingSpec{
		{settingCleanup, cleanupCompact, func(has string) grade {
			return brokenUnless(slices.Equal(policies(has), []string{cleanupCompact}))
		}},
	}, durable(source)...)
}

// durable are the settings of all our topics: a record that was acknowledged and then taken away by an election is a loss
// that no rule repairs (R36). The number of replicas in sync follows the source.
func durable(source TopicState) []settingSpec {
	need := number(source.Configs[settingMinISR], 1)
	if source.ReplicationFactor >= safeReplicas {
		need = max(need, safeMinISR)
	}
	need = min(need, int64(max(source.ReplicationFactor, 1)))
	enough := func(has string) grade {
		switch n := number(has, 0); {
		case n >= need:
			return gradeFine
		case n < safeMinISR && source.ReplicationFactor >= safeReplicas:
			return gradeBroken
		}
		return gradeAdvice
	}
	return []settingSpec{{settingMinISR, strconv.FormatInt(need, 10), enough}, exactly(settingUnclean, "false")}
}

func exactly(name, want string) settingSpec {
	return settingSpec{name, want, func(has string) grade { return brokenUnless(has == want) }}
}

func atLeast(name string, want int64) settingSpec {
	return settingSpec{name, strconv.FormatInt(want, 10), func(has string) grade { return brokenUnless(number(has, 0) >= want) }}
}

func atMost(name string, want int64) settingSpec {
	return settingSpec{name, strconv.FormatInt(want, 10), func(has string) grade {
		if n := number(has, -1); n >= 0 && n <= want {
			return gradeFine
		}
		return gradeAdvice
	}}
}

// keepFor is a retention of at least d, or for ever where d is 0.
func keepFor(d time.Duration) settingSpec {
	want := unlimited
	if d > 0 {
		want = strconv.FormatInt(ceilMilliseconds(d), 10)
	}
	return settingSpec{settingRetention, want, func(has string) grade {
		return brokenUnless(has == unlimited || d > 0 && number(has, 0) >= ceilMilliseconds(d))
	}}
}

func ceilMilliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

func brokenUnless(ok bool) grade {
	if ok {
		return gradeFine
	}
	return gradeBroken
}

// number reads a number, or takes another where there is none.
func number(text string, otherwise int64) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}
