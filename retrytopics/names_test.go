package retrytopics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	rt "github.com/laneway-go/laneway/retrytopics"
)

func mustNames(tb testing.TB, source string) rt.Names {
	tb.Helper()
	n, err := rt.NewNames("", source, "billing")
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestNamesOfTheDefaultTemplate(t *testing.T) {
	n := mustNames(t, "orders")
	got := []string{n.Source(), n.Group(), n.Stage(5 * time.Second), n.Stage(90 * time.Minute), n.Replay(), n.DLT(), n.Idempotency(), n.Control()}
	want := []string{
		"orders", "billing", "orders.billing.retry-5s", "orders.billing.retry-1h30m",
		"orders.billing.replay", "orders.billing.dlt", "orders.billing.idempotency", "billing.control",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDelaysHaveOneShortText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Second:         "5s",
		90 * time.Second:        "90s",
		time.Minute:             "1m",
		10 * time.Minute:        "10m",
		time.Hour:               "1h",
		90 * time.Minute:        "1h30m",
		24 * time.Hour:          "24h",
		3601 * time.Second:      "3601s",
		1500 * time.Millisecond: "1500ms",
		250 * time.Millisecond:  "250ms",
	} {
		if got := rt.FormatDelay(d); got != want {
			t.Errorf("%s is written %q, want %q", d, got, want)
		}
	}
}

func TestParseStageReadsWhatStageWrote(t *testing.T) {
	n := mustNames(t, "orders")
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, 30*86_400_000).Draw(t, "ms")) * time.Millisecond
		topic := n.Stage(d)
		if got, ok := n.ParseStage(topic); !ok || got != d {
			t.Fatalf("ParseStage(%q) = %s, %t", topic, got, ok)
		}
	})
}

func TestParseStageRefusesEverythingElse(t *testing.T) {
	n := mustNames(t, "orders")
	for _, topic := range []string{
		"", "orders", "orders.billing.dlt", "orders.billing.replay", "orders.billing.retry-", "orders.billing.retry-0s",
		"orders.billing.retry-60s", "orders.billing.retry-1m30s", "orders.billing.retry-05s", "orders.billing.retry-1.5s",
		"orders.billing.retry--5s", "orders.billing.retry-+5s", "orders.billing.retry-1us", "orders.billing.retry-721h",
		"orders.billing.retry-99999999999999999999h", "orders.other.retry-5s", "other.billing.retry-5s", "orders.billing.retry-5s.x",
	} {
		if d, ok := n.ParseStage(topic); ok {
			t.Errorf("ParseStage(%q) = %s", topic, d)
		}
	}
}

func TestTemplateValidate(t *testing.T) {
	for template, problem := range map[rt.Template]string{
		"{source}.{group}.{role}":             "",
		"{role}_{source}_{group}":             "",
		"acme.{group}.{role}-x.{source}.v1":   "",
		"{source}.{role}":                     "{group} stands in it 0 times",
		"{source}.{group}.{role}.{role}":      "{role} stands in it 2 times",
		"{source}{group}.{role}":              "between the placeholders",
		"{source}.{group}x{role}":             "between the placeholders",
		"{source}.{group}.{role}/x":           `"/" cannot be in a topic name`,
		"{source}.{group}.{role}.{tier}":      `"{" cannot be in a topic name`,
		"{source}.{group}.\x00{role}":         "cannot be in a topic name",
		rt.Template(strings.Repeat("x", 300)): "want at most 249",
	} {
		err := template.Validate()
		switch {
		case problem == "" && err != nil:
			t.Errorf("%q: %v", template, err)
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%q: %v, want %q", template, err, problem)
		}
	}
}

func TestNewNamesRefusesWhatKafkaWould(t *testing.T) {
	for _, tt := range []struct{ source, group, problem string }{
		{"", "billing", "source topic"},
		{"..", "billing", "source topic"},
		{"or/ders", "billing", "source topic"},
		{"orders", "", "group"},
		{"orders", "bill ing", `group "bill ing": " " cannot`},
		{strings.Repeat("o", 240), "billing", "at most 249"},
		{"orders", strings.Repeat("b", 249), "at most 249"},
	} {
		if _, err := rt.NewNames("", tt.source, tt.group); err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%q, %q: %v, want %q", tt.source, tt.group, err, tt.problem)
		}
	}
}

func TestTheLongestNameIsLegal(t *testing.T) {
	for length := 200; length < 249; length++ {
		n, err := rt.NewNames("", strings.Repeat("o", length), "billing")
		if err != nil {
			continue
		}
		for _, topic := range []string{n.Stage(30*24*time.Hour - time.Millisecond), n.Idempotency(), n.Control()} {
			if len(topic) > 249 {
				t.Errorf("source of %d bytes: name of %d", length, len(topic))
			}
		}
	}
}

func drawTemplate(t *rapid.T) rt.Template {
	places := rapid.Permutation([]string{"{source}", "{group}", "{role}"}).Draw(t, "order")
	sep := func() string { return rapid.StringMatching(`[._-][a-z.-]{0,3}`).Draw(t, "between") }
	end := func() string { return rapid.StringMatching(`[a-z0-9.-]{0,3}`).Draw(t, "end") }
	return rt.Template(end() + places[0] + sep() + places[1] + sep() + places[2] + end())
}

func drawRole(t *rapid.T) rt.Role {
	return rapid.OneOf(
		rapid.SampledFrom([]rt.Role{rt.RoleReplay, rt.RoleDLT, rt.RoleIdempotency}),
		rapid.Custom(func(t *rapid.T) rt.Role {
			return rt.RoleStage(rapid.SampledFrom([]time.Duration{
				time.Millisecond, 5 * time.Second, 15 * time.Second, time.Minute, time.Hour, 90 * time.Minute, 61 * time.Second,
			}).Draw(t, "delay"))
		}),
	).Draw(t, "role")
}

// Parse being the inverse is also the proof that no two pairs of source and role share a name.
func TestTemplateParseIsTheInverseOfNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := drawTemplate(t)
		if err := template.Validate(); err != nil {
			t.Fatal(err)
		}
		// Sources and groups made of the very pieces of roles and separators, to provoke confusion.
		piece := rapid.StringMatching(`(dlt|replay|retry-5s|retry|1m|s|x|[._-]){1,6}`)
		source, group := piece.Draw(t, "source"), piece.Draw(t, "group")
		n, err := rt.NewNames(template, source, group)
		if err != nil {
			t.Skip(err)
		}
		role := drawRole(t)
		gotSource, gotRole, ok := template.Parse(group, n.Topic(role))
		if !ok || gotSource != source || gotRole != role {
			t.Fatalf("Parse(%q) by %q = %q, %q, %t; want %q, %q", n.Topic(role), template, gotSource, gotRole, ok, source, role)
		}
		if r, ok := n.Role(n.Topic(role)); !ok || r != role {
			t.Fatalf("Role(%q) = %q, %t", n.Topic(role), r, ok)
		}
	})
}

func TestCheckSourcesRefusesTheGroupsOwnTopics(t *testing.T) {
	if err := rt.CheckSources("", "billing", []string{"orders", "orders.audit.dlt", "billing"}); err != nil {
		t.Error(err)
	}
	err := rt.CheckSources("", "billing", []string{"orders.billing.dlt", "x.billing.retry-5s", "billing.control", "orders"})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three problems, got %v", err)
	}
	if rt.CheckSources("{role}", "billing", nil) == nil {
		t.Error("a bad template passed")
	}
}

func FuzzParseStage(f *testing.F) {
	n := mustNames(f, "orders")
	f.Add("orders.billing.retry-5s")
	f.Add("orders.billing.retry-1h30m")
	f.Add("orders.billing.retry-")
	f.Fuzz(func(t *testing.T, topic string) {
		if d, ok := n.ParseStage(topic); ok && n.Stage(d) != topic {
			t.Errorf("%q is read as the stage of %s, which is %q", topic, d, n.Stage(d))
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("{source}.{group}.{role}", "orders", "billing", "orders.billing.dlt")
	f.Add("{role}-{group}.{source}", "a", "b", "retry-1m-b.a")
	f.Add("{group}", "", "{source}{role}", "x")
	f.Fuzz(func(t *testing.T, text, source, group, topic string) {
		template := rt.Template(text)
		parsedSource, parsedRole, parsed := template.Parse(group, topic)
		if template.Validate() != nil {
			return
		}
		if parsed {
			n, err := rt.NewNames(template, parsedSource, group)
			if err == nil && n.Topic(parsedRole) != topic {
				t.Errorf("%q parses %q as %q of %q, which is %q", template, topic, parsedRole, parsedSource, n.Topic(parsedRole))
			}
		}
		n, err := rt.NewNames(template, source, group)
		if err != nil {
			return
		}
		for _, role := range []rt.Role{rt.RoleDLT, rt.RoleReplay, rt.RoleIdempotency, rt.RoleStage(time.Minute)} {
			if s, r, ok := template.Parse(group, n.Topic(role)); !ok || s != source || r != role {
				t.Errorf("%q: %q parses as %q, %q, %t", template, n.Topic(role), s, r, ok)
			}
		}
	})
}
