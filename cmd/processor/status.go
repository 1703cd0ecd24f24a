package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
)

// status holds the flags of "processor status".
type status struct {
	operation

	all bool
}

func newStatus(env *environment) *cobra.Command {
	s := &status{operation: operation{env: env}}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the group owes, since when, and who works on it",
		Long: "status asks the brokers how the group is doing; it needs no worker. For each partition of a source it shows who owns\n" +
			"it, how many records are not settled, the age of the oldest of them, what waits in the delay topics, what of it should\n" +
			"have run by now, what waits to be replayed, and the dead letters that nobody has dealt with.\n\n" +
			"Records that are settled above the committed offset are not counted as lag, unlike with tools that know the committed\n" +
			"offset only. Partitions where nothing is owed are left out unless --all is given.",
		Example: "  processor status\n  processor status -o json | jq 'select(.kind == \"lane\" and .unsettled > 0)'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), func(ctx context.Context, c *admin.Client) error {
				now := time.Now()
				got, err := c.Status(ctx, now)
				if err != nil {
					return err
				}
				return s.print(got, now)
			})
		},
	}
	s.addFlags(cmd)
	cmd.Flags().BoolVar(&s.all, "all", false, "show partitions where nothing is owed, too")
	return cmd
}

func (s *status) print(got *admin.Status, now time.Time) error {
	if s.output == outputJSON {
		return printStatusJSON(s.env.stdout, got, now)
	}
	if err := write(s.env.stdout, statusHead(got)); err != nil {
		return err
	}
	if rows := laneRows(got, now, s.all); len(rows) > 0 {
		header := []string{"LANE", "OWNER", "LAG", "OLDEST", "WAITING", "OVERDUE", "REPLAYS", "DEAD", "SINCE"}
		if err := writeTable(s.env.stdout, header, rows); err != nil {
			return err
		}
	}
	if rows := tierRows(got); len(rows) > 0 {
		if err := write(s.env.stdout, "\n"); err != nil {
			return err
		}
		if err := writeTable(s.env.stdout, []string{"TOPIC", "WAITING", "OVERDUE"}, rows); err != nil {
			return err
		}
	}
	return write(s.env.stdout, statusNotes(got))
}

func statusHead(got *admin.Status) string {
	return fmt.Sprintf("group %s: %s, %s, %s; lag %d, dead letters %d\n", got.Group, got.State, count(len(got.Members), "member"),
		count(len(got.Lanes), "lane"), got.Lag(), got.DeadLetters())
}

func laneRows(got *admin.Status, now time.Time, all bool) [][]string {
	const topicWidth, ownerWidth = 18, 14
	hosts := map[string]string{}
	for _, m := range got.Members {
		hosts[m.ID] = m.Host
		if m.Instance != "" {
			hosts[m.ID] = m.Instance
		}
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	var rows [][]string
	for i := range got.Lanes {
		l := &got.Lanes[i]
		if !all && l.Unsettled+l.Waiting+l.Replays+l.DeadLetters == 0 && l.Unread == "" && l.Suspects == 0 {
			continue
		}
		rows = append(rows, []string{
			clip(l.Source, topicWidth) + "/" + strconv.Itoa(int(l.Partition)), clip(orDash(hosts[l.Member]), ownerWidth), number(l.Unsettled),
			age(l.Oldest, now), number(l.Waiting), number(l.Overdue), number(l.Replays), number(l.DeadLetters), age(l.OldestDead, now),
		})
	}
	return rows
}

func tierRows(got *admin.Status) [][]string {
	var rows [][]string
	for _, t := range got.Tiers {
		if t.Waiting > 0 {
			rows = append(rows, []string{t.Topic, strconv.FormatInt(t.Waiting, 10), strconv.FormatInt(t.Overdue, 10)})
		}
	}
	return rows
}

// statusNotes says what the numbers do not, and what to do next.
func statusNotes(got *admin.Status) string {
	notes := ""
	unowned := 0
	for i := range got.Lanes {
		l := &got.Lanes[i]
		lane := fmt.Sprintf("%s/%d", l.Source, l.Partition)
		if l.Member == "" {
			unowned++
		}
		if l.Unread != "" {
			notes += fmt.Sprintf("%s: what is settled above the committed offset is not known:\n  %s\n", lane, l.Unread)
		}
		if l.Unclean > 1 || l.Suspects > 0 {
			notes += fmt.Sprintf("%s: its last %d lives ended uncleanly; %s under suspicion\n", lane, l.Unclean, count(l.Suspects, "record"))
		}
	}
	if unowned > 0 {
		notes += fmt.Sprintf("nobody works on %d of %s\n", unowned, count(len(got.Lanes), "lane"))
	}
	if got.DeadLetters() > 0 {
		notes += "processor dlt groups shows why records were given up\n"
	}
	if notes != "" {
		notes = "\n" + notes
	}
	return notes
}

// The lines of "status -o json". Ages are in seconds, as of the time of the group line.
type (
	statusGroup struct {
		Kind        string    `json:"kind"` // group
		Group       string    `json:"group"`
		State       string    `json:"state"`
		At          time.Time `json:"at"`
		Members     int       `json:"members"`
		Lanes       int       `json:"lanes"`
		Lag         int64     `json:"lag"`
		DeadLetters int64     `json:"dead_letters"`
	}
	statusMember struct {
		Kind     string `json:"kind"` // member
		ID       string `json:"id"`
		Instance string `json:"instance,omitempty"`
		Client   string `json:"client"`
		Host     string `json:"host"`
		Lanes    int    `json:"lanes"`
	}
	statusLane struct {
		Kind        string  `json:"kind"` // lane
		Topic       string  `json:"topic"`
		Partition   int32   `json:"partition"`
		Member      string  `json:"member,omitempty"`
		Committed   int64   `json:"committed"`
		End         int64   `json:"end"`
		Unsettled   int64   `json:"unsettled"`
		OldestAge   float64 `json:"oldest_age"`
		Waiting     int64   `json:"waiting"`
		Overdue     int64   `json:"overdue"`
		Replays     int64   `json:"replays"`
		DeadLetters int64   `json:"dead_letters"`
		DeadAge     float64 `json:"oldest_dead_letter_age"`
		Tenure      int64   `json:"tenure"`
		Unclean     int     `json:"unclean_lives"`
		Suspects    int     `json:"suspects"`
		Unread      string  `json:"unread_metadata,omitempty"`
	}
	statusTier struct {
		Kind    string  `json:"kind"` // tier
		Topic   string  `json:"topic"`
		Source  string  `json:"source"`
		Delay   float64 `json:"delay"` // seconds; 0 for the replay topic
		Waiting int64   `json:"waiting"`
		Overdue int64   `json:"overdue"`
	}
)

func printStatusJSON(w io.Writer, got *admin.Status, now time.Time) error {
	seconds := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return max(now.Sub(t), 0).Round(time.Millisecond).Seconds()
	}
	lines := []any{statusGroup{"group", got.Group, got.State, now.UTC().Truncate(time.Millisecond), len(got.Members), len(got.Lanes), got.Lag(), got.DeadLetters()}}
	for _, m := range got.Members {
		lines = append(lines, statusMember{"member", m.ID, m.Instance, m.Client, m.Host, m.Lanes})
	}
	for i := range got.Lanes {
		l := &got.Lanes[i]
		lines = append(lines, statusLane{
			"lane", l.Source, l.Partition, l.Member, l.Committed, l.End, l.Unsettled, seconds(l.Oldest), l.Waiting, l.Overdue, l.Replays,
			l.DeadLetters, seconds(l.OldestDead), l.Tenure, l.Unclean, l.Suspects, l.Unread,
		})
	}
	for _, t := range got.Tiers {
		lines = append(lines, statusTier{"tier", t.Topic, t.Source, t.Delay.Seconds(), t.Waiting, t.Overdue})
	}
	return writeJSON(w, lines)
}
