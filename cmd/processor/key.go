package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/retrytopics"
)

func newKey(env *environment) *cobra.Command {
	return group(&cobra.Command{
		Use:   "key",
		Short: "Look at idempotency keys",
		Long:  "key deals with the idempotency keys that records carry. Records whose key is their origin are followed with \"trail\".",
	}, newKeyGet(env))
}

func newKeyGet(env *environment) *cobra.Command {
	o := &operation{env: env}
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Show what is remembered of an idempotency key",
		Long: "get shows all marks of a key, in all partitions: who has done its work, or has begun it. A key that is not printable is\n" +
			"given as b64: and its base64, as the laneway-idempotency-key header has it.\n\n" +
			"Exit code 3 means that nothing is remembered of it.",
		Example: "  processor key get payment-17 --topic orders",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := decodeKey(args[0])
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error {
				marks, err := c.Marks(ctx, o.topic, key)
				if err != nil {
					return err
				}
				return o.printMarks(marks)
			})
		},
	}
	o.addFlags(cmd)
	o.addTopic(cmd)
	return cmd
}

func (o *operation) printMarks(marks []admin.Mark) error {
	var err error
	switch {
	case o.output == outputJSON:
		err = writeJSON(o.env.stdout, marks)
	case len(marks) == 0:
		err = write(o.env.stdout, "nothing is remembered of it\n")
	default:
		rows := make([][]string, 0, len(marks))
		for _, m := range marks {
			rows = append(rows, markRow(m))
		}
		err = writeTable(o.env.stdout, []string{"MARK", "AT", "RECORD", "RUN", "TENURE", "OWNER"}, rows)
	}
	if err == nil && len(marks) == 0 {
		return &exitFailure{code: exitFindings}
	}
	return err
}

func markRow(m admin.Mark) []string {
	const recordWidth, ownerWidth = 28, 20
	kind := m.Kind
	if m.TakenBack {
		kind += " (taken back)"
	}
	return []string{kind, stamp(m.At), clip(m.Origin, recordWidth), fmt.Sprint(m.Run), fmt.Sprint(m.Tenure), clip(orDash(m.Owner), ownerWidth)}
}

func decodeKey(text string) ([]byte, error) {
	key, err := retrytopics.DecodeKey(text)
	if err != nil {
		return nil, usageError("key %s: %w", text, err)
	}
	return []byte(key), nil
}
