package config

import (
	"fmt"
	"maps"
	"slices"
)

// Warnings returns what is allowed but better decided by a person: above all the three settings of a topic that no
// default can know, because they depend on what its handler does. It works on a configuration with problems, too.
func (c *Config) Warnings() []Problem {
	all := slices.Clone(c.warnings)
	for _, name := range slices.Sorted(maps.Keys(c.Topics)) {
		all = append(all, c.topicWarnings(join("topics", name), c.Topics[name])...)
	}
	if c.SASL != nil && c.SASL.Mechanism == "PLAIN" && c.TLS == nil {
		all = append(all, c.warning("sasl", "PLAIN sends the password in the clear: tls is not set"))
	}
	sortProblems(all)
	return all
}

func (c *Config) topicWarnings(path string, t Topic) []Problem {
	var all []Problem
	if !c.given(join(path, "timeout")) && !c.given(path+".handler.http.timeout") {
		all = append(all, c.warning(join(path, "timeout"), "not set: a call may take %s; say how long this handler may take", t.Timeout))
	}
	if !c.given(path + ".retry.max_attempts") {
		all = append(all, c.warning(path+".retry.max_attempts", "not set: %d tries; say how often this handler may be tried", t.Retry.MaxAttempts))
	}
	if !c.given(path+".idempotency.key") && !c.given(path+".idempotency.mode") {
		all = append(all, c.warning(path+".idempotency",
			"not set: the key is %s, the mode %s; say what makes two records the same work, and what is worse, a repeat or a loss",
			t.Idempotency.Key, t.Idempotency.Mode))
	}
	return all
}

func (c *Config) warning(path, format string, args ...any) Problem {
	return Problem{At: c.at(path), Path: path, Message: fmt.Sprintf(format, args...)}
}
