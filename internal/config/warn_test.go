package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarningsAskForDecisionsPerTopic(t *testing.T) {
	all := func(c *Config) (lines []string) {
		for _, w := range c.Warnings() {
			lines = append(lines, w.String())
		}
		return lines
	}
	c := mustLoad(t, smallest, "LANEWAY_GROUPS=x", "LANEWAY_SERVICE_HOST=10.0.0.1", "LANEWAY_PORT=tcp://10.0.0.1:9464")
	want := []string{
		"laneway.yaml:5:5: topics.orders.idempotency: not set: the key is origin, the mode record_after; say what makes two records the same work, and what is worse, a repeat or a loss",
		"laneway.yaml:5:5: topics.orders.retry.max_attempts: not set: 5 tries; say how often this handler may be tried",
		"laneway.yaml:5:5: topics.orders.timeout: not set: a call may take 30s; say how long this handler may take",
		"LANEWAY_GROUPS: the variable names no setting; did you mean LANEWAY_GROUP?",
	}
	if diff := cmp.Diff(want, all(c)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	quiet := smallest + "    timeout: 5s\n    retry: {max_attempts: 5}\n    idempotency: {mode: record_after}\n"
	if got := all(mustLoad(t, quiet)); len(got) > 0 {
		t.Errorf("warnings of a file that says everything: %q", got)
	}
	plain := quiet + "sasl: {mechanism: PLAIN, username: a, password: b}\n"
	if diff := cmp.Diff([]string{"laneway.yaml:10:7: sasl: PLAIN sends the password in the clear: tls is not set"}, all(mustLoad(t, plain))); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
