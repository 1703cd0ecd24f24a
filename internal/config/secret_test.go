package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

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

func TestWhatIsFilledInIsNotQuoted(t *testing.T) {
	_, err := load(t, smallest+"commit_interval: ${N}\nbuffers: {lane: '[${N}]'}\nsession: {timeout: '${N}d'}\n", "N=424242")
	want := `laneway.yaml:7:18: commit_interval: "${N}": want a duration such as 500ms, 15s, 10m or 7d (10ms to 1m)`
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "424242") {
		t.Errorf("error %v", err)
	}
}
