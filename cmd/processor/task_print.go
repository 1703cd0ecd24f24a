package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/laneway-go/laneway/admin"
)

// taskJSON is a task as JSON.
type taskJSON struct {
	Number           uint32       `json:"number"`
	Task             admin.Kind   `json:"task"` // redrive, discard or replay
	Topic            string       `json:"topic"`
	Phase            admin.Phase  `json:"phase"`
	Sent             int64        `json:"sent"`
	Resolved         int64        `json:"resolved"`
	Bytes            int64        `json:"bytes"`
	Uncertain        int64        `json:"uncertain"`
	Unsent           int64        `json:"unsent"`
	Left             int64        `json:"left"` // offsets of the snapshot that were not looked at
	Returned         *int64       `json:"returned,omitempty"`
	Rate             float64      `json:"rate"` // a second; 0: no limit
	RerunDone        bool         `json:"rerun_done"`
	AllowExpired     bool         `json:"allow_expired"`
	IncludeUncertain bool         `json:"include_uncertain"`
	Filter           admin.Filter `json:"filter"`
	Spans            []admin.Span `json:"spans"`
	Reason           string       `json:"reason"`
	By               string       `json:"by"`
	Created          time.Time    `json:"created"`
	At               time.Time    `json:"at"` // of the last news
	Holder           string       `json:"holder,omitempty"`
	Until            *time.Time   `json:"until,omitempty"` // end of the lease
	Error            string       `json:"error,omitempty"`
	Cancelled        string       `json:"cancelled,omitempty"` // why
}

func newTaskJSON(t *admin.Task, returned *int64) taskJSON {
	s := &t.Spec
	return taskJSON{
		Number: t.Number, Task: s.Kind, Topic: s.Source, Phase: t.Phase, Sent: t.Progress.Sent, Resolved: t.Progress.Resolved,
		Bytes: t.Progress.Bytes, Uncertain: t.Progress.Uncertain, Unsent: t.Progress.Unsent, Left: t.Left(), Returned: returned,
		Rate: max(s.Rate, 0), RerunDone: s.RerunDone, AllowExpired: s.AllowExpired, IncludeUncertain: s.IncludeUncertain, Filter: s.Filter,
		Spans: s.Spans, Reason: s.Reason, By: s.By, Created: s.At, At: t.At, Holder: t.Holder, Until: optional(t.Until), Error: t.Error,
		Cancelled: t.Cancel,
	}
}

func (t *tasks) printList(all []admin.Task) error {
	var lines []taskJSON
	var rows [][]string
	for i := range all {
		task := &all[i]
		if task.Phase.Ended() && !t.all {
			continue
		}
		lines = append(lines, newTaskJSON(task, nil))
		rows = append(rows, taskRow(task))
	}
	if t.output == outputJSON {
		return writeJSON(t.env.stdout, lines)
	}
	if len(rows) == 0 {
		return write(t.env.stdout, "no tasks\n")
	}
	return writeTable(t.env.stdout, []string{"TASK", "KIND", "TOPIC", "PHASE", "SENT", "RESOLVED", "LEFT", "CREATED", "REASON"}, rows)
}

func taskRow(t *admin.Task) []string {
	const topicWidth, reasonWidth = 14, 16
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		number(int64(t.Number)), string(t.Spec.Kind), clip(t.Spec.Source, topicWidth), string(t.Phase), number(t.Progress.Sent),
		number(t.Progress.Resolved), number(t.Left()), stamp(t.Spec.At.Truncate(time.Second)), clip(t.Spec.Reason, reasonWidth),
	}
}

func printTask(w io.Writer, form output, t *admin.Task, returned *int64) error {
	if form == outputJSON {
		return writeJSON(w, []taskJSON{newTaskJSON(t, returned)})
	}
	return write(w, taskReport(t, returned))
}

func taskReport(t *admin.Task, returned *int64) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, value)
		}
	}
	line("task", fmt.Sprintf("%d, %s of %s", t.Number, t.Spec.Kind, t.Spec.Source))
	line("phase", string(t.Phase))
	line("error", t.Error)
	line("cancelled", clip(t.Cancel, maxShown))
	line("sent", fmt.Sprintf("%d, %s", t.Progress.Sent, size(t.Progress.Bytes)))
	line("resolved", strconv.FormatInt(t.Progress.Resolved, 10))
	if n := t.Progress.Uncertain + t.Progress.Unsent; n > 0 {
		line("left out", fmt.Sprintf("%d that may have taken effect, %d that cannot be sent", t.Progress.Uncertain, t.Progress.Unsent))
	}
	if returned != nil {
		line("returned", fmt.Sprintf("%d are dead letters again", *returned))
	}
	line("left", strconv.FormatInt(t.Left(), 10)+" of its offsets were not looked at")
	line("reason", clip(t.Spec.Reason, maxShown))
	line("by", t.Spec.By)
	line("created", stamp(t.Spec.At))
	line("last news", stamp(t.At))
	if t.Phase == admin.PhaseRunning {
		line("holder", t.Holder+", until "+stamp(t.Until))
	}
	return b.String() + taskNext(t)
}

// taskNext names the command that comes next.
func taskNext(t *admin.Task) string {
	switch t.Phase {
	case admin.PhaseCreated, admin.PhasePaused, admin.PhaseStalled:
		return fmt.Sprintf("\nprocessor task resume %d\n", t.Number)
	case admin.PhaseDone:
		if t.Progress.Sent > 0 {
			return fmt.Sprintf("\nprocessor task show %d tells how many came back\n", t.Number)
		}
	case admin.PhaseRunning, admin.PhaseCancelling, admin.PhaseCancelled:
	}
	return ""
}
