package retrytopics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	rt "github.com/laneway-go/laneway/retrytopics"
)

func ExamplePolicy_Schedule() {
	var p rt.Policy
	fmt.Println(p.Schedule())
	fmt.Println(p.Horizon())
	// Output:
	// [5s 1m0s 10m0s 10m0s]
	// 21m36s
}

func TestPolicyDefaults(t *testing.T) {
	want := rt.Policy{
		Tiers:       []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute},
		MaxAttempts: 5, Jitter: 0.2, MaxJitter: 10 * time.Second, MaxSnoozes: 100, MaxSnoozeAge: 24 * time.Hour,
	}
	got := rt.Policy{}.WithDefaults()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got, got.WithDefaults()); diff != "" {
		t.Errorf("defaults of defaults: %s", diff)
	}
	if none := (rt.Policy{Jitter: -1}).WithDefaults().WithDefaults(); none.Longest(time.Minute) != time.Minute {
		t.Errorf("negative jitter lengthens a minute to %s", none.Longest(time.Minute))
	}
}

func TestPolicyDefaultsDoNotShareTiers(t *testing.T) {
	mine := []time.Duration{time.Second}
	p := rt.Policy{Tiers: mine}.WithDefaults()
	mine[0] = time.Hour
	if p.Tiers[0] != time.Second {
		t.Error("the tiers changed behind the policy's back")
	}
}

func TestPolicyValidateNamesEveryProblem(t *testing.T) {
	if err := (rt.Policy{}).Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	err := rt.Policy{
		Tiers:       []time.Duration{time.Minute, time.Minute, time.Second, 0, time.Minute + 1, 1000 * time.Hour},
		MaxAttempts: -1, Jitter: 1.5, MaxJitter: -1, MaxSnoozes: -1, MaxSnoozeAge: -1,
	}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{
		"tiers[1]", "tiers[2]", "tiers[3]", "tiers[4]", "tiers[5]",
		"max_attempts", "jitter 1.5", "max_jitter", "max_snoozes", "max_snooze_age",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no word about %s in:\n%v", part, err)
		}
	}
	if (rt.Policy{Jitter: math.NaN()}).Validate() == nil {
		t.Error("NaN accepted")
	}
	if (rt.Policy{Tiers: make([]time.Duration, 17)}).Validate() == nil {
		t.Error("17 tiers accepted")
	}
}

func TestStageOfARetryIsItsAttemptsAndTheLastRepeats(t *testing.T) {
	var p rt.Policy
	for attempts, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 1000: 2} {
		if got := p.Stage(attempts); got != want {
			t.Errorf("Stage(%d) = %d, want %d", attempts, got, want)
		}
	}
	if p.Exhausted(4) || !p.Exhausted(5) || !p.Exhausted(6) {
		t.Error("five attempts are allowed")
	}
}

func TestSnoozeStageIsTheLongestThatIsNotLonger(t *testing.T) {
	var p rt.Policy
	for wait, want := range map[time.Duration]int{
		-time.Second: 0, 0: 0, time.Second: 0, 5 * time.Second: 0, 59 * time.Second: 0, time.Minute: 1,
		9 * time.Minute: 1, 10 * time.Minute: 2, 100 * time.Hour: 2,
	} {
		if got := p.SnoozeStage(wait); got != want {
			t.Errorf("SnoozeStage(%s) = %d, want %d", wait, got, want)
		}
	}
}

func TestOneAttemptHasNoSchedule(t *testing.T) {
	p := rt.Policy{MaxAttempts: 1}
	if len(p.Schedule()) != 0 || p.Horizon() != 0 || p.Validate() != nil {
		t.Errorf("schedule %v, horizon %s, %v", p.Schedule(), p.Horizon(), p.Validate())
	}
}

// drawPolicy returns a valid policy.
func drawPolicy(t *rapid.T) rt.Policy {
	var tiers []time.Duration
	last := time.Duration(0)
	for range rapid.IntRange(0, 5).Draw(t, "tiers") {
		last += time.Duration(rapid.Int64Range(1, 5*86_400_000).Draw(t, "step")) * time.Millisecond
		tiers = append(tiers, last)
	}
	return rt.Policy{
		Tiers:        tiers,
		MaxAttempts:  rapid.IntRange(0, 1000).Draw(t, "attempts"),
		Jitter:       rapid.Float64Range(-1, 1).Draw(t, "jitter"),
		MaxJitter:    time.Duration(rapid.Int64Range(0, int64(30*24*time.Hour)).Draw(t, "max jitter")),
		MaxSnoozes:   rapid.IntRange(0, 10_000).Draw(t, "snoozes"),
		MaxSnoozeAge: time.Duration(rapid.Int64Range(0, int64(365*24*time.Hour)).Draw(t, "snooze age")),
	}
}

func TestJitterOnlyLengthensAndIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		d := rapid.SampledFrom(p.WithDefaults().Tiers).Draw(t, "delay")
		got := p.Jittered(d, rapid.Float64Range(-1, 2).Draw(t, "u"))
		if got < d || got > p.Longest(d) || got-d > p.WithDefaults().MaxJitter {
			t.Fatalf("%s became %s, longest %s", d, got, p.Longest(d))
		}
	})
}

func TestHorizonCoversEverySchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		var took time.Duration
		for _, d := range p.Schedule() {
			took += p.Jittered(d, rapid.Float64Range(0, 1).Draw(t, "u"))
		}
		if took > p.Horizon() || p.Horizon() < 0 {
			t.Fatalf("took %s, horizon %s", took, p.Horizon())
		}
	})
}

func TestAutoWindowOutlivesARecord(t *testing.T) {
	const day = 24 * time.Hour
	p := rt.Policy{}
	life := p.Horizon() + day + 2*day // the stages, the longest snooze, the margin
	for retention, want := range map[time.Duration]time.Duration{
		7 * day:       7*day + life,
		0:             life,
		-1:            30 * day,
		math.MaxInt64: math.MaxInt64,
	} {
		if got := p.AutoWindow(retention); got != want {
			t.Errorf("AutoWindow(%s) = %s, want %s", retention, got, want)
		}
	}
	long := rt.Policy{MaxSnoozeAge: 60 * day}
	if got := long.AutoWindow(-1); got <= 60*day {
		t.Errorf("AutoWindow of a source kept for ever = %s, shorter than a snooze", got)
	}
}

func TestClampDueHoldsTheDueTimeInItsStage(t *testing.T) {
	appended := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	p := rt.Policy{Tiers: []time.Duration{10 * time.Second}}
	for _, tt := range []struct {
		name    string
		due     time.Time
		want    time.Time
		clamped bool
	}{
		{"as written", appended.Add(11 * time.Second), appended.Add(11 * time.Second), false},
		{"at the append", appended, appended, false},
		{"the latest", appended.Add(72 * time.Second), appended.Add(72 * time.Second), false},
		{"before the append", appended.Add(-time.Hour), appended, true},
		{"after the latest", appended.Add(73 * time.Second), appended.Add(72 * time.Second), true},
		{"in 31,709 years", time.UnixMilli(math.MaxInt64), appended.Add(72 * time.Second), true},
		{"unreadable", time.Time{}, appended.Add(10 * time.Second), true},
	} {
		if got, clamped := rt.ClampDue(tt.due, appended, 10*time.Second, p); !got.Equal(tt.want) || clamped != tt.clamped {
			t.Errorf("%s: %s, %t; want %s, %t", tt.name, got, clamped, tt.want, tt.clamped)
		}
	}
}

func TestClampDueNeverLeavesItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		delay := rapid.SampledFrom(p.WithDefaults().Tiers).Draw(t, "delay")
		appended := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "appended"))
		due := time.UnixMilli(rapid.Int64().Draw(t, "due"))
		at, clamped := rt.ClampDue(due, appended, delay, p)
		if at.Before(appended) || at.After(appended.Add(p.Longest(delay)+time.Minute)) || clamped == at.Equal(due) {
			t.Fatalf("due %s, appended %s, delay %s: %s, %t", due, appended, delay, at, clamped)
		}
	})
}
