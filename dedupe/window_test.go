package dedupe_test

import (
	"math"
	"testing"
	"time"

	"github.com/laneway-go/laneway/dedupe"
)

func TestAutoWindow(t *testing.T) {
	const day = 24 * time.Hour
	tiers := []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute}
	for name, c := range map[string]struct {
		retention time.Duration
		delays    []time.Duration
		attempts  int
		jitter    float64
		snooze    time.Duration
		want      time.Duration
	}{
		"usual":               {7 * day, tiers, 5, 0.2, day, 10*day + 1518*time.Second}, // 1.2 · (5 + 60 + 600 + 600) s
		"few attempts":        {7 * day, tiers, 2, 0, 0, 9*day + 5*time.Second},
		"one attempt":         {7 * day, tiers, 1, 0.2, 0, 9 * day},
		"no delays":           {7 * day, nil, 5, 0.2, 0, 9 * day},
		"kept for ever":       {-1, tiers, 5, 0.2, day, 30 * day},
		"for ever, long wait": {-1, tiers, 5, 0.2, 40 * day, 42*day + 1518*time.Second},
		"nothing kept":        {0, nil, 0, 0, 0, 2 * day},
		"beyond reach":        {math.MaxInt64 - 1, tiers, 5, 0.2, day, math.MaxInt64},
		"many attempts":       {day, tiers, math.MaxInt, 0.2, day, math.MaxInt64},
		"negative cap":        {day, nil, 0, -3, -day, 3 * day},
	} {
		if got := dedupe.AutoWindow(c.retention, c.delays, c.attempts, c.jitter, c.snooze); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
