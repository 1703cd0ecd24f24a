package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestDefaultsAreWhatTheLibraryDocuments(t *testing.T) {
	text, err := mustLoad(t, smallest).YAML()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "defaults.yaml", string(text))
	// The schedule's own defaults are in retrytopics; ours must not drift from them.
	policy := mustLoad(t, smallest).Topics["orders"].Policy()
	if diff := cmp.Diff(retrytopics.Policy{}.WithDefaults(), policy); diff != "" {
		t.Errorf("retry policy (-retrytopics +config):\n%s", diff)
	}
}

func TestPrintedDefaultsLoadAsTheyAre(t *testing.T) {
	first, err := mustLoad(t, smallest).YAML()
	if err != nil {
		t.Fatal(err)
	}
	second, err := mustLoad(t, string(first)).YAML()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("printed, loaded and printed (-first +second):\n%s", diff)
	}
}

func TestLaterSourcesWin(t *testing.T) {
	file := smallest + "session: {timeout: 20s, heartbeat: 1s}\nshutdown: {total: '${TOTAL:-40s}'}\n"
	c, err := Load(Source{
		Name: "laneway.yaml", Data: []byte(file),
		Environ: []string{
			"LANEWAY_BROKERS=a:1, b:2", "LANEWAY_GROUP=fromenv", "LANEWAY_SESSION_TIMEOUT=30s", "LANEWAY_SESSION_REBALANCE=",
			"LANEWAY_INSTANCE_ID=${POD}", "TOTAL=50s",
		},
		Overrides: []string{
			"session.timeout=40s", "topics.orders.retry.tiers=[1s, 2s]", `topics."eu.orders".handler={exec: {command: [cat]}}`,
			"logging.level=debug", "logging.level=warn",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:1", "b:2"}, c.Brokers); diff != "" {
		t.Errorf("brokers (-want +got):\n%s", diff)
	}
	got := []any{
		c.Group, c.InstanceID, c.Session.Timeout.String(), c.Session.Heartbeat.String(), c.Session.Rebalance.String(),
		c.Shutdown.Total.String(), c.Logging.Level, fmt.Sprint(c.Topics["orders"].Retry.Tiers), c.Topics["eu.orders"].Handler.Exec.Command[0],
	}
	want := []any{"fromenv", "${POD}", "40s", "1s", "30s", "50s", "warn", "[1s 2s]", "cat"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestExpansion(t *testing.T) {
	x := &expander{
		lookup: lookup([]string{"A=1", "EMPTY="}),
		readFile: func(path string) ([]byte, error) {
			if path != "/run/secret" {
				return nil, os.ErrNotExist
			}
			return []byte("from file\n"), nil
		},
	}
	tests := []struct{ in, want, problem string }{
		{in: "plain", want: "plain"},
		{in: "${A}", want: "1"},
		{in: "x${A}y${A}z", want: "x1y1z"},
		{in: "${B:-2}", want: "2"},
		{in: "${A:-2}", want: "1"},
		{in: "${B:-}", want: ""},
		{in: "${EMPTY}", want: ""},
		{in: "${EMPTY:-2}", want: "2"},
		{in: "${file:/run/secret}", want: "from file"},
		{in: "$${A} costs $5", want: "${A} costs $5"},
		{in: "${B}", problem: "the variable B is not set (${B:-…} gives a default)"},
		{in: "${A", problem: "${ is not closed by } (write $${ for a plain ${)"},
		{in: "${}", problem: "${} is no variable: want ${NAME}, ${NAME:-default} or ${file:/path}"},
		{in: "${1A}", problem: "${1A} is no variable: want ${NAME}, ${NAME:-default} or ${file:/path}"},
		{in: "${file:/other}", problem: "fill in ${file:/other}: file does not exist"},
	}
	for _, test := range tests {
		got, _, err := x.expand(test.in)
		if problem := message(err); got != test.want || problem != test.problem {
			t.Errorf("%s: %q, %q; want %q, %q", test.in, got, problem, test.want, test.problem)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestDurationsNeedAUnit(t *testing.T) {
	tests := map[string]string{
		"15s": "15s", "1h30m": "1h30m", "60m": "1h", "7d": "7d", "1d12h": "36h", "0s": "0s", "0d": "0s", "1.5s": "1.5s", "24h": "1d",
		"15": "", "": "", "s": "", "1w": "", "1d-1h": "", "70000d": "", "1d9000000h": "", "d": "", "inf": "", "1 s": "",
	}
	for in, want := range tests {
		var d Duration
		err := d.UnmarshalText([]byte(in))
		if (err != nil) != (want == "") || err == nil && d.String() != want {
			t.Errorf("%q: %v, %v; want %q", in, d, err, want)
		}
	}
}

func TestTextFormsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(50000*day)).Draw(t, "duration"))
		if d%3 == 0 {
			d -= d % Duration(time.Second)
		}
		var backD Duration
		if err := backD.UnmarshalText([]byte(d.String())); err != nil || backD != d {
			t.Errorf("%s is read as %s, %v", d, backD, err)
		}
		b := Bytes(rapid.Int64Range(0, 1<<50).Draw(t, "bytes"))
		var backB Bytes
		if err := backB.UnmarshalText([]byte(b.String())); err != nil || backB != b {
			t.Errorf("%s is read as %s, %v", b, backB, err)
		}
		keys := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "path")
		path := ""
		for _, k := range keys {
			path = join(path, k)
		}
		if back, err := splitPath(path); err != nil || !slices.Equal(back, keys) {
			t.Errorf("path %s is read as %q, %v; want %q", path, back, err, keys)
		}
	})
}

func TestParents(t *testing.T) {
	want := []string{`topics."a.b[".retry.tiers[1]`, `topics."a.b[".retry.tiers`, `topics."a.b[".retry`, `topics."a.b["`, "topics", ""}
	if diff := cmp.Diff(want, parents(want[0])); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"concurrency", "ordering", "retry", "start"}
	for in, want := range map[string]string{"concurency": "concurrency", "retries": "retry", "star": "start", "xyz": "", "tls": ""} {
		if got, _ := nearest(in, words); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// full uses every secret there is, each with the text "hunter2" in it.
const full = smallest + `        headers: {authorization: Bearer hunter2-a}
        signing_secrets: ["${SIGNING}"]
    timeout: 5s
    retry: {max_attempts: 3}
    idempotency: {key: "header:id"}
  shell:
    handler: {exec: {command: [cat], env: {TOKEN: hunter2-c}}}
  userinfo:
    handler: {http: {url: "https://me:hunter2-d@localhost/"}}
sasl: {mechanism: PLAIN, username: me, password: hunter2-e, token: hunter2-f, secret_key: hunter2-g, session_token: hunter2-h}
ops: {auth: {operator: {token: hunter2-i, username: me, password: hunter2-j}}}
`

func TestSecretsAreNeverShown(t *testing.T) {
	c := mustLoad(t, strings.Replace(full, "http: {url: \"http://localhost:8080/orders\"}", "http:\n        url: http://localhost:8080/orders", 1), "SIGNING=whsec_"+strings.Repeat("hunter2a", 4))
	for _, topic := range []string{"orders", "shell", "userinfo"} {
		if _, ok := c.Topics[topic]; !ok {
			t.Fatalf("topic %s is not there", topic)
		}
	}
	printed, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("config", slog.Any("config", c), slog.Any("password", c.SASL.Password))
	slog.New(slog.NewTextHandler(&logged, nil)).Info("config", slog.Any("config", c), slog.Any("password", c.SASL.Password))
	shown := map[string]string{
		"yaml": string(printed), "json": string(asJSON), "log": logged.String(), "warnings": fmt.Sprint(c.Warnings()),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		shown[verb] = fmt.Sprintf(verb, c.SASL.Password) + fmt.Sprintf(verb, c.SASL) + fmt.Sprintf(verb, c.Ops.Auth.Operator)
	}
	for how, text := range shown {
		if strings.Contains(text, "hunter2") || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("%s shows a secret:\n%s", how, text)
		}
	}
	if !strings.Contains(string(printed), masked) {
		t.Error("nothing is masked: the test looks at nothing")
	}
	if got := c.SASL.Password.Reveal(); got != "hunter2-e" {
		t.Errorf("password %q", got)
	}
}

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

func TestATopicHasOneTimeLimit(t *testing.T) {
	tests := []struct{ call, request, wantCall, wantRequest string }{
		{"", "", "30s", "30s"},
		{"5s", "", "5s", "5s"},
		{"", "2m", "2m", "2m"},
		{"1m", "10s", "1m", "10s"},
	}
	for _, test := range tests {
		file := smallest
		if test.call != "" {
			file += "    timeout: " + test.call + "\n"
		}
		if test.request != "" {
			file = strings.Replace(file, `orders"}`, `orders", timeout: `+test.request+"}", 1)
		}
		topic := mustLoad(t, file).Topics["orders"]
		if got := topic.Timeout.String() + " " + topic.Handler.HTTP.Timeout.String(); got != test.wantCall+" "+test.wantRequest {
			t.Errorf("call %q, request %q: %s", test.call, test.request, got)
		}
	}
}

func TestBuildMapsEverySetting(t *testing.T) {
	c := mustLoad(t, `
brokers: [a:1]
group: billing
topics:
  b: {handler: {http: {url: "https://localhost/b", headers: {x-a: b}, tls: {}}}, ordering: none, stuck: crash, idempotency: {mode: off, window: 2d}, start: latest, retry: {jitter: 0}}
  a:
    handler: {exec: {command: [cat]}}
    ordering: partition
    concurrency: 3
    timeout: 4s
    grace: 5s
    retry: {tiers: [1s, 2s], max_attempts: 7, jitter: 0.5, max_jitter: 6s, max_snoozes: 8, max_snooze_age: 9h}
    idempotency: {key: record_key, mode: claim_first}
    start: 2026-01-02T15:04:05Z
session: {timeout: 10s, heartbeat: 1s, rebalance: 11s}
instance_id: pod-1
shutdown: {drain: 12s, total: 13s}
buffers: {lane: 14MiB, total: 15MiB}
commit_interval: 16ms
topic_template: "{group}.{source}.{role}"
auto_create_topics: true
`)
	w, err := c.Build(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := w.Config
	got.Logger = nil
	for i := range got.Topics {
		if got.Topics[i].Handler == nil {
			t.Errorf("topic %s has no handler", got.Topics[i].Name)
		}
		got.Topics[i].Handler = nil
	}
	a, b := got.Topics[0], got.Topics[1]
	topics := fmt.Sprint(a.Name, a.Ordering, a.Concurrency, a.Timeout, a.Grace, a.Stuck, a.Retry, a.Idempotency.Key, a.Idempotency.Mode, a.Idempotency.Window, a.Start,
		"; ", b.Name, b.Ordering, b.Stuck, b.Retry.Jitter, b.Idempotency.Mode, b.Idempotency.Window, b.Start)
	want := "apartition 3 4s 5s 0 {[1s 2s] 7 0.5 6s 8 9h0m0s} record_key claim_first 0s 2026-01-02T15:04:05Z; bnone 1 -1 off 48h0m0s latest"
	if topics != want {
		t.Errorf("topics\n%s, want\n%s", topics, want)
	}
	got.Topics = nil
	if diff := cmp.Diff(processor.Config{
		Brokers: []string{"a:1"}, Group: "billing", InstanceID: "pod-1",
		Session:        processor.Session{Timeout: 10 * time.Second, Heartbeat: time.Second, Rebalance: 11 * time.Second},
		Shutdown:       processor.Shutdown{Drain: 12 * time.Second, Total: 13 * time.Second},
		Buffers:        processor.Buffers{Lane: 14 << 20, Total: 15 << 20},
		CommitInterval: 16 * time.Millisecond, TopicTemplate: "{group}.{source}.{role}", AutoCreateTopics: true,
	}, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestSchema(t *testing.T) {
	golden(t, "schema.json", string(Schema()))
	var root any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	walkSchema(t, "", root)
}

// walkSchema says which setting has no description.
func walkSchema(t *testing.T, path string, v any) {
	t.Helper()
	block, ok := v.(map[string]any)
	if !ok {
		return
	}
	properties, ok := block["properties"].(map[string]any)
	if !ok {
		return
	}
	for name, property := range properties {
		inner := join(path, name)
		if text, _ := property.(map[string]any)["description"].(string); len(text) < 5 {
			t.Errorf("%s: description %q", inner, text)
		}
		walkSchema(t, inner, property)
		if items, ok := property.(map[string]any)["additionalProperties"]; ok {
			walkSchema(t, inner+".*", items)
		}
	}
}

// A default or bound that cannot be read would be the zero value without a word; a type that is not read, a panic.
func TestEveryTagCanBeRead(t *testing.T) {
	eachField(reflect.TypeFor[Config](), "", func(path string, f field) {
		element := f
		if f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map {
			element = f.element()
		}
		if _, block := blockOf(element.typ); !block && !readsText(element.typ) {
			kinds := []reflect.Kind{reflect.String, reflect.Bool, reflect.Int, reflect.Float64}
			if !slices.Contains(kinds, element.typ.Kind()) {
				t.Errorf("%s: a %s is not read", path, element.typ)
			}
		}
		for _, bound := range []string{f.min, f.max} {
			if bound == "" {
				continue
			}
			v := reflect.New(element.typ).Elem()
			if err := setScalar(v, &node{kind: text, value: bound}, element); err != nil {
				t.Errorf("%s: bound %s: %v", path, bound, err)
			}
		}
		if (f.min == "") != (f.max == "") {
			t.Errorf("%s: one bound without the other", path)
		}
		if f.initial == "" {
			return
		}
		d := decoder{set: map[string]Position{}}
		d.value(reflect.New(f.typ).Elem(), &node{kind: text, value: f.initial}, path, f)
		for _, p := range d.problems {
			t.Errorf("default: %v", p)
		}
	})
}

func eachField(t reflect.Type, path string, visit func(path string, f field)) {
	for _, f := range fields(t) {
		inner := join(path, f.name)
		visit(inner, f)
		typ := f.typ
		if typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if block, ok := blockOf(typ); ok {
			eachField(block, inner, visit)
		}
	}
}

func TestVariablesCoverEverySettingWithAFixedPath(t *testing.T) {
	all := variables()
	golden(t, "variables.txt", strings.Join(slices.Sorted(maps.Keys(all)), "\n")+"\n")
}

func TestAFewAliasesCannotFillTheMemory(t *testing.T) {
	var file strings.Builder
	file.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&file, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	_, err := load(t, file.String())
	if err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
		t.Errorf("error %.200v", err)
	}
}

func TestLoggerHasTheLevelAndTheForm(t *testing.T) {
	var out bytes.Buffer
	logger := Logging{Level: "warn", Format: "json"}.Logger(&out)
	logger.Info("quiet")
	logger.Warn("loud")
	var line struct{ Msg string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Msg != "loud" {
		t.Errorf("log %q, %v", out.String(), err)
	}
	out.Reset()
	Logging{Level: "debug", Format: "text"}.Logger(&out).Debug("all")
	if !strings.Contains(out.String(), "level=DEBUG msg=all") {
		t.Errorf("log %q", out.String())
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(smallest, "LANEWAY_GROUP=x", "group=y")
	f.Add(full, "A=b", "topics.orders.retry.tiers=[1s, {a: b}]")
	f.Add("a: &a [*a]\n<<: *a\n? [x]: y\n", "LANEWAY_BROKERS=[", "a.\"b.c\".d={")
	if data, err := os.ReadFile("testdata/broken.yaml"); err == nil {
		f.Add(string(data), "LEVEL=x", "sasl=x")
	}
	f.Fuzz(func(t *testing.T, file, variable, override string) {
		c, err := Load(Source{Name: "f", Data: []byte(file), Environ: []string{variable}, Overrides: []string{override}, ReadFile: noFiles})
		_ = c.Warnings()
		if err != nil {
			if all, ok := errors.AsType[*Error](err); !ok || len(all.Problems) == 0 {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		first, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(Source{Name: "f", Data: first, ReadFile: noFiles})
		if err != nil {
			t.Fatalf("printed file has problems:\n%v\n%s", err, first)
		}
		second, err := again.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Fatalf("printed, loaded, printed:\n%s", cmp.Diff(string(first), string(second)))
		}
	})
}
