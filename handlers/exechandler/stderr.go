package exechandler

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"time"
)

const (
	maxLogLine = 8 << 10 // a longer line is logged in pieces
	maxTail    = 4 << 10 // what an error keeps of the standard error
)

// stderrLog passes a process's standard error on to the log, line by line, at a bounded rate, and keeps its end. It belongs
// to the goroutine that runs copy; the rest may be read once copy has returned.
type stderrLog struct {
	logger  *slog.Logger
	limit   rateLimit
	tail    []byte
	dropped int // lines that were counted only, since the last one that was logged
}

// copy reads r to its end. It goes on reading when lines are dropped, so that no process blocks on its log.
func (l *stderrLog) copy(r io.Reader) {
	br := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, cut, err := br.ReadLine()
		if err != nil {
			l.reportDropped()
			return
		}
		l.keep(line, cut)
		if !l.limit.allow(time.Now()) {
			l.dropped++
			continue
		}
		l.reportDropped()
		l.logger.Info("handler process wrote to stderr", slog.String("line", strings.ToValidUTF8(string(line), "\uFFFD")))
	}
}

func (l *stderrLog) keep(line []byte, cut bool) {
	l.tail = append(l.tail, line...)
	if !cut {
		l.tail = append(l.tail, '\n')
	}
	if len(l.tail) > 2*maxTail { // moved once every maxTail bytes, not with each line
		l.tail = append(l.tail[:0], l.end()...)
	}
}

func (l *stderrLog) end() []byte { return l.tail[max(0, len(l.tail)-maxTail):] }

// String returns the end of the standard error, as valid UTF-8.
func (l *stderrLog) String() string { return strings.ToValidUTF8(string(l.end()), "\uFFFD") }

func (l *stderrLog) reportDropped() {
	if l.dropped == 0 {
		return
	}
	l.logger.Warn("handler process writes too much to stderr, lines dropped", slog.Int("dropped", l.dropped))
	l.dropped = 0
}

// rateLimit lets perSecond events through in each second that begins with an event.
type rateLimit struct {
	perSecond int
	begin     time.Time
	used      int
}

func (r *rateLimit) allow(now time.Time) bool {
	if now.Sub(r.begin) >= time.Second {
		r.begin, r.used = now, 0
	}
	r.used++
	return r.used <= r.perSecond
}
