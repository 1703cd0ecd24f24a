package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
)

// tasks holds the flags of the commands about tasks.
type tasks struct {
	operation

	reason  string
	execute bool
	all     bool
}

func newTask(env *environment) *cobra.Command {
	return group(&cobra.Command{
		Use:   "task",
		Short: "Follow, cancel and resume tasks that send records again",
		Long: "task looks after what \"dlt redrive\", \"dlt discard\" and \"replay\" have made. Tasks live in the group's control topic, so\n" +
			"any machine shows, cancels and resumes them.",
	}, newTaskList(env), newTaskShow(env), newTaskCancel(env), newTaskResume(env))
}

func newTaskList(env *environment) *cobra.Command {
	t := &tasks{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the tasks of the group",
		Long:    "ls lists the tasks that have not ended, or with --all every task that the control topic has, the oldest first.",
		Example: "  processor task ls --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error {
				got, err := c.Tasks(ctx, time.Now())
				if err != nil {
					return err
				}
				return t.printList(got)
			})
		},
	}
	t.addFlags(cmd)
	cmd.Flags().BoolVar(&t.all, "all", false, "those that have ended, too")
	return cmd
}

func newTaskShow(env *environment) *cobra.Command {
	t := &tasks{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show a task, and what came back of it",
		Long: "show prints what a task is about, how far it is, and how many of the records that it sent are dead letters again. For\n" +
			"the latter it reads the dead letter topic.",
		Example: "  processor task show 42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := taskNumber(args[0])
			if err != nil {
				return err
			}
			return t.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error {
				task, err := c.Task(ctx, number, time.Now())
				if err != nil {
					return err
				}
				returned, err := c.Returned(ctx, task)
				if err != nil {
					return err
				}
				return printTask(env.stdout, t.output, task, &returned)
			})
		},
	}
	t.addFlags(cmd)
	return cmd
}

func newTaskCancel(env *environment) *cobra.Command {
	t := &tasks{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "cancel NUMBER",
		Short: "End a task before it is done",
		Long: "cancel ends a task. A process that works on it notices within seconds; what was sent by then stays sent. A cancelled\n" +
			"task cannot be resumed; make a new one for what is left.\n\n" +
			"Without --execute it only shows the task." + exitPlanText,
		Example: "  processor task cancel 42 --execute --reason \"they fail again\"",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return t.cancel(cmd.Context(), args[0]) },
	}
	t.addFlags(cmd)
	cmd.Flags().StringVar(&t.reason, "reason", "", "why; it is recorded with the task, and needed to execute")
	cmd.Flags().BoolVar(&t.execute, "execute", false, "do it")
	return cmd
}

func (t *tasks) cancel(ctx context.Context, text string) error {
	number, err := taskNumber(text)
	switch {
	case err != nil:
		return err
	case t.execute && t.reason == "":
		return usageError("--execute needs --reason")
	}
	return t.run(ctx, func(ctx context.Context, c *admin.Client) error {
		task, err := c.Task(ctx, number, time.Now())
		if err == nil && t.execute {
			task, err = c.Cancel(ctx, number, t.env.operator(), t.reason, time.Now())
		}
		if err != nil {
			return err
		}
		if err := printTask(t.env.stdout, t.output, task, nil); err != nil {
			return err
		}
		if !t.execute && !task.Phase.Ended() {
			return &exitFailure{code: exitFindings}
		}
		return nil
	})
}

func newTaskResume(env *environment) *cobra.Command {
	t := &tasks{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "resume NUMBER",
		Short: "Go on with a task that was interrupted",
		Long: "resume works on a task from where it stopped, on this machine. It is refused while another process works on it, and for\n" +
			"half a minute after one that was killed did so last.",
		Example: "  processor task resume 42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := taskNumber(args[0])
			if err != nil {
				return err
			}
			c, err := t.open()
			if err != nil {
				return err
			}
			defer c.Close()
			return carryOut(cmd.Context(), env, t.output, c, number)
		},
	}
	addOutput(cmd, &t.output)
	return cmd
}

func taskNumber(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, usageError("task %s: want its number", text)
	}
	return uint32(n), nil
}

// carryOut works on a task and shows how it gets on. A first signal leaves it paused.
func carryOut(ctx context.Context, env *environment, form output, c *admin.Client, number uint32) error {
	p := &progress{w: env.stderr, live: isTerminal(env.stderr)}
	fmt.Fprintf(env.stderr, "task %d: an interrupt pauses it, \"processor task resume %d\" goes on with it\n", number, number)
	task, err := c.Execute(ctx, number, func(t admin.Task) { p.show(t, time.Now()) })
	p.end()
	if task == nil {
		return err
	}
	if printErr := printTask(env.stdout, form, task, nil); printErr != nil {
		return errors.Join(err, printErr)
	}
	return err
}

// progress shows how a task gets on: on a terminal a line that changes, elsewhere a line now and then.
type progress struct {
	w    io.Writer
	live bool
	next time.Time
	line bool // the cursor stands behind a line that changes
}

const (
	liveInterval = 200 * time.Millisecond
	lineInterval = 10 * time.Second
)

func (p *progress) show(t admin.Task, now time.Time) {
	if now.Before(p.next) || t.Phase.Ended() {
		return
	}
	total := int64(0)
	for _, s := range t.Spec.Spans {
		total += s.Len()
	}
	text := fmt.Sprintf("%d sent, %d resolved, %d of %d looked at", t.Progress.Sent, t.Progress.Resolved, total-t.Left(), total)
	if p.live {
		p.next, p.line = now.Add(liveInterval), true
		fmt.Fprintf(p.w, "\r%-78s", bar(total-t.Left(), total)+" "+text)
		return
	}
	p.next = now.Add(lineInterval)
	fmt.Fprintln(p.w, text)
}

func (p *progress) end() {
	if p.line {
		fmt.Fprintln(p.w)
	}
}

// bar draws how much of a whole is done.
func bar(done, total int64) string {
	const width = 20
	n := 0
	if total > 0 {
		n = int(done * width / total)
	}
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", width-n) + "]"
}

// isTerminal tells whether somebody may be watching.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
