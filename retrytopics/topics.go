package retrytopics

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Want says what the topics of one source and one group have to be like.
type Want struct {
	Names  Names
	Policy Policy

	// Partitions is the width; 0 means that of the source. A larger number grows our topics ahead of the source, which
	// is the order in which a source grows without a lane that lacks a topic (R37).
	Partitions int

	// NoIdempotency leaves out the idempotency topic: the mode is off.
	NoIdempotency bool

	// Window is how long a mark has to be kept; 0 means [Want.AutoWindow].
	Window time.Duration

	// DLTRetention is how long a dead letter is kept; 0 means for ever.
	DLTRetention time.Duration
}

// State is what a cluster has: the source topics, ours, and the control topics, by name. A topic that is not in it does
// not exist.
type State struct {
	Topics map[string]TopicState
}

// TopicState is one topic of a cluster.
type TopicState struct {
	Partitions        int
	ReplicationFactor int               // of the partition that has the fewest replicas
	Configs           map[string]string // all settings that the broker tells, defaults included
}

// AutoWindow returns the window that the source's retention asks for (see [Policy.AutoWindow]), and whether the source is
// kept for ever, so that no window covers it. It is for ever too where the source is compacted only or missing.
func (w Want) AutoWindow(s State) (window time.Duration, forEver bool) {
	retention := time.Duration(-1)
	source := s.Topics[w.Names.Source()]
	ms, err := strconv.ParseInt(source.Configs[settingRetention], 10, 64)
	if err == nil && ms >= 0 && slices.Contains(policies(source.Configs[settingCleanup]), cleanupDelete) {
		retention = fromMilliseconds(ms)
	}
	return w.Policy.AutoWindow(retention), retention < 0
}

// window returns the window that is wanted.
func (w Want) window(s State) time.Duration {
	if w.Window > 0 {
		return w.Window
	}
	auto, _ := w.AutoWindow(s)
	return auto
}

// topicSpec is what one of our topics has to be like.
type topicSpec struct {
	name        string
	partitions  int
	replication int
	single      bool // one partition, whatever the source has
	settings    []settingSpec
}

// specs returns our topics in the order in which they are created and widened (R37): a lane starts when it has all of
// its topics, and a record must never reach a stage whose dead letters have nowhere to go.
func (w Want) specs(s State) []topicSpec {
	source, ok := s.Topics[w.Names.Source()]
	if !ok {
		return nil
	}
	width := max(w.Partitions, source.Partitions)
	spec := func(name string, settings []settingSpec) topicSpec {
		return topicSpec{name: name, partitions: width, replication: source.ReplicationFactor, settings: settings}
	}
	all := []topicSpec{spec(w.Names.DLT(), keptSettings(source, w.DLTRetention))}
	if !w.NoIdempotency {
		all = append(all, spec(w.Names.Idempotency(), markSettings(source, w.window(s))))
	}
	for _, d := range w.allStages(s) {
		all = append(all, spec(w.Names.Stage(d), keptSettings(source, 0)))
	}
	all = append(all, spec(w.Names.Replay(), keptSettings(source, 0)))
	control := spec(w.Names.Control(), controlSettings(source))
	control.partitions, control.single = 1, true
	return append(all, control)
}

// Stages returns the delays of the stage topics of this source and group that exist, in order, whether they are still
// configured or not: those are the ones that a lane reads (R43).
func (w Want) Stages(s State) []time.Duration {
	var delays []time.Duration
	for name := range s.Topics {
		if d, ok := w.Names.ParseStage(name); ok {
			delays = append(delays, d)
		}
	}
	slices.Sort(delays)
	return delays
}

// allStages returns the delays of the stages that are configured or exist, in order: one that is no longer configured is
// looked after while it is there, but never created.
func (w Want) allStages(s State) []time.Duration {
	delays := slices.Concat(w.Policy.WithDefaults().Tiers, w.Stages(s))
	slices.Sort(delays)
	return slices.Compact(delays)
}

// policies splits the value of cleanup.policy.
func policies(value string) []string {
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	slices.Sort(list)
	return list
}

func fromMilliseconds(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}
