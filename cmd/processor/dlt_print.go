package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/retrytopics"
)

// letterPrinter prints dead letters as they come.
type letterPrinter struct {
	d     *dlt
	shown int
	topic string // that the last table is of
}

const letterLine = "%-10s  %-20s  %-11s  %5d  %-8s  %-12s  %s\n"

func (p *letterPrinter) print(l *admin.DeadLetter) error {
	p.shown++
	if p.d.output == outputJSON {
		return writeJSON(p.d.env.stdout, []letterJSON{newLetterJSON(l, p.d.values)})
	}
	if l.Topic != p.topic {
		head := strings.Replace(letterLine, "%5d", "%5s", 1)
		title := fmt.Sprintf("%s\n"+head, l.Topic, "PLACE", "AT", "REASON", "TRIES", "CAUSE", "KEY", "ERROR")
		if p.topic != "" {
			title = "\n" + title
		}
		if err := write(p.d.env.stdout, title); err != nil {
			return err
		}
		p.topic = l.Topic
	}
	return write(p.d.env.stdout, letterRow(l))
}

func letterRow(l *admin.DeadLetter) string {
	const (
		keyWidth   = 12
		errorWidth = 22 // what is left of 100 columns
	)
	e := &l.Envelope
	reason := string(e.Reason)
	if l.Resolved {
		reason = "(resolved)"
	}
	row := fmt.Sprintf(letterLine, fmt.Sprintf("%d/%d", l.Partition, l.Offset), stamp(l.At.Truncate(time.Second)), clip(orDash(reason), 11), e.Attempt,
		l.Cause().ID(), clip(orDash(text(l.Key)), keyWidth), clip(orDash(e.ErrorMessage), errorWidth))
	return row
}

// more says that the list was cut.
func (p *letterPrinter) more() error {
	if p.d.output == outputJSON {
		return nil
	}
	return write(p.d.env.stdout, fmt.Sprintf("there are more than %d; --limit 0 shows all\n", p.shown))
}

// letterJSON is a dead letter as JSON.
type letterJSON struct {
	Topic          string       `json:"topic"`
	Partition      int32        `json:"partition"`
	Offset         int64        `json:"offset"`
	At             time.Time    `json:"at"`
	Origin         string       `json:"origin"`
	OriginAt       *time.Time   `json:"origin_timestamp,omitempty"`
	Run            uint32       `json:"run"`
	Attempts       int          `json:"attempts"`
	Reason         string       `json:"reason"`
	Class          string       `json:"error_class,omitempty"`
	Message        string       `json:"error_message,omitempty"`
	Stack          string       `json:"error_stack,omitempty"`
	Cause          string       `json:"cause"`
	FirstFailedAt  *time.Time   `json:"first_failed_at,omitempty"`
	LastFailedAt   *time.Time   `json:"last_failed_at,omitempty"`
	IdempotencyKey string       `json:"idempotency_key,omitempty"`
	Worker         string       `json:"worker,omitempty"`
	ReplayID       string       `json:"replay_id,omitempty"`
	Trace          string       `json:"origin_traceparent,omitempty"`
	Resolved       bool         `json:"resolved"`
	Damage         string       `json:"damage,omitempty"`
	Key            *string      `json:"key"` // text, or b64: and base64; null for a record without a key
	ValueBytes     int          `json:"value_bytes"`
	ValueOmitted   bool         `json:"value_omitted,omitempty"` // it is only at the origin
	Value          *[]byte      `json:"value,omitempty"`         // base64
	Headers        []headerJSON `json:"headers,omitempty"`
}

type headerJSON struct {
	Name  string  `json:"name"`
	Value *[]byte `json:"value,omitempty"` // base64
}

func newLetterJSON(l *admin.DeadLetter, values bool) letterJSON {
	e := &l.Envelope
	j := letterJSON{
		Topic: l.Topic, Partition: l.Partition, Offset: l.Offset, At: l.At, Origin: originOf(l), OriginAt: optional(e.OriginTimestamp),
		Run: e.Run, Attempts: e.Attempt, Reason: string(e.Reason), Class: e.ErrorClass, Message: e.ErrorMessage, Stack: e.ErrorStack,
		Cause: l.Cause().ID(), FirstFailedAt: optional(e.FirstFailedAt), LastFailedAt: optional(e.LastFailedAt), Worker: e.Worker,
		ReplayID: e.ReplayID, Trace: trace(l), Resolved: l.Resolved, ValueBytes: len(l.Value), ValueOmitted: e.ValueOmitted,
	}
	if e.IdempotencyKey != "" {
		j.IdempotencyKey = retrytopics.EncodeKey(e.IdempotencyKey)
	}
	if l.Damage != nil {
		j.Damage = l.Damage.Error()
	}
	if l.Key != nil {
		key := text(l.Key)
		j.Key = &key
	}
	if values && l.Value != nil {
		j.Value = &l.Value
	}
	for _, h := range l.Headers {
		j.Headers = append(j.Headers, headerOf(h, values))
	}
	return j
}

func headerOf(h kgo.RecordHeader, values bool) headerJSON {
	if !values {
		return headerJSON{Name: h.Key}
	}
	return headerJSON{Name: h.Key, Value: &h.Value}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// originOf returns the origin, or nothing where it is not readable.
func originOf(l *admin.DeadLetter) string {
	if l.Envelope.Origin.Topic == "" {
		return ""
	}
	return l.Envelope.Origin.String()
}

// trace returns the trace context that the source record came with.
func trace(l *admin.DeadLetter) string {
	if l.Envelope.OriginTraceparent != "" {
		return l.Envelope.OriginTraceparent
	}
	value, _ := retrytopics.Header(l.Headers, retrytopics.HeaderTraceparent)
	return retrytopics.Text(string(value), traceWidth)
}

const traceWidth = 64

func showLetter(l *admin.DeadLetter, values bool) string {
	e := &l.Envelope
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-16s %s\n", name, value)
		}
	}
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			line(name, stamp(t))
		}
	}
	line("dead letter", l.Place())
	at("at", l.At)
	if e.Origin.Topic != "" {
		line("origin", e.Identity().String())
	}
	at("origin time", e.OriginTimestamp)
	line("reason", string(e.Reason))
	line("cause", l.Cause().ID())
	line("error class", e.ErrorClass)
	line("error", clip(e.ErrorMessage, retrytopics.MaxErrorMessage))
	fmt.Fprintf(&b, "%-16s %d\n", "attempts", e.Attempt)
	at("first failed", e.FirstFailedAt)
	at("last failed", e.LastFailedAt)
	line("worker", e.Worker)
	if e.IdempotencyKey != "" {
		line("idempotency key", retrytopics.EncodeKey(e.IdempotencyKey))
	}
	line("replay", e.ReplayID)
	line("trace", clip(trace(l), traceWidth))
	fmt.Fprintf(&b, "%-16s %t\n", "resolved", l.Resolved)
	if l.Damage != nil {
		line("not readable", strings.ReplaceAll(l.Damage.Error(), "\n", "; "))
	}
	showContent(&b, l, values)
	return b.String() + showNext(l)
}

func showContent(b *strings.Builder, l *admin.DeadLetter, values bool) {
	if l.Key != nil {
		fmt.Fprintf(b, "%-16s %s\n", "key", clip(text(l.Key), maxShown))
	}
	for _, h := range l.Headers {
		value := "(hidden)"
		if values {
			value = clip(text(h.Value), maxShown)
		}
		fmt.Fprintf(b, "%-16s %s: %s\n", "header", clip(h.Key, maxShown), value)
	}
	switch {
	case l.Envelope.ValueOmitted:
		fmt.Fprintf(b, "%-16s too large for the dead letter topic; it is at the origin\n", "value")
	case l.Value == nil:
		fmt.Fprintf(b, "%-16s none\n", "value")
	case values:
		fmt.Fprintf(b, "%-16s %d bytes\n%s\n", "value", len(l.Value), readable(l.Value))
	default:
		fmt.Fprintf(b, "%-16s %d bytes, hidden; --show-values shows it\n", "value", len(l.Value))
	}
	if l.Envelope.ErrorStack != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimRight(l.Envelope.ErrorStack, "\n"))
	}
}

const maxShown = 200

// readable shows a value on a terminal: lines stay lines, and nothing in it controls the terminal.
func readable(value []byte) string {
	if !utf8.Valid(value) {
		return text(value)
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(value))
}

// showNext names the commands that come next.
func showNext(l *admin.DeadLetter) string {
	next := "\n"
	if name := originOf(l); name != "" {
		next += "processor trail " + name + "\n"
	}
	if l.Resolved {
		return next
	}
	here := fmt.Sprintf("--topic %s --partition %d --range %d:%d", l.Source, l.Partition, l.Offset, l.Offset+1)
	return next + "processor dlt redrive " + here + "\nprocessor dlt discard " + here + "\n" +
		fmt.Sprintf("processor dlt redrive --topic %s --cause %s\n", l.Source, l.Cause().ID())
}

// groupJSON is a cause as JSON.
type groupJSON struct {
	Cause    string         `json:"cause"`
	Class    string         `json:"error_class"`
	Message  string         `json:"error_message"` // masked
	Count    int64          `json:"count"`
	Share    float64        `json:"share"` // of all, 0 to 1
	First    time.Time      `json:"first"`
	Last     time.Time      `json:"last"`
	Reasons  map[string]int `json:"reasons"`
	Returned int64          `json:"returned"`
	Workers  []string       `json:"workers,omitempty"`
	Sample   string         `json:"sample"`
	Origin   string         `json:"sample_origin"`
}

func (d *dlt) printGroups(groups []admin.CauseGroup, now time.Time) error {
	if d.output == outputJSON {
		lines := make([]groupJSON, 0, len(groups))
		for _, g := range groups {
			lines = append(lines, groupJSON{
				g.ID, g.Class, g.Message, g.Count, g.Share, g.First, g.Last, g.Reasons, g.Returned, g.Workers, g.Sample, g.Origin,
			})
		}
		return writeJSON(d.env.stdout, lines)
	}
	if len(groups) == 0 {
		return write(d.env.stdout, "no dead letters\n")
	}
	const errorWidth = 46
	rows := make([][]string, 0, len(groups))
	for _, g := range groups {
		message := g.Message
		if g.Class != "" {
			message = g.Class + ": " + message
		}
		rows = append(rows, []string{
			g.ID, fmt.Sprint(g.Count), fmt.Sprintf("%.0f%%", g.Share*100), age(g.First, now), age(g.Last, now), fmt.Sprint(g.Returned),
			clip(orDash(message), errorWidth),
		})
	}
	if err := writeTable(d.env.stdout, []string{"CAUSE", "COUNT", "SHARE", "FIRST", "LAST", "RETURNED", "ERROR"}, rows); err != nil {
		return err
	}
	sample := groups[0].Sample
	return write(d.env.stdout, fmt.Sprintf("\nprocessor dlt show %s\nprocessor dlt redrive --cause %s\n", sample, groups[0].ID))
}
