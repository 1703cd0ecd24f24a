package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files")
	m.Run()
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// smallest is the shortest configuration without a problem.
const smallest = `brokers: [localhost:9092]
group: billing
topics:
  orders:
    handler:
      http: {url: "http://localhost:8080/orders"}
`

func load(t *testing.T, yaml string, environ ...string) (*Config, error) {
	t.Helper()
	return Load(Source{Name: "laneway.yaml", Data: []byte(yaml), Environ: environ, ReadFile: noFiles})
}

func mustLoad(t *testing.T, yaml string, environ ...string) *Config {
	t.Helper()
	c, err := load(t, yaml, environ...)
	if err != nil {
		t.Fatalf("load:\n%v", err)
	}
	return c
}

func noFiles(string) ([]byte, error) { return nil, os.ErrNotExist }

func TestLoadReportsEveryProblemWithItsLine(t *testing.T) {
	data, err := os.ReadFile("testdata/broken.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = load(t, string(data), "USER_NAME=alice", "INTERVAL=hunter2")
	if err == nil {
		t.Fatal("a broken file loads")
	}
	golden(t, "broken.txt", err.Error()+"\n")
	if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "12345") {
		t.Error("a message quotes a secret")
	}
}

func TestLoadProblems(t *testing.T) {
	tests := []struct {
		rule, yaml string
		environ    []string
		overrides  []string
		want       []string
	}{
		{
			rule: "text that is not YAML",
			yaml: "group: b\nbrokers: [a:1\n\n",
			want: []string{"laneway.yaml:2: not YAML: did not find expected ',' or ']'"},
		},
		{
			rule: "an unknown anchor",
			yaml: smallest + "logging: *nowhere\n",
			want: []string{"laneway.yaml: not YAML: unknown anchor 'nowhere' referenced"},
		},
		{
			rule: "a list in place of the file",
			yaml: "- brokers\n",
			want: []string{"laneway.yaml:1:1: want settings, one a line, such as group: billing"},
		},
		{
			rule: "an empty file",
			yaml: "",
			want: []string{
				"laneway.yaml:1:1: brokers: is missing",
				"laneway.yaml:1:1: group: is missing",
				"laneway.yaml:1:1: topics: is missing",
			},
		},
		{
			rule: "a second document",
			yaml: smallest + "---\ngroup: other\n",
			want: []string{"laneway.yaml: only one YAML document is read: there is a second one, or text behind the end"},
		},
		{
			rule: "a merge key",
			yaml: smallest + "logging: &l {level: info}\nshutdown: {<<: *l}\n",
			want: []string{"laneway.yaml:8:12: shutdown: merge keys (<<) are not read; an alias can stand for a whole block"},
		},
		{
			rule: "an anchor in itself",
			yaml: smallest + "logging: &l {level: *l}\n",
			want: []string{
				`laneway.yaml:7:21: logging.level: the anchor "l" contains itself`,
			},
		},
		{
			rule: "a key that is no text",
			yaml: smallest + "logging: {[a]: b}\n",
			want: []string{"laneway.yaml:7:11: logging: a key must be plain text"},
		},
		{
			rule: "a key without a value",
			yaml: smallest + "instance_id:\n",
			want: []string{"laneway.yaml:7:13: instance_id: has no value: give one, or remove the line"},
		},
		{
			rule: "a variable that is not set, one that is not closed, a file that is not there",
			yaml: smallest + "instance_id: ${POD}\ntopic_template: ${X\nlogging: {level: '${file:/run/level}'}\n",
			want: []string{
				"laneway.yaml:7:14: instance_id: the variable POD is not set (${POD:-…} gives a default)",
				"laneway.yaml:8:17: topic_template: ${ is not closed by } (write $${ for a plain ${)",
				"laneway.yaml:9:18: logging.level: fill in ${file:/run/level}: file does not exist",
			},
		},
		{
			rule:    "a problem in a variable names the variable",
			yaml:    smallest,
			environ: []string{"LANEWAY_SESSION_TIMEOUT=15", "LANEWAY_SASL_PASSWORD=hunter2"},
			want: []string{
				"LANEWAY_SASL_PASSWORD: sasl.mechanism: is missing",
				`LANEWAY_SESSION_TIMEOUT: session.timeout: "15": a duration without a unit: write 15s, 15m, …`,
			},
		},
		{
			rule:      "a problem in an override names the override",
			yaml:      smallest,
			overrides: []string{"topics.orders.concurency=8", "group", ".x=1", "colour=1", "topics.orders.start=${NOW}", "topics.orders.retry=5s"},
			want: []string{
				"-X .x: a key is empty",
				`-X colour: there is no such setting; there are brokers, group, topics, session, instance_id, shutdown, buffers, commit_interval, topic_template, auto_create_topics, ops, tls, sasl, logging`,
				"-X group: want path=value, such as group=billing",
				"-X topics.orders.concurency: there is no such setting; did you mean concurrency?",
				"-X topics.orders.retry: want a block of settings",
				"-X topics.orders.start: the variable NOW is not set (${NOW:-…} gives a default)",
			},
		},
		{
			rule: "a source that the group itself keeps",
			yaml: strings.ReplaceAll(smallest, "orders:", "orders.billing.dlt:"),
			want: []string{
				`laneway.yaml:5:5: topics."orders.billing.dlt": source topic "orders.billing.dlt": is the dlt topic of source "orders" and this group`,
			},
		},
		{
			rule: "tiers that cannot be",
			yaml: smallest + "    retry: {tiers: [1500us, 5s, 5s]}\n",
			want: []string{
				"laneway.yaml:7:21: topics.orders.retry.tiers[0]: want whole milliseconds: the delay becomes part of a topic name",
				"laneway.yaml:7:33: topics.orders.retry.tiers[2]: want more than the tier before it (5s)",
			},
		},
		{
			rule: "credentials that are not whole",
			yaml: smallest + "sasl: {mechanism: OAUTHBEARER}\nops: {auth: {viewer: {username: a}, operator: {}}}\ntls: {key: a}\n",
			want: []string{
				"laneway.yaml:7:7: sasl: OAUTHBEARER needs token or token_file",
				"laneway.yaml:8:22: ops.auth.viewer: want username and password together",
				"laneway.yaml:8:47: ops.auth.operator: want a token, or a username and a password",
				"laneway.yaml:9:6: tls: want cert and key together",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			_, err := Load(Source{
				Name: "laneway.yaml", Data: []byte(test.yaml), Environ: test.environ, Overrides: test.overrides, ReadFile: noFiles,
			})
			all, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			got := strings.Split(all.Error(), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheHTTPHandlerJudgesItsOwnSettings(t *testing.T) {
	_, err := load(t, smallest+"  other: {handler: {http: {url: 'http://localhost', headers: {Host: d}, signing_secrets: [hunter2]}}}\n")
	if err == nil || !strings.HasPrefix(err.Error(), "laneway.yaml:7:27: topics.other.handler.http: http handler: ") {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"Host", "secret", "; "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("nothing about %q in: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret in: %v", err)
	}
	_, err = load(t, smallest+"  other: {handler: {http: {url: 'https://localhost', tls: {key: a}}}}\n")
	if want := "laneway.yaml:7:59: topics.other.handler.http.tls: want cert and key together"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}
