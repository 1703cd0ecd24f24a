package admin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
)

func whats(steps []admin.Step) (out []string) {
	for _, s := range steps {
		text := s.What
		if s.Settled {
			text += ", settled"
		}
		out = append(out, text)
	}
	return out
}

func (w *world) trail(c *admin.Client, of admin.TrailOf) []admin.Step {
	w.t.Helper()
	steps, err := c.Trail(w.t.Context(), of)
	if err != nil {
		w.t.Fatal(err)
	}
	return steps
}

func TestATrailTellsTheWholeStory(t *testing.T) {
	w := newWorld(t, 1)
	w.dieAll(10)
	c := w.admin()
	of := admin.TrailOf{Origin: "orders/0/4"}
	if diff := cmp.Diff([]string{"source, settled", "dead", "terminal, settled"}, whats(w.trail(c, of))); diff != "" {
		t.Errorf("before the redrive:\n%s", diff)
	}
	task := w.create(c, redrive(admin.Spec{}))
	if _, err := c.Execute(t.Context(), task.Number, nil); err != nil {
		t.Fatal(err)
	}
	handled := newCounted(10)
	stop := w.work(handled.handle)
	<-handled.all
	stop()
	steps := w.trail(c, of)
	want := []string{"source, settled", "dead, settled", "terminal, settled", "replay, settled", "done, settled"}
	if diff := cmp.Diff(want, whats(steps)); diff != "" {
		t.Error(diff)
	}
	if last := steps[len(steps)-1]; last.Run != task.Number || last.Origin != "orders/0/4" {
		t.Errorf("%+v", last)
	}
	byKey := w.trail(c, admin.TrailOf{Key: []byte("k4")})
	if diff := cmp.Diff(steps, byKey); diff != "" {
		t.Errorf("by its key:\n%s", diff)
	}
}

func TestARecordThatWentWellHasItsMarkOnly(t *testing.T) {
	w := newWorld(t, 1)
	w.orders(3)
	handled := newCounted(3)
	stop := w.work(handled.handle)
	<-handled.all
	stop()
	c := w.admin()
	if diff := cmp.Diff([]string{"source, settled", "done, settled"}, whats(w.trail(c, admin.TrailOf{Origin: "orders/0/2"}))); diff != "" {
		t.Error(diff)
	}
	if steps := w.trail(c, admin.TrailOf{Origin: "orders/0/77"}); len(steps) != 0 {
		t.Errorf("%+v", steps)
	}
	for _, of := range []string{"orders", "orders/0/x"} {
		if _, err := c.Trail(t.Context(), admin.TrailOf{Origin: of}); err == nil {
			t.Errorf("%q is taken for a record", of)
		}
	}
	if _, err := c.Trail(t.Context(), admin.TrailOf{Origin: "payments/0/1"}); !errors.Is(err, admin.ErrNoSource) {
		t.Errorf("another source: %v", err)
	}
}

func TestMarksOfAKeyAreFoundInAllPartitions(t *testing.T) {
	w := newWorld(t, 3)
	w.topic.Idempotency.Key = dedupe.FromHeader("id")
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		w.produce(&kgo.Record{Key: []byte(key), Headers: []kgo.RecordHeader{{Key: "id", Value: []byte("pay-" + key)}}})
	}
	done := make(chan struct{}, 10)
	stop := w.work(func(context.Context, *processor.Message) error { done <- struct{}{}; return nil })
	for range 6 {
		<-done
	}
	stop()
	c := w.admin()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		marks, err := c.Marks(t.Context(), "", []byte("pay-"+key))
		if err != nil || len(marks) != 1 || marks[0].Kind != "done" || marks[0].TakenBack {
			t.Errorf("%s: %+v, %v", key, marks, err)
		}
	}
	if marks, err := c.Marks(t.Context(), "orders", []byte("pay-x")); err != nil || len(marks) != 0 {
		t.Errorf("%+v, %v", marks, err)
	}
}
