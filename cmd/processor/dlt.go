package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
)

// dlt is what the commands about dead letters share.
type dlt struct {
	operation
	filter filterFlags

	resolved bool
	values   bool
	limit    int
}

func newDLT(env *environment) *cobra.Command {
	return group(&cobra.Command{
		Use:   "dlt",
		Short: "Look at dead letters, send them again, or discard them",
		Long: "dlt deals with the records that the group gave up. A dead letter is resolved when a task has sent or discarded it;\n" +
			"only unresolved ones are shown unless --resolved is given. Nothing is ever deleted from the dead letter topic.",
	}, newDLTList(env), newDLTGroups(env), newDLTShow(env), newDLTExport(env), newRedrive(env), newDiscard(env))
}

// filterFlags are the flags that select dead letters.
type filterFlags struct {
	failedAs, classes, causes, keys, headers []string
	partitions                               []int32
	ranges                                   string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.failedAs, "failed-as", nil, "only those with this reason, such as permanent or exhausted; may be repeated")
	flags.StringArrayVar(&f.classes, "class", nil, "only those with this error class; may be repeated")
	flags.StringSliceVar(&f.causes, "cause", nil, "only those of this cause, by its id in \"dlt groups\"; may be repeated")
	flags.StringArrayVar(&f.keys, "key", nil, "only those with this record key; may be repeated")
	flags.StringArrayVar(&f.headers, "header", nil, "only those with this header, as NAME=VALUE; all that are given must hold")
	flags.Int32SliceVar(&f.partitions, "partition", nil, "only those of this partition; may be repeated")
	flags.StringVar(&f.ranges, "range", "", "only those in this part of the dead letter topic: 10:20, @-1h, @-2h:-1h")
}

func (f *filterFlags) filter(now time.Time) (admin.Filter, error) {
	out := admin.Filter{Reasons: f.failedAs, Classes: f.classes, Causes: f.causes, Partitions: f.partitions}
	for _, k := range f.keys {
		out.Keys = append(out.Keys, []byte(k))
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return out, usageError("--header %s: want NAME=VALUE", h)
		}
		out.Headers = append(out.Headers, admin.HeaderEqual{Name: name, Value: value})
	}
	var err error
	if out.Range, err = admin.ParseRange(f.ranges, now); err != nil {
		return out, usageError("--range: %w", err)
	}
	return out, nil
}

func (d *dlt) addFlags(cmd *cobra.Command) {
	d.operation.addFlags(cmd)
	d.addTopic(cmd)
	d.filter.add(cmd)
	cmd.Flags().BoolVar(&d.resolved, "resolved", false, "those that are resolved, too")
}

func (d *dlt) query() (admin.Query, error) {
	filter, err := d.filter.filter(time.Now())
	return admin.Query{Source: d.topic, Filter: filter, Resolved: d.resolved}, err
}

func newDLTList(env *environment) *cobra.Command {
	d := &dlt{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List dead letters",
		Long: "ls lists dead letters, one a line, in the order of the topic. A second copy that a crash has left is not shown.\n" +
			"PLACE is partition/offset in the dead letter topic, which \"dlt show\" takes. Values are shown with -o json and\n" +
			"--show-values only.",
		Example: "  processor dlt ls --topic orders --range @-1h\n  processor dlt ls --failed-as exhausted --key customer-17\n" +
			"  processor dlt ls -o json --limit 0 | jq -r .origin",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context(), d.list) },
	}
	d.addFlags(cmd)
	cmd.Flags().IntVar(&d.limit, "limit", defaultLimit, "how many are shown at most; 0: all")
	cmd.Flags().BoolVar(&d.values, "show-values", false, "with -o json: show values and the values of headers")
	return cmd
}

const defaultLimit = 100

// errEnough ends a list early.
var errEnough = errors.New("enough")

func (d *dlt) list(ctx context.Context, c *admin.Client) error {
	query, err := d.query()
	if err != nil {
		return err
	}
	printer := letterPrinter{d: d}
	err = c.DeadLetters(ctx, query, func(l *admin.DeadLetter) error {
		if d.limit > 0 && printer.shown == d.limit {
			return errEnough
		}
		return printer.print(l)
	})
	if errors.Is(err, errEnough) {
		return printer.more()
	}
	if err == nil && printer.shown == 0 && d.output == outputText {
		return write(d.env.stdout, "no dead letters\n")
	}
	return err
}

func newDLTGroups(env *environment) *cobra.Command {
	d := &dlt{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Group dead letters by their cause",
		Long: "groups shows why records were given up: the class of the error and its message, with numbers, ids and quoted text\n" +
			"masked. CAUSE is the id that --cause takes. RETURNED counts those that were sent again before, and came back.",
		Example: "  processor dlt groups\n  processor dlt groups --range @-1d -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error {
				query, err := d.query()
				if err != nil {
					return err
				}
				groups, err := c.Groups(ctx, query)
				if err != nil {
					return err
				}
				return d.printGroups(groups, time.Now())
			})
		},
	}
	d.addFlags(cmd)
	return cmd
}

func newDLTShow(env *environment) *cobra.Command {
	d := &dlt{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "show PLACE",
		Short: "Show one dead letter with all its evidence",
		Long: "show prints what is known of one dead letter: where it came from, why and when it was given up, what it carries, and\n" +
			"what to do next. PLACE is partition/offset, or topic/partition/offset, in the dead letter topic. The value is hidden\n" +
			"unless --show-values is given.",
		Example: "  processor dlt show 3/1042 --topic orders\n  processor dlt show orders.billing.dlt/3/1042 --show-values",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error {
				source, partition, offset, err := d.place(args[0])
				if err != nil {
					return err
				}
				l, err := c.DeadLetter(ctx, source, partition, offset)
				if err != nil {
					return err
				}
				if d.output == outputJSON {
					return writeJSON(d.env.stdout, []letterJSON{newLetterJSON(l, d.values)})
				}
				return write(d.env.stdout, showLetter(l, d.values))
			})
		},
	}
	d.operation.addFlags(cmd)
	d.addTopic(cmd)
	cmd.Flags().BoolVar(&d.values, "show-values", false, "show the value and the values of headers")
	return cmd
}

// place reads PARTITION/OFFSET or TOPIC/PARTITION/OFFSET.
func (d *dlt) place(text string) (source string, partition int32, offset int64, err error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		cfg, err := d.env.loadConfig()
		if err != nil {
			return "", 0, 0, err
		}
		wants, err := cfg.Wants()
		if err != nil {
			return "", 0, 0, err
		}
		for _, w := range wants {
			if w.Names.DLT() == parts[0] {
				d.topic = w.Names.Source()
				parts = parts[1:]
				break
			}
		}
	}
	if len(parts) != 2 {
		return "", 0, 0, usageError("%s: want PARTITION/OFFSET of a dead letter, or TOPIC/PARTITION/OFFSET", text)
	}
	p, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil {
		return "", 0, 0, usageError("%s: partition %s: want a number", text, parts[0])
	}
	if offset, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return "", 0, 0, usageError("%s: offset %s: want a number", text, parts[1])
	}
	return d.topic, int32(p), offset, d.oneTopic()
}

func newDLTExport(env *environment) *cobra.Command {
	d := &dlt{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters as JSON, one a line",
		Long: "export writes all dead letters that match to standard output, one JSON object a line, as \"dlt show -o json\" does.\n" +
			"Without --show-values it leaves out values and the values of headers. It takes the same memory for any number.",
		Example: "  processor dlt export --topic orders --show-values > orders.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.output = outputJSON
			return d.run(cmd.Context(), d.list)
		},
	}
	d.addTopic(cmd)
	d.filter.add(cmd)
	cmd.Flags().BoolVar(&d.resolved, "resolved", false, "those that are resolved, too")
	cmd.Flags().BoolVar(&d.values, "show-values", false, "write values and the values of headers, too")
	cmd.Flags().DurationVar(&d.timeout, "timeout", time.Hour, "how long it may take in all")
	return cmd
}
