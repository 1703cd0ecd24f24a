package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
)

// change holds the flags of the commands that make a task.
type change struct {
	operation
	filter filterFlags

	kind             admin.Kind
	from, to         string // of a replay
	reason           string
	rate             float64
	rerunDone        bool
	allowExpired     bool
	includeUncertain bool
	execute          bool
}

const planText = "Without --execute it only plans: how many records, a sample, how many bytes, how long at the rate, how many are done\n" +
	"already, so that the worker will skip them, and how many are older than the idempotency window.\n\n"

const exitPlanText = "\n\nExit code 3 means that, without --execute, there is something to do."

func newRedrive(env *environment) *cobra.Command {
	c := &change{operation: operation{env: env}, kind: admin.KindRedrive}
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "Send dead letters again, to this group only",
		Long: "redrive sends dead letters again, through the group's own replay topic, at a low priority and a bounded rate, in order\n" +
			"within each partition. Other groups see nothing of it.\n\n" + planText +
			"With --execute it makes a task, which has a number, and works on it. The task is about what is in the topic now: a\n" +
			"record that fails again is a new dead letter, and is not sent by the same task again. An interrupted task goes on\n" +
			"with \"processor task resume\", on any machine." + exitPlanText,
		Example: "  processor dlt redrive --topic orders --cause 5f0c2a1b\n" +
			"  processor dlt redrive --failed-as exhausted --range @-2h --rate 50 --execute --reason \"card network is back\"",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.start(cmd.Context()) },
	}
	c.addFlags(cmd)
	c.filter.add(cmd)
	c.addSendFlags(cmd)
	return cmd
}

func newDiscard(env *environment) *cobra.Command {
	c := &change{operation: operation{env: env}, kind: admin.KindDiscard}
	cmd := &cobra.Command{
		Use:   "discard",
		Short: "Resolve dead letters without sending them",
		Long: "discard resolves dead letters that nobody needs any more: they are not listed again, and no task sends them. They stay\n" +
			"in the topic.\n\nWithout --execute it only plans." + exitPlanText,
		Example: "  processor dlt discard --topic orders --header tenant=test --execute --reason \"load test\"",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.start(cmd.Context()) },
	}
	c.addFlags(cmd)
	c.filter.add(cmd)
	return cmd
}

func newReplay(env *environment) *cobra.Command {
	c := &change{operation: operation{env: env}, kind: admin.KindReplay}
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Send a range of a source topic again, to this group only",
		Long: "replay sends records of a source topic again, through the group's own replay topic. The group's offsets stay, and other\n" +
			"groups see nothing of it. Records that are done already are skipped by the worker unless --rerun-done is given.\n\n" + planText +
			"FROM and TO are offsets, times or ages: 1042, start, end, @-2h, @2026-01-02T15:04:05Z." + exitPlanText,
		Example: "  processor replay --topic orders --from @-2h --to @-1h\n" +
			"  processor replay --topic orders --partition 3 --from 1000 --to 2000 --rerun-done --execute --reason \"ledger was restored\"",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.start(cmd.Context()) },
	}
	c.addFlags(cmd)
	cmd.Flags().Int32SliceVar(&c.filter.partitions, "partition", nil, "only this partition; may be repeated")
	cmd.Flags().StringVar(&c.from, "from", "", "where to begin")
	cmd.Flags().StringVar(&c.to, "to", "end", "where to end")
	_ = cmd.MarkFlagRequired("from") // it exists
	c.addSendFlags(cmd)
	return cmd
}

func (c *change) addFlags(cmd *cobra.Command) {
	c.operation.addFlags(cmd)
	c.addTopic(cmd)
	cmd.Flags().StringVar(&c.reason, "reason", "", "why; it is recorded with the task, and needed to execute it")
	cmd.Flags().BoolVar(&c.execute, "execute", false, "do it")
}

func (c *change) addSendFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&c.rate, "rate", admin.DefaultRate, "records a second; 0: no limit")
	flags.BoolVar(&c.rerunDone, "rerun-done", false, "run again what is done already")
	flags.BoolVar(&c.allowExpired, "allow-expired", false, "send what is older than the idempotency window, though it may be done")
	flags.BoolVar(&c.includeUncertain, "include-uncertain", false, "send what may have taken effect before its worker died")
}

func (c *change) spec(now time.Time) (admin.Spec, error) {
	spec := admin.Spec{
		Kind: c.kind, Source: c.topic, Rate: c.rate, RerunDone: c.rerunDone, AllowExpired: c.allowExpired, IncludeUncertain: c.includeUncertain,
		Reason: c.reason, By: c.env.operator(), At: now.UTC(),
	}
	if c.rate <= 0 {
		spec.Rate = -1
	}
	var err error
	if spec.Filter, err = c.filter.filter(now); err != nil {
		return spec, err
	}
	if c.kind != admin.KindReplay {
		return spec, nil
	}
	if spec.Filter.Range.From, err = admin.ParsePosition(c.from, now); err != nil {
		return spec, usageError("--from: %w", err)
	}
	if spec.Filter.Range.To, err = admin.ParsePosition(c.to, now); err != nil {
		return spec, usageError("--to: %w", err)
	}
	return spec, nil
}

// start plans, and with --execute makes the task and works on it.
func (c *change) start(ctx context.Context) error {
	if c.execute && c.reason == "" {
		return usageError("--execute needs --reason")
	}
	client, err := c.open()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := c.oneTopic(); err != nil {
		return err
	}
	now := time.Now()
	spec, err := c.spec(now)
	if err != nil {
		return err
	}
	plan, err := c.plan(ctx, client, spec, now)
	if err != nil {
		return err
	}
	if err := c.printPlan(plan); err != nil {
		return err
	}
	switch refusal := plan.Refusal(); {
	case errors.Is(refusal, admin.ErrNothing):
		return nil
	case !c.execute:
		return &exitFailure{code: exitFindings}
	case refusal != nil:
		return refusal
	}
	task, err := client.Create(ctx, plan)
	if err != nil {
		return err
	}
	return carryOut(ctx, c.env, c.output, client, task.Number)
}

func (c *change) plan(ctx context.Context, client *admin.Client, spec admin.Spec, now time.Time) (*admin.Plan, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("not planned within %s", c.timeout))
	defer cancel()
	plan, err := client.Plan(ctx, spec, now)
	if err != nil && ctx.Err() != nil {
		return nil, because(ctx, err)
	}
	return plan, err
}
