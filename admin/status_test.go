package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/processor"
)

func (w *world) status(c *admin.Client, now time.Time) *admin.Status {
	w.t.Helper()
	s, err := c.Status(w.t.Context(), now)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestStatusNeedsNoWorkerAndNoGroup(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(&kgo.Record{Key: []byte("a"), Timestamp: time.UnixMilli(1_700_000_000_000)})
	s := w.status(w.admin(), time.Now())
	if s.State != "Dead" || len(s.Members) != 0 || len(s.Lanes) != 2 || s.Lag() != 1 || s.DeadLetters() != 0 {
		t.Fatalf("%+v", s)
	}
	for _, l := range s.Lanes {
		if !l.NoOffsets || l.Committed != -1 || l.Unsettled == 1 && l.Oldest.UnixMilli() != 1_700_000_000_000 {
			t.Errorf("%+v", l)
		}
	}
}

func TestWhatIsSettledAboveTheCommitIsNoLag(t *testing.T) {
	w := newWorld(t, 1)
	w.orders(10)
	meta := offsets.Metadata{Settled: offsets.SettledOf(2, 10, 3, 4, 5, 9), Lane: &offsets.LaneState{Tenure: 7, Unclean: 2}}
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 2, LeaderEpoch: -1, Metadata: meta.Encode(2)})
	if err := kadm.NewClient(w.client).CommitAllOffsets(t.Context(), "billing", o); err != nil {
		t.Fatal(err)
	}
	s := w.status(w.admin(), time.Now())
	want := admin.Lane{Source: "orders", Committed: 2, End: 10, Unsettled: 4, Tenure: 7, Unclean: 2}
	if diff := cmp.Diff(want, s.Lanes[0], cmpopts.IgnoreFields(admin.Lane{}, "Oldest")); diff != "" {
		t.Error(diff)
	}
	if age := time.Since(s.Lanes[0].Oldest); age < 0 || age > time.Minute {
		t.Errorf("oldest %s", s.Lanes[0].Oldest)
	}
}

func TestStatusCountsWhatWaitsAndWhatIsDead(t *testing.T) {
	w := newWorld(t, 1)
	w.orders(10)
	called := make(chan struct{}, 100)
	stop := w.work(func(_ context.Context, m *processor.Message) error {
		defer func() { called <- struct{}{} }()
		switch m.Value[0] {
		case '0', '1', '2':
			return errors.New("not now")
		case '3':
			return processor.Permanent(errors.New("never"))
		}
		return nil
	})
	c := w.admin()
	for range 7 { // those with the keys of 0, 1 and 2 wait behind them
		<-called
	}
	w.settle(c)
	s := w.status(c, time.Now())
	if len(s.Members) != 1 || s.Members[0].Lanes != 1 || s.Lanes[0].Member != s.Members[0].ID || s.State != "Stable" {
		t.Errorf("members %+v, lane %+v", s.Members, s.Lanes[0])
	}
	stop()
	s = w.status(c, time.Now())
	lane := s.Lanes[0]
	if lane.Unsettled != 0 || lane.Waiting != 6 || lane.Overdue != 0 || lane.DeadLetters != 1 || lane.OldestDead.IsZero() || lane.Member != "" {
		t.Errorf("%+v", lane)
	}
	if late := w.status(c, time.Now().Add(time.Minute)).Lanes[0]; late.Overdue != 6 {
		t.Errorf("a minute later %d are overdue", late.Overdue)
	}
	var tiers []string
	for _, tier := range s.Tiers {
		tiers = append(tiers, tier.Topic)
	}
	if diff := cmp.Diff([]string{w.names.Replay(), w.names.Stage(5 * time.Second), w.names.Stage(time.Minute), w.names.Stage(10 * time.Minute)}, tiers); diff != "" {
		t.Error(diff)
	}
}
