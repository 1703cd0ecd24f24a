package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
)

// operator types commands against a cluster.
type operator struct {
	t       *testing.T
	cluster *kfake.Cluster
}

func newOperator(t *testing.T) operator {
	t.Helper()
	return operator{t, startCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))}
}

func (o operator) types(line string, more ...string) result {
	o.t.Helper()
	args := append(append(strings.Fields(line), more...), "-c", "testdata/clean.yaml", "-X", "brokers="+strings.Join(o.cluster.ListenAddrs(), ","))
	return invocation{args: args, environ: []string{"USER=ann"}}.run(o.t)
}

// wants compares a result with an exit code and texts that are in its output.
func (o operator) wants(got result, code int, texts ...string) {
	o.t.Helper()
	for _, text := range texts {
		if !strings.Contains(got.stdout, text) {
			o.t.Errorf("no %q in:\n%s", text, got.stdout)
		}
	}
	if got.code != code {
		o.t.Errorf("exit code %d, want %d; stderr %q", got.code, code, got.stderr)
	}
}

// orders produces records with the values 0 to n-1.
func (o operator) orders(n int) {
	o.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.cluster.ListenAddrs()...), kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		o.t.Fatal(err)
	}
	defer cl.Close()
	for i := range n {
		r := &kgo.Record{Key: fmt.Append(nil, "customer-", i), Value: fmt.Append(nil, "secret-", i), Headers: []kgo.RecordHeader{{Key: "tenant", Value: []byte("acme")}}}
		if err := cl.ProduceSync(o.t.Context(), r).FirstErr(); err != nil {
			o.t.Fatal(err)
		}
	}
}

// work runs a processor until its handler has returned n times.
func (o operator) work(n int, h processor.HandlerFunc) {
	o.t.Helper()
	returned := make(chan struct{}, n)
	p, err := processor.New(processor.Config{
		Brokers: o.cluster.ListenAddrs(), Group: "billing", Topics: []processor.Topic{{Name: "orders"}}, AutoCreateTopics: true,
	}, processor.HandlerFunc(func(ctx context.Context, m *processor.Message) error {
		defer func() { returned <- struct{}{} }()
		return h(ctx, m)
	}))
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(o.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for range n {
		<-returned
	}
	cancel()
	if err := <-ended; err != nil {
		o.t.Errorf("Run: %v", err)
	}
}

func fails(_ context.Context, m *processor.Message) error {
	return processor.Permanent(fmt.Errorf("order %s: card refused", m.Value[len("secret-"):]))
}

func TestAnOperatorFindsAndSendsAgainWhatDied(t *testing.T) {
	o := newOperator(t)
	o.orders(12)
	o.work(12, fails)

	o.wants(o.types("status"), exitOK, "group billing: Empty, no members, 2 lanes; lag 0, dead letters 12", "nobody works on 2 of 2 lanes", "processor dlt groups")
	groups := o.types("dlt groups -o json")
	var g groupJSON
	if err := json.Unmarshal([]byte(groups.stdout), &g); err != nil || g.Count != 12 || g.Message != "order N: card refused" {
		t.Fatalf("%+v, %v", g, err)
	}
	o.wants(o.types("dlt groups"), exitOK, g.Cause, "100%", "processor dlt redrive --cause "+g.Cause)
	o.wants(o.types("dlt ls --limit 5"), exitOK, "orders.billing.dlt\nPLACE ", "customer-0", "there are more than 5")
	o.wants(o.types("dlt ls --key customer-99"), exitOK, "no dead letters")
	o.wants(o.types("dlt show "+g.Sample), exitOK, "reason           permanent", "hidden; --show-values", "processor trail orders/0/0")
	o.wants(o.types("dlt show 0/0 --show-values"), exitOK, "tenant: acme", "\nsecret-0\n")

	plan := o.types("dlt redrive --rate 0 --cause " + g.Cause)
	o.wants(plan, exitFindings, "redrive of orders: 12 records match, 12 to send, 12 to resolve", "0 are done already", "--execute --reason")
	o.wants(o.types("task ls --all"), exitOK, "no tasks")
	o.wants(o.types("dlt redrive --rate 0 --execute --cause "+g.Cause, "--reason", "card network is back"), exitOK, "phase      done", "sent       12, ", "resolved   12", "by         ann@")
	o.wants(o.types("dlt ls"), exitOK, "no dead letters")
	o.wants(o.types("dlt ls --resolved"), exitOK, "(resolved)")
	o.wants(o.types("status"), exitOK, "dead letters 0", "orders.billing.replay")

	o.work(12, fails)
	o.wants(o.types("task ls"), exitOK, "no tasks")
	var task taskJSON
	if err := json.Unmarshal([]byte(o.types("task ls --all -o json").stdout), &task); err != nil || task.Sent != 12 || task.Reason != "card network is back" {
		t.Fatalf("%+v, %v", task, err)
	}
	o.wants(o.types(fmt.Sprint("task show ", task.Number)), exitOK, "returned   12 are dead letters again")
	o.wants(o.types("trail orders/0/0"), exitOK, "source", "permanent, resolved", fmt.Sprintf("task %d, permanent", task.Number))
	o.wants(o.types("trail --key customer-3"), exitOK, "orders/", "dead")
	if got := o.types(fmt.Sprint("task resume ", task.Number)); got.code != exitError || !strings.Contains(got.stderr, "task has ended: done") {
		t.Errorf("%+v", got)
	}

	o.wants(o.types("dlt discard --header tenant=acme"), exitFindings, "discard of orders: 12 records match, 0 to send, 12 to resolve")
	o.wants(o.types("dlt discard --header tenant=acme --execute --reason enough"), exitOK, "resolved   12")
	o.wants(o.types("dlt redrive"), exitOK, "0 records match")
}

func TestAReplayOfTheSourceIsPlannedAndSent(t *testing.T) {
	o := newOperator(t)
	o.orders(6)
	o.work(6, func(context.Context, *processor.Message) error { return nil })
	o.wants(o.types("replay --from @-1h --rate 0"), exitFindings, "replay of orders: 6 records match, 6 to send", "6 are done already and will be skipped")
	o.wants(o.types("replay --from 0 --to 2 --partition 0 --rate 0 --rerun-done --execute --reason ledger"), exitOK, "phase      done", "sent       2, ")
	o.work(2, func(_ context.Context, m *processor.Message) error {
		if string(m.Value) != "secret-0" && m.Partition != 0 {
			t.Errorf("%s came again", m.Value)
		}
		return nil
	})
	o.wants(o.types("replay --from @-3d --to @-2d"), exitOK, "0 records match")
}

func TestATaskIsCancelledByItsNumber(t *testing.T) {
	o := newOperator(t)
	o.orders(4)
	o.work(4, fails)
	if got := o.types("dlt redrive --execute --reason x --rate 1"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	var task taskJSON
	if err := json.Unmarshal([]byte(o.types("task ls --all -o json").stdout), &task); err != nil {
		t.Fatal(err)
	}
	o.wants(o.types(fmt.Sprint("task cancel ", task.Number)), exitOK, "phase      done")
	if got := o.types("task cancel 999999"); got.code != exitError || !strings.Contains(got.stderr, "no such task") {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNotThereIsFinding3(t *testing.T) {
	o := newOperator(t)
	o.wants(o.types("trail orders/0/77"), exitFindings, "no trace of it")
	o.wants(o.types("key get payment-17"), exitFindings, "nothing is remembered of it")
	o.wants(o.types("status --all"), exitOK, "group billing: Dead, no members, 2 lanes; lag 0", "orders/1")
}

func TestValuesAreHiddenUnlessAskedFor(t *testing.T) {
	o := newOperator(t)
	o.orders(2)
	o.work(2, fails)
	for _, line := range []string{"dlt ls", "dlt ls -o json", "dlt show 0/0", "dlt show 0/0 -o json", "dlt export", "dlt groups", "dlt redrive", "trail orders/0/0", "status -o json"} {
		if got := o.types(line); strings.Contains(got.stdout, "secret") || strings.Contains(got.stdout, "c2VjcmV0") || got.stdout == "" {
			t.Errorf("%s shows a value, or nothing:\n%s", line, got.stdout)
		}
	}
	o.wants(o.types("dlt export --show-values"), exitOK, `"value":"c2VjcmV0LTA="`)
}

func TestMistakesOfAnOperatorExitWith2(t *testing.T) {
	o := newOperator(t)
	for _, line := range []string{
		"dlt ls --topic payments", "dlt ls --range x", "dlt ls --header tenant", "dlt show x", "dlt show a/0", "dlt show", "dlt redrive --execute",
		"dlt redrive --range 20:10", "replay", "replay --from x", "replay --from 5 --to y", "task show x", "task show 0", "task cancel 1 --execute", "trail",
		"trail orders/0/1 --key a", "key get", "key get b64:?", "status extra",
	} {
		if got := o.types(line); got.code != exitUsage || !strings.Contains(got.stderr, "add --help") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestNoOutputForOperatorsHoldsASecret(t *testing.T) {
	secrets := []string{"SASL_PASSWORD=hunter2-a", "API_TOKEN=hunter2-b", "LANEWAY_OPS_AUTH_OPERATOR_TOKEN=hunter2-c"}
	for _, line := range []string{"status", "dlt ls", "dlt groups", "dlt redrive --topic orders", "replay --topic orders --from 0", "task ls", "trail orders/0/1", "key get x"} {
		args := append(strings.Fields(line), "-c", "testdata/secrets.yaml", "--timeout", "50ms")
		got := invocation{args: args, environ: secrets}.run(t)
		if strings.Contains(got.stdout+got.stderr, "hunter2") || got.stderr == "" || got.code != exitError {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
