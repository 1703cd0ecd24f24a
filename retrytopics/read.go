package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Read returns what the cluster has of the topics that are wanted: the sources, ours, the control topics, and stages that
// a former configuration left behind. It needs the permission to describe them and their settings, and blocks until the
// brokers have answered or ctx ends.
func Read(ctx context.Context, adm *kadm.Client, wants ...Want) (State, error) {
	// Asked for the authorized operations, the client does not answer from its cache, which may be minutes old.
	details, err := adm.ListTopics(kadm.WithAuthorizedOps(ctx))
	if err != nil {
		return State{}, fmt.Errorf("list topics: %w", err)
	}
	state := State{Topics: make(map[string]TopicState)}
	for name, d := range details {
		if !slices.ContainsFunc(wants, func(w Want) bool { return w.Names.concerns(name) }) {
			continue
		}
		if d.Err != nil {
			return State{}, fmt.Errorf("describe topic %s: %w", name, d.Err)
		}
		state.Topics[name] = TopicState{Partitions: len(d.Partitions), ReplicationFactor: fewestReplicas(d.Partitions)}
	}
	return state, state.readConfigs(ctx, adm)
}

// concerns tells whether the topic is the source, one of ours or the control topic.
func (n Names) concerns(topic string) bool {
	_, ours := n.Role(topic)
	return ours || topic == n.source || topic == n.Control()
}

// fewestReplicas counts the replicas of the partition that has the fewest: while partitions move, others have more.
func fewestReplicas(partitions kadm.PartitionDetails) int {
	fewest := 0
	for _, p := range partitions {
		if n := len(p.Replicas); fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}

func (s State) readConfigs(ctx context.Context, adm *kadm.Client) error {
	names := slices.Sorted(maps.Keys(s.Topics))
	resources, err := adm.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return fmt.Errorf("describe settings of topics %s: %w", strings.Join(names, ", "), err)
	}
	var errs []error
	for _, r := range resources {
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("describe settings of topic %s: %w", r.Name, r.Err))
			continue
		}
		t := s.Topics[r.Name]
		t.Configs = make(map[string]string, len(r.Configs))
		for _, c := range r.Configs {
			if c.Value != nil {
				t.Configs[c.Key] = *c.Value
			}
		}
		s.Topics[r.Name] = t
	}
	return errors.Join(errs...)
}
