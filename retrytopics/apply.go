package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// leaderPoll is how often Apply looks whether new partitions have a leader. An election takes tens of milliseconds.
const leaderPoll = 100 * time.Millisecond

// Apply makes the changes in their order and waits until every new partition has a leader, so that whoever reads or
// writes the topics next does not run into an election. It stops at the first change that the cluster refuses; what was
// done before stays, and planning again tells what is left. A change that somebody else has made meanwhile counts as done.
//
// It blocks until the cluster has answered or ctx ends; give it a deadline.
func Apply(ctx context.Context, adm *kadm.Client, changes []Change) error {
	widths := make(map[string]int)
	for _, c := range changes {
		if err := c.apply(ctx, adm); err != nil {
			return err
		}
		if c.Kind != AlterConfig {
			widths[c.Topic] = c.Partitions
		}
	}
	return awaitLeaders(ctx, adm, widths)
}

func (c Change) apply(ctx context.Context, adm *kadm.Client) error {
	var err error
	switch c.Kind {
	case CreateTopic:
		err = c.create(ctx, adm)
	case AddPartitions:
		err = c.widen(ctx, adm)
	case AlterConfig:
		err = c.alter(ctx, adm)
	default:
		err = errors.New("no such change")
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.Kind, c.Topic, err)
	}
	return nil
}

func (c Change) create(ctx context.Context, adm *kadm.Client) error {
	configs := make(map[string]*string, len(c.Settings))
	for _, s := range c.Settings {
		configs[s.Name] = new(s.Wants)
	}
	r, err := adm.CreateTopic(ctx, int32(c.Partitions), int16(c.ReplicationFactor), configs, c.Topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return explain(err, r.ErrMessage)
}

func (c Change) widen(ctx context.Context, adm *kadm.Client) error {
	rs, err := adm.UpdatePartitions(ctx, c.Partitions, c.Topic)
	if err != nil {
		return err //nolint:wrapcheck // apply names the change
	}
	r, err := rs.On(c.Topic, nil)
	if err == nil {
		err = r.Err
	}
	if errors.Is(err, kerr.InvalidPartitions) {
		if n, countErr := width(ctx, adm, c.Topic); countErr == nil && n >= c.Partitions {
			return nil
		}
	}
	return explain(err, r.ErrMessage)
}

func (c Change) alter(ctx context.Context, adm *kadm.Client) error {
	configs := make([]kadm.AlterConfig, 0, len(c.Settings))
	for _, s := range c.Settings {
		configs = append(configs, kadm.AlterConfig{Op: kadm.SetConfig, Name: s.Name, Value: new(s.Wants)})
	}
	rs, err := adm.AlterTopicConfigs(ctx, configs, c.Topic)
	if err != nil {
		return err //nolint:wrapcheck // apply names the change
	}
	r, err := rs.On(c.Topic, nil)
	if err == nil {
		err = r.Err
	}
	return explain(err, r.ErrMessage)
}

// explain adds what the broker said beyond its error code.
func explain(err error, message string) error {
	if err == nil || message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, message)
}

// width returns the number of partitions that a topic has now.
func width(ctx context.Context, adm *kadm.Client, topic string) (int, error) {
	details, err := adm.ListTopics(kadm.WithAuthorizedOps(ctx), topic)
	if err != nil {
		return 0, err //nolint:wrapcheck // only compared
	}
	return len(details[topic].Partitions), nil
}

// awaitLeaders blocks until each topic has as many partitions as it should, all of them with a leader, or ctx ends.
func awaitLeaders(ctx context.Context, adm *kadm.Client, widths map[string]int) error {
	tick := time.NewTicker(leaderPoll)
	defer tick.Stop()
	for topic, partitions := range widths {
		for {
			ready, err := hasLeaders(ctx, adm, topic, partitions)
			if err != nil {
				return fmt.Errorf("await leaders of topic %s: %w", topic, err)
			}
			if ready {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("await leaders of topic %s: %w", topic, context.Cause(ctx))
			}
		}
	}
	return nil
}

// hasLeaders tells whether the topic is complete. A topic that was just created is unknown to some brokers for a moment.
func hasLeaders(ctx context.Context, adm *kadm.Client, topic string, partitions int) (bool, error) {
	details, err := adm.ListTopics(kadm.WithAuthorizedOps(ctx), topic)
	if err != nil {
		return false, fmt.Errorf("describe topic: %w", err)
	}
	d := details[topic]
	if d.Err != nil && !kerr.IsRetriable(d.Err) {
		return false, d.Err
	}
	if len(d.Partitions) < partitions {
		return false, nil
	}
	for _, p := range d.Partitions {
		if p.Leader < 0 {
			return false, nil
		}
	}
	return true, nil
}
