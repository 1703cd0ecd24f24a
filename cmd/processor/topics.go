package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/laneway-go/laneway/internal/config"
	"github.com/laneway-go/laneway/retrytopics"
)

// topics holds the flags of "processor topics plan" and "apply".
type topics struct {
	env     *environment
	output  output
	timeout time.Duration
	execute bool
}

func newTopics(env *environment) *cobra.Command {
	return group(&cobra.Command{
		Use:   "topics",
		Short: "Plan and make the topics that a worker keeps",
		Long: "topics looks after the topics that a worker keeps for its group: the retry tiers, replay, the dead letters, the\n" +
			"idempotency marks and control. It never creates, changes or deletes a source topic, and never shrinks one.",
	}, newTopicsPlan(env), newTopicsApply(env))
}

func newTopicsPlan(env *environment) *cobra.Command {
	t := &topics{env: env}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show which topics are missing or differ",
		Long: "plan compares the topics of the cluster with those that the configuration asks for, and changes nothing.\n" +
			"With -o json a topic to create has all its settings.\n\n" +
			"Exit code 3 means that something is missing, differs or is wrong.",
		Example: "  processor topics plan -c laneway.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context()) },
	}
	t.addFlags(cmd)
	return cmd
}

func newTopicsApply(env *environment) *cobra.Command {
	t := &topics{env: env}
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Create and widen topics, and set their settings",
		Long: "apply makes what plan shows. Without --execute it only plans. What was done before an error stays; run it again.\n\n" +
			"Exit code 3 means that, without --execute, there is something to do, or that something is wrong that apply\n" +
			"cannot repair.",
		Example: "  processor topics apply -c laneway.yaml --execute",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context()) },
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&t.execute, "execute", false, "make the changes")
	return cmd
}

func (t *topics) addFlags(cmd *cobra.Command) {
	addOutput(cmd, &t.output)
	cmd.Flags().DurationVar(&t.timeout, "timeout", time.Minute, "how long the cluster may take in all")
}

func (t *topics) run(ctx context.Context) error {
	cfg, err := t.env.loadConfig()
	if err != nil {
		return err
	}
	client, err := connect(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("not done within %s", t.timeout))
	defer cancel()
	adm := kadm.NewClient(client)
	d, err := compare(ctx, adm, cfg)
	if err != nil {
		return because(ctx, fmt.Errorf("read topics from %s: %w", strings.Join(cfg.Brokers, ", "), err))
	}
	if err := t.print(d); err != nil {
		return err
	}
	if t.execute && len(d.changes) > 0 {
		if err := retrytopics.Apply(ctx, adm, d.changes); err != nil {
			return because(ctx, fmt.Errorf("apply: %w", err))
		}
		if t.output == outputText {
			fmt.Fprintf(t.env.stdout, "made %s\n", count(len(d.changes), "change"))
		}
		d.changes = nil
	}
	if len(d.changes) > 0 || retrytopics.Refuse(d.problems) != nil {
		return &exitFailure{code: exitFindings}
	}
	return nil
}

// because adds why the context ended to an error that came of it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// difference is what lies between a cluster and a configuration.
type difference struct {
	changes  []retrytopics.Change
	problems []retrytopics.Problem // those that no change repairs
}

// compare reads the topics of all sources and plans what to do about each.
func compare(ctx context.Context, adm *kadm.Client, cfg *config.Config) (difference, error) {
	wants, err := cfg.Wants()
	if err != nil {
		return difference{}, err
	}
	state, err := retrytopics.Read(ctx, adm, wants...)
	if err != nil {
		return difference{}, err
	}
	var d difference
	var problems []retrytopics.Problem
	for _, want := range wants {
		d.changes = retrytopics.Merge(d.changes, retrytopics.Plan(want, state))
		problems = append(problems, retrytopics.Verify(want, state)...)
	}
	for _, p := range problems {
		if !d.repairs(p) && !slices.Contains(d.problems, p) {
			d.problems = append(d.problems, p)
		}
	}
	return d, nil
}

// repairs says whether one of the changes takes care of the problem.
func (d difference) repairs(p retrytopics.Problem) bool {
	return slices.ContainsFunc(d.changes, func(c retrytopics.Change) bool {
		switch {
		case c.Topic != p.Topic:
			return false
		case c.Kind == retrytopics.AlterConfig:
			return slices.ContainsFunc(c.Settings, func(s retrytopics.Setting) bool { return s.Name == p.Setting })
		default:
			return p.Setting == "topic" || p.Setting == "partitions"
		}
	})
}
