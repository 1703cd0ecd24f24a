package retrytopics

import (
	"errors"
	"fmt"
	"time"
)

// Names holds the names of the topics of one source and one consumer group. Build it with [NewNames].
type Names struct {
	source, group  string
	before, behind string // what stands around the role
}

// NewNames returns the names that the template gives to a source and a group; an empty template is [DefaultTemplate]. The
// error, all problems joined, says what cannot be made a legal topic name: a group may have characters that a topic may
// not, and the longest name may be longer than Kafka's 249 bytes.
func NewNames(t Template, source, group string) (Names, error) {
	if t == "" {
		t = DefaultTemplate
	}
	if err := t.Validate(); err != nil {
		return Names{}, err
	}
	var errs []error
	if err := legalTopic(source); err != nil {
		errs = append(errs, fmt.Errorf("source topic: %w", err))
	}
	if c := illegal(group); c != "" || group == "" {
		errs = append(errs, fmt.Errorf("group %q: %q cannot be in a topic name", Cut(group, maxTopic), c))
	}
	if len(errs) > 0 {
		return Names{}, errors.Join(errs...)
	}
	n := Names{source: source, group: group}
	n.before, n.behind = t.around(source, group)
	for _, longest := range []int{len(n.before) + maxRole + len(n.behind), len(n.Control())} {
		if longest > maxTopic {
			errs = append(errs, fmt.Errorf("topics of source %q and group %q: names of up to %d bytes, want at most %d",
				source, group, longest, maxTopic))
			break
		}
	}
	return n, errors.Join(errs...)
}

// Source returns the name of the source topic.
func (n Names) Source() string { return n.source }

// Group returns the consumer group.
func (n Names) Group() string { return n.group }

// Topic returns the name of the topic that has the role.
func (n Names) Topic(r Role) string { return n.before + string(r) + n.behind }

// Stage returns the name of the stage topic with this delay.
func (n Names) Stage(d time.Duration) string { return n.Topic(RoleStage(d)) }

// Replay returns the name of the topic of records that an operator sends again.
func (n Names) Replay() string { return n.Topic(RoleReplay) }

// DLT returns the name of the dead letter topic.
func (n Names) DLT() string { return n.Topic(RoleDLT) }

// Idempotency returns the name of the topic of marks.
func (n Names) Idempotency() string { return n.Topic(RoleIdempotency) }

// Control returns the name of the group's control topic, one for all its sources.
func (n Names) Control() string { return n.group + ".control" }

// Role returns the role of a topic of this source and group, or false for any other topic.
func (n Names) Role(topic string) (Role, bool) {
	text, ok := cutAround(topic, n.before, n.behind)
	if !ok || !Role(text).Valid() {
		return "", false
	}
	return Role(text), true
}

// ParseStage returns the delay of a stage topic of this source and group, whether it is configured or not: one that a
// former configuration left behind may still hold records (R43). It returns false for any other topic.
func (n Names) ParseStage(topic string) (time.Duration, bool) {
	r, ok := n.Role(topic)
	if !ok {
		return 0, false
	}
	return r.Stage()
}

// CheckSources returns an error for each source that is one of the group's own topics: a dead letter that is processed by
// the group that gave it up would go round for ever. Dead letters of another group are a source like any.
func CheckSources(t Template, group string, sources []string) error {
	if t == "" {
		t = DefaultTemplate
	}
	if err := t.Validate(); err != nil {
		return err
	}
	var errs []error
	for _, s := range sources {
		of, role, ok := t.Parse(group, s)
		switch {
		case ok:
			errs = append(errs, fmt.Errorf("source topic %q: is the %s topic of source %q and this group", s, role, of))
		case s == Names{group: group}.Control():
			errs = append(errs, fmt.Errorf("source topic %q: is the control topic of this group", s))
		}
	}
	return errors.Join(errs...)
}
