//go:build polyglot

package exechandler

import (
	"errors"
	"testing"
	"time"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

const examples = "../../examples/exec/"

// newExampleRig is a rig whose processes run an example.
func newExampleRig(t *testing.T, command ...string) *rig {
	t.Helper()
	return newRig(t, func(c *Config) { c.Command, c.Env, c.Processes = command, nil, 2 })
}

func TestTheOrderExamplesKeepTheProtocol(t *testing.T) {
	for _, command := range [][]string{{"python3", examples + "handler.py"}, {"node", examples + "handler.mjs"}} {
		t.Run(command[0], func(t *testing.T) {
			r := newExampleRig(t, command...)
			for _, test := range []struct {
				value []byte
				want  retrytopics.Verdict
				class string
			}{
				{[]byte(`{"id":"Aé\u2028","amount":12}`), retrytopics.VerdictOK, ""},
				{nil, retrytopics.VerdictSkip, ""},
				{[]byte{}, retrytopics.VerdictPermanent, "bad_order"},
				{[]byte{0xff}, retrytopics.VerdictPermanent, "bad_order"},
				{[]byte("null"), retrytopics.VerdictPermanent, "bad_order"},
				{[]byte(`{"id":"A"}`), retrytopics.VerdictPermanent, "bad_order"},
				{[]byte(`{"id":"A","amount":-1}`), retrytopics.VerdictPermanent, "bad_amount"},
				{[]byte(`{"id":"A","amount":"many"}`), retrytopics.VerdictPermanent, "bad_amount"},
			} {
				err := r.Handle(t.Context(), &processor.Message{Value: test.value})
				wantOutcome(t, string(test.value), err, test.want, test.class)
			}
			if len(r.produced) != 1 || r.produced[0].Topic != "invoices" || string(r.produced[0].Key) != "Aé\u2028" {
				t.Errorf("outputs %v, want one invoice", r.produced)
			}
		})
	}
}

func TestTheShellExampleTakesTheExitStatusForTheOutcome(t *testing.T) {
	const command = `read -r line; echo seen "$line"; case $line in *'"value":"0"'*) exit 0;; *'"65"'*) exit 65;; *'"75"'*) exit 75;; esac; exit 1`
	r := newExampleRig(t, "sh", examples+"handler.sh", "sh", "-c", command)
	wantOutcome(t, "0", r.do(t.Context(), "0"), retrytopics.VerdictOK, "")
	wantOutcome(t, "65", r.do(t.Context(), "65"), retrytopics.VerdictPermanent, "exit_65")
	wantOutcome(t, "1", r.do(t.Context(), `back\slash`), retrytopics.VerdictRetryable, "exit_1")
	err := r.do(t.Context(), "75")
	wantOutcome(t, "75", err, retrytopics.VerdictSnooze, "exit_75")
	if d := retrytopics.Classify(err, nil); d.RetryAfter != 30*time.Second {
		t.Errorf("exit status 75 waits for %v, want 30s", d.RetryAfter)
	}
}

func wantOutcome(t *testing.T, value string, err error, want retrytopics.Verdict, class string) {
	t.Helper()
	if got := retrytopics.Classify(err, nil).Verdict; got != want {
		t.Errorf("%q: %v (%v), want %v", value, got, err, want)
	}
	got := ""
	if e, ok := errors.AsType[*AnswerError](err); ok {
		got = e.Class
	}
	if got != class {
		t.Errorf("%q: class %q (%v), want %q", value, got, err, class)
	}
}
