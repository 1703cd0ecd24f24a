package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
)

// trail holds the flags of "processor trail".
type trail struct {
	operation

	key string
}

func newTrail(env *environment) *cobra.Command {
	t := &trail{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "trail [RECORD]",
		Short: "Show where a record is, and what happened to it",
		Long: "trail follows one record through the source, the delay topics, the replay topic, the dead letters and the marks. RECORD is\n" +
			"topic/partition/offset in the source. With --key it follows all records of that key that were ever retried, replayed or\n" +
			"given up; a record that went well at once has its key nowhere but in the source.\n\n" +
			"Copies in the delay and replay topics are kept for a day after they have settled, then their part of the story is gone.\n\n" +
			"Exit code 3 means that there is no trace of it.",
		Example: "  processor trail orders/3/1042\n  processor trail --key customer-17",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (t.key != "") {
				return usageError("want a record, or --key")
			}
			return t.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error { return t.follow(ctx, c, args) })
		},
	}
	t.addFlags(cmd)
	t.addTopic(cmd)
	cmd.Flags().StringVar(&t.key, "key", "", "the record's key, instead of RECORD")
	return cmd
}

func (t *trail) follow(ctx context.Context, c *admin.Client, args []string) error {
	of := admin.TrailOf{Key: []byte(t.key), Source: t.topic}
	if len(args) == 1 {
		of.Origin = args[0]
	}
	steps, err := c.Trail(ctx, of)
	if err != nil {
		return err
	}
	if err := t.print(steps); err != nil {
		return err
	}
	if len(steps) == 0 {
		return &exitFailure{code: exitFindings}
	}
	return nil
}

func (t *trail) print(steps []admin.Step) error {
	if t.output == outputJSON {
		return writeJSON(t.env.stdout, steps)
	}
	if len(steps) == 0 {
		return write(t.env.stdout, "no trace of it\n")
	}
	last := ""
	for i := range steps {
		s := &steps[i]
		if name := s.Origin; name != last {
			if err := write(t.env.stdout, name+"\n"); err != nil {
				return err
			}
			last = name
		}
		if err := write(t.env.stdout, stepRow(s)); err != nil {
			return err
		}
	}
	return nil
}

// stepRow says what a step is, then where, and what the error was.
func stepRow(s *admin.Step) string {
	var row strings.Builder
	fmt.Fprintf(&row, "  %-20s  %-8s  %s\n", stamp(s.At), s.What, stepState(s))
	for _, line := range []string{s.Place, clip(s.Message, 66)} {
		if line != "" {
			fmt.Fprintf(&row, "  %-20s  %-8s  %s\n", "", "", line)
		}
	}
	return row.String()
}

func stepState(s *admin.Step) string {
	var parts []string
	if s.Run > 0 {
		parts = append(parts, fmt.Sprintf("task %d", s.Run))
	}
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	switch {
	case s.What == admin.StepDead && s.Settled:
		parts = append(parts, "resolved")
	case s.What == admin.StepDead, s.What == admin.StepDone, s.What == admin.StepTerminal, s.What == admin.StepClaim:
	case s.Settled:
		parts = append(parts, "settled")
	case !s.Due.IsZero():
		parts = append(parts, "due "+stamp(s.Due))
	default:
		parts = append(parts, "not settled")
	}
	return orDash(strings.Join(parts, ", "))
}
