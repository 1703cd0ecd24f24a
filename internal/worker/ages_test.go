package worker

import (
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestAgesAreExactForSlowPartitions: records that come one by one, seconds apart, are told apart.
func TestAgesAreExactForSlowPartitions(t *testing.T) {
	var a ages
	if at, ok := a.of(5); ok {
		t.Fatalf("of(5) = %v without samples", at)
	}
	start := time.UnixMilli(1_700_000_000_000)
	for n := range 200 {
		a.note(int64(10+n), start.Add(time.Duration(n)*time.Minute))
	}
	for n := range 200 {
		if at, ok := a.of(int64(10 + n)); !ok || !at.Equal(start.Add(time.Duration(n)*time.Minute)) {
			t.Fatalf("of(%d) = %v, %v", 10+n, at, ok)
		}
	}
}

// TestAgesAreCloseAndSmall: whatever the times are, an answer is off by no more than the samples allow, and a fast partition
// keeps few samples.
func TestAgesAreCloseAndSmall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a ages
		offset, ms := int64(0), int64(1_700_000_000_000)
		times := map[int64]int64{}
		asked := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "records") {
			offset += rapid.Int64Range(1, 20).Draw(t, "gap")
			ms += rapid.Int64Range(-2000, 2000).Draw(t, "step")
			times[offset] = ms
			a.note(offset, time.UnixMilli(ms))
			if next := rapid.Int64Range(0, offset).Draw(t, "ask"); next > asked && times[next] != 0 {
				asked = next
				at, ok := a.of(asked)
				if off := at.UnixMilli() - times[asked]; !ok || off > ageError || off < -ageError {
					t.Fatalf("of(%d) is off by %d ms (%v)", asked, off, ok)
				}
			}
		}
	})
	var a ages
	for n := range int64(10_000) {
		a.note(n, time.UnixMilli(1_700_000_000_000+n/100))
		a.of(max(n-1000, 0))
	}
	if live := len(a.samples); live > 3*1000/ageSpan {
		t.Errorf("%d samples for a window of 1,000 offsets", live)
	}
}
