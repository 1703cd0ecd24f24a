package retrytopics

import (
	"errors"
	"fmt"
	"strings"
)

// Template says how the topics of a source and a group are named. It holds each of {source}, {group} and {role} once, in
// any order, with '.', '_' or '-' behind all but the last of them. That makes the names of one group unambiguous: no two
// pairs of source and role share a name.
//
// Across groups no template can promise that: with the default, source "a" of group "b.c" and source "a.b" of group "c"
// share their names.
type Template string

// DefaultTemplate gives names like "orders.billing.retry-5s".
const DefaultTemplate Template = "{source}.{group}.{role}"

const (
	placeSource = "{source}"
	placeGroup  = "{group}"
	placeRole   = "{role}"
)

// maxTopic is Kafka's limit for the length of a topic's name.
const maxTopic = 249

const separators = "._-"

// Validate returns everything that is wrong with the template, joined, or nil.
func (t Template) Validate() error {
	var errs []error
	for _, place := range []string{placeSource, placeGroup, placeRole} {
		if n := strings.Count(string(t), place); n != 1 {
			errs = append(errs, fmt.Errorf("topic template %q: %s stands in it %d times, want once", Cut(string(t), maxTopic), place, n))
		}
	}
	if len(t) > maxTopic {
		errs = append(errs, fmt.Errorf("topic template: %d bytes, want at most %d", len(t), maxTopic))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return t.validateText()
}

// validateText looks at what stands around the three placeholders.
func (t Template) validateText() error {
	const mark = "/" // no legal text holds it
	text := func(mark string) string {
		return strings.NewReplacer(placeSource, mark, placeGroup, mark, placeRole, mark).Replace(string(t))
	}
	if c := illegal(text("")); c != "" {
		return fmt.Errorf("topic template %q: %q cannot be in a topic name", string(t), c)
	}
	texts := strings.Split(text(mark), mark)
	for _, between := range texts[1 : len(texts)-1] {
		if between == "" || !strings.Contains(separators, between[:1]) {
			return fmt.Errorf("topic template %q: want '.', '_' or '-' between the placeholders", string(t))
		}
	}
	return nil
}

// around returns what stands before and behind the role in the names of a source and a group.
func (t Template) around(source, group string) (before, behind string) {
	before, behind, _ = strings.Cut(string(t), placeRole)
	fill := strings.NewReplacer(placeSource, source, placeGroup, group)
	return fill.Replace(before), fill.Replace(behind)
}

// Parse returns the source and the role of a group's topic, or false if the topic is not one of this group. The template
// must be valid.
func (t Template) Parse(group, topic string) (source string, role Role, ok bool) {
	text := strings.Replace(string(t), placeGroup, group, 1)
	at, other := strings.Index(text, placeSource), strings.Index(text, placeRole)
	if at < 0 || other < 0 {
		return "", "", false
	}
	if at < other {
		return parseRoleLast(text, topic)
	}
	return parseRoleFirst(text, topic)
}

func parseRoleLast(text, topic string) (source string, role Role, ok bool) {
	head, rest, _ := strings.Cut(text, placeSource)
	between, tail, _ := strings.Cut(rest, placeRole)
	body, ok := cutAround(topic, head, tail)
	if !ok {
		return "", "", false
	}
	// No role ends in another role with a separator before it, so at most one split fits.
	for i := len(body) - len(between); i > 0; i-- {
		if name, ok := strings.CutPrefix(body[i:], between); ok && Role(name).Valid() {
			return body[:i], Role(name), legalTopic(body[:i]) == nil
		}
		if len(body)-i > len(between)+maxRole {
			break
		}
	}
	return "", "", false
}

func parseRoleFirst(text, topic string) (source string, role Role, ok bool) {
	head, rest, _ := strings.Cut(text, placeRole)
	between, tail, _ := strings.Cut(rest, placeSource)
	body, ok := cutAround(topic, head, tail)
	if !ok {
		return "", "", false
	}
	for i := 1; i <= min(len(body)-len(between), maxRole); i++ {
		if name, ok := strings.CutPrefix(body[i:], between); ok && Role(body[:i]).Valid() {
			return name, Role(body[:i]), legalTopic(name) == nil
		}
	}
	return "", "", false
}

func cutAround(s, head, tail string) (string, bool) {
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, tail)
}

// legalTopic returns nil for what Kafka accepts as the name of a topic.
func legalTopic(name string) error {
	switch {
	case name == "", name == ".", name == "..":
		return fmt.Errorf("%q is no name for a topic", name)
	case len(name) > maxTopic:
		return fmt.Errorf("topic name of %d bytes, want at most %d", len(name), maxTopic)
	}
	if c := illegal(name); c != "" {
		return fmt.Errorf("topic name %q: %q cannot be in it", name, c)
	}
	return nil
}

// illegal returns the first character of s that cannot be in a topic's name, or "".
func illegal(s string) string {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune(separators, c):
		default:
			return string(c)
		}
	}
	return ""
}
