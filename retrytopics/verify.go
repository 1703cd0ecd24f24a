package retrytopics

import (
	"errors"
	"fmt"
	"strconv"
)

// Problem is one thing about the topics that is not as it has to be.
type Problem struct {
	Topic   string
	Setting string // "topic", "partitions", "replication factor", or the name of a topic's setting or of one of ours
	Has     string
	Wants   string
	Repair  string // what to run or to do
	Warning bool   // works, but not as well; a worker starts all the same
}

// repairApply is the command that repairs whatever [Plan] covers.
const repairApply = "processor topics apply"

// String returns one line, for example "orders.billing.dlt: retention.ms is 604800000, wants -1 (processor topics apply)".
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s is %s, wants %s (%s)", p.Topic, p.Setting, p.Has, p.Wants, p.Repair)
}

// Refuse returns an error with a line for each problem that is no warning, or nil if there is none.
func Refuse(problems []Problem) error {
	var errs []error
	for _, p := range problems {
		if !p.Warning {
			errs = append(errs, errors.New(p.String()))
		}
	}
	return errors.Join(errs...)
}

// Verify returns everything about the topics that can lose, stop or repeat records, and as warnings what merely works
// less well. A worker that starts all the same would find out later, record by record.
//
// A topic that is wider than its source is a warning only: that is how a source grows (R37).
func Verify(want Want, state State) []Problem {
	if _, ok := state.Topics[want.Names.Source()]; !ok {
		return []Problem{{
			Topic: want.Names.Source(), Setting: "topic", Has: "missing", Wants: "to exist",
			Repair: "create it; a worker never creates a source",
		}}
	}
	problems := want.verifyWindow(state)
	for _, spec := range want.specs(state) {
		has, ok := state.Topics[spec.name]
		if !ok {
			problems = append(problems, Problem{
				Topic: spec.name, Setting: "topic", Has: "missing", Wants: strconv.Itoa(spec.partitions) + " partitions", Repair: repairApply,
			})
			continue
		}
		problems = append(problems, spec.verify(has)...)
	}
	return problems
}

// verifyWindow compares the window with what the source's retention asks for.
func (w Want) verifyWindow(s State) []Problem {
	if w.NoIdempotency {
		return nil
	}
	auto, forEver := w.AutoWindow(s)
	p := Problem{
		Topic: w.Names.Source(), Setting: "idempotency window", Has: w.window(s).String(),
		Wants: auto.String(), Repair: "set idempotency.window to auto",
	}
	switch {
	case w.window(s) < auto:
		p.Warning = forEver
		return []Problem{p}
	case forEver:
		p.Warning, p.Wants, p.Repair = true, "as long as the source keeps its records, which is for ever", "set a retention for the source"
		return []Problem{p}
	}
	return nil
}

func (t topicSpec) verify(has TopicState) []Problem {
	problems := t.verifyWidth(has)
	if has.ReplicationFactor < t.replication {
		problems = append(problems, Problem{
			Topic: t.name, Setting: "replication factor", Has: strconv.Itoa(has.ReplicationFactor), Wants: strconv.Itoa(t.replication),
			Repair: "kafka-reassign-partitions.sh", Warning: true,
		})
	}
	for _, s := range t.settings {
		p := Problem{Topic: t.name, Setting: s.name, Has: "not told by the broker", Wants: s.want, Repair: "look at the broker's documentation", Warning: true}
		if value, told := has.Configs[s.name]; told {
			p.Has, p.Repair, p.Warning = value, repairApply, s.judge(value) == gradeAdvice
			if s.judge(value) == gradeFine {
				continue
			}
		}
		problems = append(problems, p)
	}
	return problems
}

func (t topicSpec) verifyWidth(has TopicState) []Problem {
	p := Problem{Topic: t.name, Setting: "partitions", Has: strconv.Itoa(has.Partitions), Wants: strconv.Itoa(t.partitions), Repair: repairApply}
	switch {
	case has.Partitions < t.partitions:
		return []Problem{p}
	case t.single && has.Partitions > 1:
		p.Repair = "delete the topic while no worker runs, then " + repairApply
		return []Problem{p}
	case has.Partitions > t.partitions:
		p.Repair, p.Warning = "widen the source", true
		return []Problem{p}
	}
	return nil
}
