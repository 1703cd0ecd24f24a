package offsets_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/internal/offsets"
)

func TestEpochsAreNotedNewestFirst(t *testing.T) {
	var e offsets.Epochs
	for _, s := range []offsets.EpochStart{{-1, 0}, {3, 1}, {3, 2}, {5, 10}, {5, 11}, {4, 5}, {3, 0}} {
		e.Note(s.Epoch, s.First)
	}
	if diff := cmp.Diff(offsets.Epochs{{5, 10}, {4, 5}, {3, 1}}, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	shared := e
	for epoch := range int32(10) {
		e.Note(10+epoch, 100+int64(epoch))
	}
	if len(e) != offsets.MaxEpochs || e[0].Epoch != 19 || e[7].Epoch != 12 {
		t.Errorf("of many epochs the newest eight stay, got %v", e)
	}
	if shared[0].Epoch != 5 || len(shared) != 3 {
		t.Errorf("Note changed a copy: %v", shared)
	}
}

func TestEpochsAreCutAtTheCommitAndAtTheFork(t *testing.T) {
	e := offsets.Epochs{{7, 100}, {5, 50}, {2, 10}}
	for _, c := range []struct {
		name string
		got  offsets.Epochs
		want offsets.Epochs
	}{
		{"commit above all", e.From(120), offsets.Epochs{{7, 100}}},
		{"commit where one begins", e.From(50), offsets.Epochs{{7, 100}, {5, 50}}},
		{"commit below all", e.From(3), e},
		{"fork above all", e.Below(101), e},
		{"fork where one begins", e.Below(100), offsets.Epochs{{5, 50}, {2, 10}}},
		{"fork below all", e.Below(10), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestNotingTheNewestEpochAllocatesNothing(t *testing.T) {
	e := offsets.Epochs{{7, 100}}
	if n := testing.AllocsPerRun(100, func() { e.Note(7, 101) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// brokerLog is the leader epoch of each offset of a partition, as its leader has it.
type brokerLog []int32

// offsetForLeaderEpoch answers as a broker does: the greatest epoch at or below the one asked for, and where it ends.
func (l brokerLog) offsetForLeaderEpoch(epoch int32) (answered int32, end int64, ok bool) {
	answered, end = -1, -1
	for off, e := range l {
		if e <= epoch {
			answered, end = e, int64(off)+1
		}
	}
	return answered, end, answered >= 0
}

func TestR41ForkIsWhereTheLogsPart(t *testing.T) {
	read := brokerLog{2, 2, 2, 5, 5, 7, 7, 7}
	for _, c := range []struct {
		name  string
		now   brokerLog
		fork  int64
		known bool
	}{
		{"the same log, longer", brokerLog{2, 2, 2, 5, 5, 7, 7, 7, 7, 8}, 9, true},
		{"cut within the newest epoch", brokerLog{2, 2, 2, 5, 5, 7, 8, 8, 8}, 6, true},
		{"the newest epoch never was", brokerLog{2, 2, 2, 5, 5, 8, 8, 8, 8}, 5, true},
		{"the epoch before went on", brokerLog{2, 2, 2, 5, 5, 5, 5, 5, 8}, 5, true},
		{"two epochs never were", brokerLog{2, 2, 3, 3, 3, 3, 3, 3, 3}, 2, true},
		{"as long, but all of other epochs", brokerLog{1, 1, 1, 3, 3, 4, 6, 6}, 0, false},
		{"an empty log", nil, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fork, known := offsets.Fork(noted(read), c.now.offsetForLeaderEpoch)
			if fork != c.fork || known != c.known {
				t.Errorf("Fork = %d, %v; want %d, %v", fork, known, c.fork, c.known)
			}
		})
	}
	if fork, known := offsets.Fork(nil, brokerLog{1}.offsetForLeaderEpoch); fork != math.MaxInt64 || !known {
		t.Errorf("Fork of nothing = %d, %v; want that no offset is cut away", fork, known)
	}
}

func noted(l brokerLog) offsets.Epochs {
	var e offsets.Epochs
	for off, epoch := range l {
		e.Note(epoch, int64(off))
	}
	return e
}

func TestR41ForkIsNeverAboveTheFirstDifference(t *testing.T) {
	epochs := rapid.SliceOfN(rapid.Int32Range(0, 1), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		common := ascending(0, epochs.Draw(t, "common"))
		last := int32(0)
		if len(common) > 0 {
			last = common[len(common)-1]
		}
		// An epoch has one leader, so after the logs part they have no epoch in common but the one they parted in, which
		// one of them at most goes on with.
		read := ascending(last+rapid.Int32Range(0, 1).Draw(t, "goes on"), epochs.Draw(t, "read"))
		now := ascending(last+1, epochs.Draw(t, "now"))
		for i := range read {
			if read[i] > last {
				read[i] = last + 2*(read[i]-last)
			}
		}
		for i := range now {
			now[i] = last + 2*(now[i]-last) + 1
		}
		before := append(append(brokerLog{}, common...), read...)
		after := append(append(brokerLog{}, common...), now...)
		fork, known := offsets.Fork(noted(before), after.offsetForLeaderEpoch)
		if len(before) == 0 {
			return
		}
		if known && len(read) > 0 && fork > int64(len(common)) {
			t.Fatalf("Fork of %v and %v = %d, but they part at %d", before, after, fork, len(common))
		}
		if known && len(read) == 0 && len(now) == 0 && fork != int64(len(common)) {
			t.Fatalf("Fork of %v and itself = %d", before, fork)
		}
	})
}

func ascending(from int32, steps []int32) brokerLog {
	l := make(brokerLog, len(steps))
	for i, step := range steps {
		from += step
		l[i] = from
	}
	return l
}

func TestForkSearchAsksOneEpochAfterTheOther(t *testing.T) {
	search := offsets.SearchFork(offsets.Epochs{{7, 100}, {5, 50}})
	if epoch, more := search.Ask(); epoch != 7 || !more {
		t.Fatalf("first question: %d, %v", epoch, more)
	}
	other := search
	if _, found := search.Answer(6, 90); found {
		t.Fatal("an answer about another epoch was taken")
	}
	if epoch, more := search.Ask(); epoch != 5 || !more {
		t.Fatalf("second question: %d, %v", epoch, more)
	}
	if fork, found := search.Answer(5, 120); fork != 100 || !found {
		t.Fatalf("fork = %d, %v; want 100, where epoch 7 began", fork, found)
	}
	if fork, found := other.Answer(7, -1); found {
		t.Fatalf("fork = %d of an answer without an end", fork)
	}
	other.Answer(-1, -1)
	if _, more := other.Ask(); more {
		t.Fatal("asks on after the last epoch")
	}
	if fork, found := other.Answer(5, 60); found {
		t.Fatalf("fork = %d of an answer that nobody asked for", fork)
	}
}
