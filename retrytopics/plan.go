package retrytopics

import (
	"fmt"
	"strconv"
	"strings"
)

// ChangeKind is what a change does to a topic.
type ChangeKind uint8

// The kinds of change. There is none that deletes or shrinks.
const (
	CreateTopic ChangeKind = iota + 1
	AddPartitions
	AlterConfig
)

// String returns the kind as words.
func (k ChangeKind) String() string {
	switch k {
	case CreateTopic:
		return "create topic"
	case AddPartitions:
		return "add partitions"
	case AlterConfig:
		return "alter config"
	}
	return "change(" + strconv.Itoa(int(k)) + ")"
}

// Change is one step from what a cluster has to what is wanted.
type Change struct {
	Kind  ChangeKind
	Topic string

	Partitions        int // of CreateTopic and AddPartitions: how many there will be
	HasPartitions     int // of AddPartitions: how many there are
	ReplicationFactor int // of CreateTopic

	Settings []Setting // of CreateTopic: all that are set; of AlterConfig: those that differ
}

// Setting is one setting of a topic.
type Setting struct {
	Name  string
	Has   string // empty where the topic does not exist
	Wants string
}

// String returns one line, for example "alter config orders.billing.dlt: retention.ms 604800000 -> -1".
func (c Change) String() string {
	var parts []string
	switch c.Kind {
	case CreateTopic:
		parts = append(parts, fmt.Sprintf("%d partitions, replication factor %d", c.Partitions, c.ReplicationFactor))
		for _, s := range c.Settings {
			parts = append(parts, s.Name+"="+s.Wants)
		}
	case AddPartitions:
		parts = append(parts, fmt.Sprintf("%d -> %d", c.HasPartitions, c.Partitions))
	case AlterConfig:
		for _, s := range c.Settings {
			parts = append(parts, s.Name+" "+s.Has+" -> "+s.Wants)
		}
	}
	return c.Kind.String() + " " + c.Topic + ": " + strings.Join(parts, ", ")
}

// Plan returns what is missing or differs, in the order in which [Apply] does it: dead letters, marks, stages, replay,
// control. It is empty where all is as wanted, and where the source does not exist, since everything follows the source.
//
// A plan never shrinks or deletes a topic and never names the source. A value that is more careful than ours is left
// alone. A setting that the broker does not know is set on new topics and not missed on old ones: some brokers that speak
// Kafka's protocol have no such setting, and a plan must come to an end.
func Plan(want Want, state State) []Change {
	var changes []Change
	for _, spec := range want.specs(state) {
		has, ok := state.Topics[spec.name]
		if !ok {
			changes = append(changes, spec.create())
			continue
		}
		if has.Partitions < spec.partitions {
			changes = append(changes, Change{
				Kind: AddPartitions, Topic: spec.name, Partitions: spec.partitions, HasPartitions: has.Partitions,
			})
		}
		if differ := spec.differing(has); len(differ) > 0 {
			changes = append(changes, Change{Kind: AlterConfig, Topic: spec.name, Settings: differ})
		}
	}
	return changes
}

func (t topicSpec) create() Change {
	c := Change{
		Kind: CreateTopic, Topic: t.name, Partitions: t.partitions, ReplicationFactor: t.replication,
		Settings: make([]Setting, 0, len(t.settings)),
	}
	for _, s := range t.settings {
		c.Settings = append(c.Settings, Setting{Name: s.name, Wants: s.want})
	}
	return c
}

func (t topicSpec) differing(has TopicState) []Setting {
	var differ []Setting
	for _, s := range t.settings {
		if value, told := has.Configs[s.name]; told && s.judge(value) != gradeFine {
			differ = append(differ, Setting{Name: s.name, Has: value, Wants: s.want})
		}
	}
	return differ
}

// Merge returns the changes of several plans in their order, without those that repeat: the sources of a group share its
// control topic.
func Merge(plans ...[]Change) []Change {
	var all []Change
	seen := make(map[string]bool)
	for _, plan := range plans {
		for _, c := range plan {
			if line := c.String(); !seen[line] {
				seen[line] = true
				all = append(all, c)
			}
		}
	}
	return all
}
