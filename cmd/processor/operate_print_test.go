package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/retrytopics"
)

// The printed moment.
var printedAt = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func ago(d time.Duration) time.Time { return printedAt.Add(-d) }

// printed prints in both forms and compares them with golden files.
func printed(t *testing.T, name string, columns int, show func(env *environment, form output) error) {
	t.Helper()
	for form, suffix := range map[output]string{outputText: ".txt", outputJSON: ".jsonl"} {
		var out bytes.Buffer
		if err := show(&environment{stdout: &out}, form); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("operate", name+suffix), out.String())
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); form == outputText && n > columns {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestPrintStatus(t *testing.T) {
	got := &admin.Status{
		Group: "billing", State: "Stable",
		Members: []admin.Member{
			{ID: "m-1", Client: "laneway", Host: "10.0.0.7", Lanes: 1},
			{ID: "m-2", Instance: "billing-1", Client: "laneway", Host: "10.0.0.8", Lanes: 1},
		},
		Lanes: []admin.Lane{
			{Source: "orders", Partition: 0, Member: "m-1", Committed: 100, End: 100, Tenure: 7},
			{
				Source: "orders", Partition: 1, Member: "m-2", Committed: 52_000_000, End: 64_000_012, Unsettled: 12_000_000, Oldest: ago(3*time.Hour + 25*time.Minute),
				Waiting: 1_000_002, Overdue: 1_000_001, Replays: 300, DeadLetters: 1_000_017, OldestDead: ago(26 * time.Hour), Tenure: 1_767_000_001, Unclean: 3, Suspects: 1,
			},
			{
				Source: "a-source-with-a-name-that-is-long", Partition: 117, Committed: 5, End: 9, Unsettled: 4, Oldest: ago(65 * time.Second),
				Unread: "commit metadata of another program",
			},
		},
		Tiers: []admin.Tier{
			{Source: "orders", Topic: "orders.billing.replay", Waiting: 300},
			{Source: "orders", Topic: "orders.billing.retry-5s", Delay: 5 * time.Second, Waiting: 1_000_002, Overdue: 1_000_001},
			{Source: "orders", Topic: "orders.billing.retry-1m", Delay: time.Minute},
		},
	}
	printed(t, "status", 100, func(env *environment, form output) error {
		s := &status{operation: operation{env: env, output: form}}
		return s.print(got, printedAt)
	})
}

func printedLetter() *admin.DeadLetter {
	return &admin.DeadLetter{
		Source: "orders", Topic: "orders.billing.dlt", Partition: 3, Offset: 1_234_567, At: ago(time.Hour), Key: []byte("customer-17-of-many"),
		Value: []byte("{\"card\":\n \"\x1b[31m4711\"}"), Headers: []kgo.RecordHeader{{Key: "tenant", Value: []byte("acme")}},
		Envelope: retrytopics.Envelope{
			Origin:  admin.Origin{Topic: "orders", Partition: 3, Offset: 1042, LeaderEpoch: 5},
			Attempt: 5, Reason: retrytopics.ReasonExhausted, ErrorClass: "*payment.Refused", ErrorMessage: "card of order 17 refused:\nbank says no",
			ErrorStack: "goroutine 1\nmain.main()\n", FirstFailedAt: ago(2 * time.Hour), LastFailedAt: ago(time.Hour), OriginTimestamp: ago(3 * time.Hour),
			Worker: "v1.2.3 billing-1", ReplayID: "42", Run: 42, IdempotencyKey: "pay-17", OriginTraceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
	}
}

func TestPrintDeadLetters(t *testing.T) {
	bare := &admin.DeadLetter{Source: "orders", Topic: "orders.billing.dlt", Offset: 8, At: ago(time.Minute), Resolved: true, Damage: errors.New("no origin\nno run")}
	for name, values := range map[string]bool{"letters": false, "letters-values": true} {
		printed(t, name, 100, func(env *environment, form output) error {
			p := letterPrinter{d: &dlt{operation: operation{env: env, output: form}, values: values}}
			return errors.Join(p.print(printedLetter()), p.print(bare), p.more())
		})
		printed(t, name+"-show", 100, func(env *environment, form output) error {
			if form == outputJSON {
				return writeJSON(env.stdout, []letterJSON{newLetterJSON(bare, values)})
			}
			return write(env.stdout, showLetter(printedLetter(), values)+"\n"+showLetter(bare, values))
		})
	}
}

func TestPrintGroups(t *testing.T) {
	groups := []admin.CauseGroup{
		{
			Cause: admin.Cause{Class: "*payment.Refused", Message: "card of order N refused, and much more that the bank has to say about it"}, ID: "5f0c2a1b",
			Count: 1_000_000, Share: 0.98, First: ago(50 * time.Hour), Last: ago(3 * time.Second), Reasons: map[string]int{"exhausted": 999_999, "permanent": 1},
			Workers: []string{"v1.2.3 billing-1"}, Returned: 120, Sample: "orders.billing.dlt/3/7", Origin: "orders/3/1042",
		},
		{ID: "00000001", Count: 1, Share: 0.02, First: ago(time.Minute), Last: ago(time.Minute), Reasons: map[string]int{"crash": 1}, Sample: "orders.billing.dlt/0/1", Origin: "orders/0/1"},
	}
	printed(t, "groups", 100, func(env *environment, form output) error {
		d := &dlt{operation: operation{env: env, output: form}}
		return d.printGroups(groups, printedAt)
	})
}

func TestPrintPlans(t *testing.T) {
	plan := &admin.Plan{
		Spec:    admin.Spec{Kind: admin.KindRedrive, Source: "orders", Rate: 10, Spans: []admin.Span{{Partition: 0, From: 3, To: 500}}},
		Matched: 420, Sends: 400, Resolves: 401, Bytes: 3_400_000, Done: 7, Expired: 2, Uncertain: 12, Unsendable: map[string]int64{"its envelope is not readable": 7},
		Duration: 40 * time.Second, Window: 9 * 24 * time.Hour,
		Samples: []admin.Sample{{Place: "orders.billing.dlt/0/3", Origin: "orders/0/17", At: ago(time.Hour), Reason: "exhausted", Cause: admin.Cause{Class: "x", Message: "card of order N refused, and so on and on"}}},
	}
	printed(t, "plan-refused", 100, func(env *environment, form output) error {
		return (&change{operation: operation{env: env, output: form}}).printPlan(plan)
	})
	fine := *plan
	fine.Expired, fine.Spec.RerunDone, fine.Spec.Rate, fine.Duration, fine.Uncertain, fine.Unsendable = 0, true, -1, 0, 0, nil
	printed(t, "plan", 100, func(env *environment, form output) error {
		return (&change{operation: operation{env: env, output: form}}).printPlan(&fine)
	})
}

func TestPrintTasks(t *testing.T) {
	all := []admin.Task{
		{
			Number: 42, Phase: admin.PhasePaused, Progress: admin.Progress{Sent: 120, Bytes: 4096, Resolved: 121, Uncertain: 1}, Next: map[int32]int64{0: 200},
			Spec:   admin.Spec{Kind: admin.KindRedrive, Source: "orders", Rate: 10, Spans: []admin.Span{{To: 500}}, Reason: "card network is back", By: "ann@desk", At: ago(time.Hour)},
			Holder: "desk:17:abc", Until: ago(time.Minute), At: ago(time.Minute), Error: "context canceled",
		},
		{Number: 57, Phase: admin.PhaseDone, Spec: admin.Spec{Kind: admin.KindDiscard, Source: "a-source-with-a-long-name", Reason: "load test, nobody needs these any more", By: "bob@desk", At: ago(time.Minute)}, At: ago(time.Second)},
	}
	printed(t, "tasks", 100, func(env *environment, form output) error {
		return (&tasks{operation: operation{env: env, output: form}, all: true}).printList(all)
	})
	printed(t, "task", 100, func(env *environment, form output) error {
		returned := int64(17)
		return printTask(env.stdout, form, &all[0], &returned)
	})
}

func TestPrintTrailAndMarks(t *testing.T) {
	steps := []admin.Step{
		{Origin: "orders/3/1042", At: ago(3 * time.Hour), What: admin.StepSource, Place: "orders/3/1042", Settled: true, Trace: "00-ab"},
		{Origin: "orders/3/1042", At: ago(2 * time.Hour), What: admin.StepStage, Place: "orders.billing.retry-5s/3/7", Attempts: 1, Due: ago(2 * time.Hour), Reason: "retryable", Message: "connection refused", Settled: true},
		{Origin: "orders/3/1042", At: ago(time.Hour), What: admin.StepDead, Place: "orders.billing.dlt/3/9", Attempts: 5, Reason: "exhausted", Message: strings.Repeat("no ", 50), Settled: true},
		{Origin: "orders/3/1042", Run: 42, At: ago(time.Minute), What: admin.StepReplay, Place: "orders.billing.replay/3/0", ReplayID: "42"},
		{Origin: "orders/3/1043", At: ago(time.Minute), What: admin.StepStage, Place: "orders.billing.retry-5s/3/8", Due: printedAt, Reason: "followed"},
	}
	printed(t, "trail", 100, func(env *environment, form output) error {
		return (&trail{operation: operation{env: env, output: form}}).print(steps)
	})
	marks := []admin.Mark{
		{Kind: "done", Origin: "orders/3/1042", At: ago(time.Hour), Tenure: 1_767_000_001, Place: "orders.billing.idempotency/3/1"},
		{Kind: "claim", Origin: "orders/4/7", Tenure: 9, Tries: 1, TakenBack: true, Place: "orders.billing.idempotency/4/0"},
	}
	printed(t, "marks", 100, func(env *environment, form output) error {
		return (&operation{env: env, output: form}).printMarks(marks)
	})
}

func TestProgressIsALineNowAndThenWhereNobodyWatches(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out}
	task := admin.Task{Spec: admin.Spec{Spans: []admin.Span{{To: 100}}}, Next: map[int32]int64{0: 40}, Progress: admin.Progress{Sent: 39, Resolved: 40}}
	for i := range 25 {
		p.show(task, printedAt.Add(time.Duration(i)*time.Second))
	}
	p.end()
	if want := strings.Repeat("39 sent, 40 resolved, 40 of 100 looked at\n", 3); out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	p = &progress{w: &out, live: true}
	p.show(task, printedAt)
	p.end()
	if got := out.String(); !strings.HasPrefix(got, "\r[########............] 39 sent") || !strings.HasSuffix(got, "\n") {
		t.Errorf("%q", got)
	}
}
