package admin_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestTwoCopiesOfOneDeadLetterAreOne(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(5)
	c := w.admin()
	first := letters(t, c, admin.Query{})
	d := first[2]
	w.produce(&kgo.Record{Topic: w.names.DLT(), Key: d.Key, Value: d.Value, Headers: d.Envelope.Set(d.Headers)})
	if got := letters(t, c, admin.Query{}); len(got) != 5 {
		t.Errorf("%d dead letters", len(got))
	}
	// Sent once, and both copies resolved.
	task := w.create(c, redrive(admin.Spec{}))
	got, err := c.Execute(t.Context(), task.Number, nil)
	if err != nil || got.Progress.Sent != 5 || got.Progress.Resolved != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	if n := w.status(c, time.Now()).DeadLetters(); n != 0 {
		t.Errorf("status counts %d", n)
	}
}

func TestFiltersSelectDeadLetters(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(20)
	c := w.admin()
	groups, err := c.Groups(t.Context(), admin.Query{})
	if err != nil || len(groups) != 2 || groups[0].Count != 18 || groups[1].Count != 2 {
		t.Fatalf("%+v, %v", groups, err)
	}
	if g := groups[0]; g.Message != "card of order N refused" || g.Share != 0.9 || g.Reasons["permanent"] != 18 {
		t.Errorf("%+v", g)
	}
	long := time.Now().Add(-time.Hour)
	for name, test := range map[string]struct {
		filter admin.Filter
		want   int
	}{
		"all":                {admin.Filter{}, 20},
		"reason":             {admin.Filter{Reasons: []string{"permanent"}}, 20},
		"another reason":     {admin.Filter{Reasons: []string{"exhausted"}}, 0},
		"class":              {admin.Filter{Classes: []string{groups[0].Class}}, 18},
		"cause":              {admin.Filter{Causes: []string{groups[1].ID}}, 2},
		"key":                {admin.Filter{Keys: [][]byte{[]byte("k3")}}, 3},
		"header":             {admin.Filter{Headers: []admin.HeaderEqual{{Name: "tenant", Value: "t1"}}}, 10},
		"header and key":     {admin.Filter{Keys: [][]byte{[]byte("k3")}, Headers: []admin.HeaderEqual{{Name: "tenant", Value: "t1"}}}, 2},
		"partition":          {admin.Filter{Partitions: []int32{1}}, 0},
		"offsets":            {admin.Filter{Range: admin.Range{From: admin.AtOffset(5), To: admin.AtOffset(8)}}, 3},
		"later than an hour": {admin.Filter{Range: admin.Range{From: admin.AtTime(long)}}, 20},
		"before an hour":     {admin.Filter{Range: admin.Range{To: admin.AtTime(long)}}, 0},
	} {
		if got := letters(t, c, admin.Query{Filter: test.filter}); len(got) != test.want {
			t.Errorf("%s: %d dead letters, want %d", name, len(got), test.want)
		}
	}
}

func TestADeadLetterIsFoundByItsPlace(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(3)
	c := w.admin()
	d, err := c.DeadLetter(t.Context(), "orders", 0, 1)
	if err != nil || d.Place() != "orders.billing.dlt/0/1" || d.Envelope.Reason != retrytopics.ReasonPermanent || d.Resolved {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := c.DeadLetter(t.Context(), "orders", 0, 3); !errors.Is(err, admin.ErrNoDeadLetter) {
		t.Errorf("behind the end: %v", err)
	}
	if _, err := c.DeadLetter(t.Context(), "payments", 0, 3); !errors.Is(err, admin.ErrNoSource) {
		t.Errorf("another source: %v", err)
	}
}

func TestAValueThatWasLeftOutIsSentFromTheSource(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(2)
	c := w.admin()
	d := letters(t, c, admin.Query{})[0]
	d.Envelope.ValueOmitted, d.Envelope.Run = true, 0
	d.Envelope.Origin.Offset = 1
	gone := d.Envelope
	gone.Origin.Offset = 99
	w.produce(
		&kgo.Record{Topic: w.names.DLT(), Headers: gone.Set(nil)},
	)
	spec := redrive(admin.Spec{})
	spec.Filter.Range.From = admin.AtOffset(2)
	p := w.plan(c, spec)
	task, err := c.Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Execute(t.Context(), task.Number, nil); err != nil || got.Progress != (admin.Progress{Unsent: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNothingButAReasonableTaskIsCreated(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(2)
	c := w.admin()
	spec := redrive(admin.Spec{Filter: admin.Filter{Classes: []string{"nobody"}}})
	if _, err := c.Create(t.Context(), w.plan(c, spec)); !errors.Is(err, admin.ErrNothing) {
		t.Errorf("nothing matches: %v", err)
	}
	spec = redrive(admin.Spec{})
	spec.Reason = ""
	if _, err := c.Create(t.Context(), w.plan(c, spec)); !errors.Is(err, admin.ErrNoReason) {
		t.Errorf("no reason: %v", err)
	}
}

func TestATaskSendsAnOriginOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(4)
	c := w.admin()
	d := letters(t, c, admin.Query{})[1]
	d.Envelope.Run = 1 << 20 // of a replay of the source, which failed as the first life did
	w.produce(&kgo.Record{Topic: w.names.DLT(), Key: d.Key, Value: d.Value, Headers: d.Envelope.Set(d.Headers)})
	if n := len(letters(t, c, admin.Query{})); n != 5 {
		t.Fatalf("%d dead letters", n)
	}
	task := w.create(c, redrive(admin.Spec{}))
	got, err := c.Execute(t.Context(), task.Number, nil)
	if err != nil || got.Progress.Sent != 4 || got.Progress.Resolved != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatMayHaveTakenEffectIsSentOnlyIfAskedFor(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(3)
	c := w.admin()
	d := letters(t, c, admin.Query{})[0]
	d.Envelope.Reason, d.Envelope.Run = retrytopics.ReasonUncertain, 1<<20
	w.produce(&kgo.Record{Topic: w.names.DLT(), Key: d.Key, Value: d.Value, Headers: d.Envelope.Set(d.Headers)})
	spec := redrive(admin.Spec{})
	spec.Filter.Range.From = admin.AtOffset(3)
	if p := w.plan(c, spec); p.Sends != 0 || p.Uncertain != 1 || !errors.Is(p.Refusal(), admin.ErrNothing) {
		t.Errorf("%+v", p)
	}
	spec.Filter.Reasons = []string{string(retrytopics.ReasonUncertain)}
	if p := w.plan(c, spec); p.Sends != 1 || p.Uncertain != 0 {
		t.Errorf("asked for by its reason: %+v", p)
	}
	spec.Filter.Reasons, spec.IncludeUncertain = nil, true
	if p := w.plan(c, spec); p.Sends != 1 || p.Uncertain != 0 {
		t.Errorf("asked for by the flag: %+v", p)
	}
}
