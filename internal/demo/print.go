package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// printer writes what happens, for people or for pipes.
type printer struct {
	mu   sync.Mutex
	out  io.Writer
	json bool
}

func (p *printer) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

func (p *printer) object(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = json.NewEncoder(p.out).Encode(v) // a reader that went away is no reason to stop
}

// start says what is shown, and what was found.
func (p *printer) start(d *demo) {
	if p.json {
		p.object(map[string]any{
			"event": "start", "broker": d.cluster.ListenAddrs()[0], "topic": topicName, "group": groupName, "tiers": delays(d.cfg.Tiers),
			"records_from_before": d.before,
		})
		return
	}
	p.line("An embedded broker listens on %s. Topic %s has %d partitions; group %s works on it.",
		d.cluster.ListenAddrs()[0], topicName, partitions, groupName)
	p.line("Failed records wait in retry-%s. The demo shortens the delays: a worker's defaults are 5s, 1m, 10m.",
		strings.Join(delays(d.cfg.Tiers), ", retry-"))
	if d.before > 0 {
		p.line("Found the log of an earlier run with %d records in %s: going on where it ended.", d.before, topicName)
	}
	if !d.ends() {
		p.line("Ctrl-C drains and sums up.")
	}
	p.line("")
}

func delays(tiers []time.Duration) []string {
	var out []string
	for _, t := range tiers {
		out = append(out, retrytopics.FormatDelay(t))
	}
	return out
}

// event prints what became of a record that is not simply done.
func (p *printer) event(e processor.Event) {
	if p.json {
		p.object(map[string]any{
			"event": e.Kind, "origin": e.Origin.String(), "key": string(e.Key), "attempt": e.Attempt, "reason": e.Reason,
			"class": e.Class, "rule": e.Rule, "topic": e.Topic, "due": optional(e.Due),
		})
		return
	}
	what := ""
	switch e.Kind {
	case processor.EventRetried:
		what = fmt.Sprintf("attempt %d failed (%s), next try from %s in %s", e.Attempt, e.Rule, role(e.Topic), in(e.Due))
	case processor.EventSnoozed:
		what = fmt.Sprintf("put off, next try from %s in %s", role(e.Topic), in(e.Due))
	case processor.EventFollowed:
		what = "waits behind the earlier record of its key, in " + role(e.Topic)
	case processor.EventDead:
		what = fmt.Sprintf("dead letter after attempt %d: %s (%s)", e.Attempt, e.Reason, e.Rule)
	}
	p.line("%-9s %-14s %-12s %s", e.Kind, e.Origin, e.Key, what)
}

func optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func role(topic string) string { return strings.TrimPrefix(topic, topicName+"."+groupName+".") }

func in(due time.Time) string { return max(time.Until(due), 0).Round(100 * time.Millisecond).String() }

// counts prints where the records are.
func (p *printer) counts(c processor.Counts) {
	if p.json {
		p.object(map[string]any{
			"event": "counts", "read": c.Taken, "done": c.Done, "waiting": c.Waiting, "dead": c.Dead, "duplicates": c.Duplicates,
			"skipped": c.Skipped, "found": c.Found,
		})
		return
	}
	p.line("%-9s %d read: %d done, %d waiting, %d dead, %d duplicates, %d skipped", "so far", c.Taken, c.Done, c.Waiting, c.Dead,
		c.Duplicates, c.Skipped)
}

// summary prints the last word.
func (p *printer) summary(s Summary) {
	if p.json {
		p.object(s)
		return
	}
	p.line("")
	p.line("%d read = %d done + %d waiting + %d dead + %d duplicates + %d skipped", s.Read, s.Done, s.Waiting, s.Dead, s.Duplicates, s.Skipped)
	if s.Found > 0 {
		p.line("%d of those read had been left waiting by the run before.", s.Found)
	}
}

func isExisting(err error) bool { return errors.Is(err, kerr.TopicAlreadyExists) }
