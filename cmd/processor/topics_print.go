package main

import (
	"fmt"
	"strconv"

	"github.com/laneway-go/laneway/retrytopics"
)

// topicChange is a change as JSON.
type topicChange struct {
	Change            string         `json:"change"` // create topic, add partitions or alter config
	Topic             string         `json:"topic"`
	Partitions        int            `json:"partitions,omitempty"`
	ReplicationFactor int            `json:"replication_factor,omitempty"`
	Settings          []topicSetting `json:"settings,omitempty"`
}

type topicSetting struct {
	Name  string `json:"name"`
	Has   string `json:"has,omitempty"`
	Wants string `json:"wants"`
}

// topicProblem is a problem as JSON.
type topicProblem struct {
	Severity string `json:"severity"` // error or warning
	Topic    string `json:"topic"`
	Setting  string `json:"setting"`
	Has      string `json:"has"`
	Wants    string `json:"wants"`
	Repair   string `json:"repair"`
}

func (t *topics) print(d difference) error {
	if t.output == outputJSON {
		return t.printJSON(d)
	}
	rows := changeRows(d.changes)
	if len(rows) > 0 {
		if err := writeTable(t.env.stdout, []string{"TOPIC", "CHANGE", "SETTING", "HAS", "WANTS"}, rows); err != nil {
			return err
		}
	}
	for _, p := range d.problems {
		if err := write(t.env.stdout, severity(p)+": "+p.String()+"\n"); err != nil {
			return err
		}
	}
	return write(t.env.stdout, t.summary(d)+"\n")
}

func (t *topics) summary(d difference) string {
	warnings := 0
	for _, p := range d.problems {
		if p.Warning {
			warnings++
		}
	}
	s := fmt.Sprintf("%s to make; besides, %s and %s", count(len(d.changes), "change"), count(len(d.problems)-warnings, "problem"), count(warnings, "warning"))
	if len(d.changes) > 0 && !t.execute {
		s += "\nprocessor topics apply --execute makes the changes"
	}
	return s
}

// changeRows returns a row for each thing that changes. The settings of a new topic are left out: they are the same for
// all topics of a kind, and nobody has to decide about them.
func changeRows(changes []retrytopics.Change) [][]string {
	var rows [][]string
	for _, c := range changes {
		row := func(what, has, wants string) {
			rows = append(rows, []string{c.Topic, c.Kind.String(), what, has, wants})
		}
		switch c.Kind {
		case retrytopics.CreateTopic:
			row("partitions", "-", fmt.Sprintf("%d (replication factor %d)", c.Partitions, c.ReplicationFactor))
		case retrytopics.AddPartitions:
			row("partitions", strconv.Itoa(c.HasPartitions), strconv.Itoa(c.Partitions))
		case retrytopics.AlterConfig:
			for _, s := range c.Settings {
				row(s.Name, s.Has, s.Wants)
			}
		}
	}
	return rows
}

func (t *topics) printJSON(d difference) error {
	changes := make([]topicChange, 0, len(d.changes))
	for _, c := range d.changes {
		one := topicChange{Change: c.Kind.String(), Topic: c.Topic, Partitions: c.Partitions, ReplicationFactor: c.ReplicationFactor}
		for _, s := range c.Settings {
			one.Settings = append(one.Settings, topicSetting(s))
		}
		changes = append(changes, one)
	}
	if err := writeJSON(t.env.stdout, changes); err != nil {
		return err
	}
	problems := make([]topicProblem, 0, len(d.problems))
	for _, p := range d.problems {
		problems = append(problems, topicProblem{severity(p), p.Topic, p.Setting, p.Has, p.Wants, p.Repair})
	}
	return writeJSON(t.env.stdout, problems)
}

func severity(p retrytopics.Problem) string {
	if p.Warning {
		return severityWarning
	}
	return severityError
}
