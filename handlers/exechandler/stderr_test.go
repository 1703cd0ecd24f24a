package exechandler

import (
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTheRateLimitCountsSecondsThatBeginWithALine(t *testing.T) {
	limit := rateLimit{perSecond: 2}
	at := time.Unix(100, 0)
	for i, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {0, true}, {0, false}, {999 * time.Millisecond, false}, {time.Millisecond, true}, {0, true}, {0, false}} {
		at = at.Add(step.after)
		if got := limit.allow(at); got != step.want {
			t.Errorf("line %d: allow = %t, want %t", i, got, step.want)
		}
	}
}

func TestTheTailIsTheBoundedEnd(t *testing.T) {
	l := &stderrLog{logger: slog.New(slog.DiscardHandler)}
	l.copy(strings.NewReader(strings.Repeat("0123456789\xe2\n", 10_000) + strings.Repeat("y", 3*maxLogLine) + "\nlast words\n"))
	got := l.String()
	if len(got) > maxTail+10 || !utf8.ValidString(got) || !strings.HasSuffix(got, "yyy\nlast words\n") {
		t.Errorf("tail of %d bytes ends with %q", len(got), got[len(got)-30:])
	}
	if cap(l.tail) > 8*maxLogLine {
		t.Errorf("the tail takes %d bytes of memory", cap(l.tail))
	}
}

func TestALineWithoutAnEndIsLoggedInPieces(t *testing.T) {
	watch := newLogWatch()
	l := &stderrLog{logger: slog.New(watch), limit: rateLimit{perSecond: 10}}
	l.copy(strings.NewReader(strings.Repeat("z", maxLogLine+1)))
	if n := watch.count(strings.Repeat("z", maxLogLine)); n != 1 || watch.count("z") != 1 {
		t.Errorf("log = %d lines, want a piece of %d bytes and the rest", len(watch.lines()), maxLogLine)
	}
}

func TestLastWordsFitIntoAMessage(t *testing.T) {
	if got := lastWords(" \n"); got != "" {
		t.Errorf("last words of a silent process = %q", got)
	}
	got := lastWords(strings.Repeat("é", 1000) + "END\n")
	if len(got) > maxLastWords+20 || !utf8.ValidString(got) || !strings.HasSuffix(got, "éEND") {
		t.Errorf("last words = %q", got)
	}
}
