package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Position is where a range of records begins or ends: an offset, a time, or by default an end of the log. At most one of the
// fields is set.
type Position struct {
	Offset *int64     `json:"offset,omitempty"`
	Time   *time.Time `json:"time,omitempty"`
}

// IsZero tells whether p is an end of the log.
func (p Position) IsZero() bool { return p.Offset == nil && p.Time == nil }

// AtOffset returns the position of an offset.
func AtOffset(offset int64) Position { return Position{Offset: &offset} }

// AtTime returns the position of the first record whose timestamp is not before t.
func AtTime(t time.Time) Position { return Position{Time: &t} }

// Range is a range of records in each partition: From included, To not. The zero value is everything.
type Range struct {
	From Position `json:"from,omitzero"`
	To   Position `json:"to,omitzero"`
}

// IsZero tells whether r is everything.
func (r Range) IsZero() bool { return r.From.IsZero() && r.To.IsZero() }

// ParseRange reads a range as rpk writes it: FROM, FROM:TO, :TO or @TIME:TIME, with positions as [ParsePosition] reads them.
// A time in RFC 3339 has colons itself, so that FROM and TO with one are better given apart.
func ParseRange(text string, now time.Time) (Range, error) {
	if p, err := ParsePosition(text, now); err == nil && !strings.HasPrefix(text, ":") {
		return Range{From: p}, nil
	}
	for i := range text {
		if text[i] != ':' {
			continue
		}
		from, err := ParsePosition(text[:i], now)
		if err != nil {
			continue
		}
		to := text[i+1:]
		if strings.HasPrefix(text, "@") && to != "" && to[0] != '@' && to != "end" {
			to = "@" + to
		}
		if end, err := ParsePosition(to, now); err == nil {
			r := Range{From: from, To: end}
			return r, r.check()
		}
	}
	return Range{}, fmt.Errorf("range %q: want FROM:TO with each an offset, start, end, @-1h or @TIME", text)
}

// check finds a range that is backwards.
func (r Range) check() error {
	switch {
	case r.From.Offset != nil && r.To.Offset != nil && *r.From.Offset > *r.To.Offset,
		r.From.Time != nil && r.To.Time != nil && r.From.Time.After(*r.To.Time):
		return fmt.Errorf("range from %s to %s: ends before it begins", r.From, r.To)
	}
	return nil
}

// ParsePosition reads a position: an offset (10), "start" or "end" (or nothing) for an end of the log, "@-1h" for an age
// (with d for days), "@" and Unix seconds or milliseconds, a date, or a time in RFC 3339.
func ParsePosition(text string, now time.Time) (Position, error) {
	if text == "" || text == "start" || text == "end" {
		return Position{}, nil
	}
	at, ok := strings.CutPrefix(text, "@")
	if !ok {
		offset, err := strconv.ParseInt(text, 10, 64)
		if err != nil || offset < 0 {
			return Position{}, fmt.Errorf("position %q: want an offset, start, end, @-1h or @TIME", text)
		}
		return AtOffset(offset), nil
	}
	t, err := parseTime(at, now)
	if err != nil {
		return Position{}, fmt.Errorf("position %q: %w", text, err)
	}
	return AtTime(t), nil
}

// millisecondsFrom is the number from which a time is in milliseconds: as seconds it is in the year 5138.
const millisecondsFrom = 100_000_000_000

func parseTime(text string, now time.Time) (time.Time, error) {
	if age, ok := strings.CutPrefix(text, "-"); ok {
		d, err := parseAge(age)
		return now.Add(-d).UTC(), err
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n >= millisecondsFrom {
			return time.UnixMilli(n).UTC(), nil
		}
		return time.Unix(n, 0).UTC(), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: want an age such as -1h30m, a date, a time in RFC 3339, or Unix seconds", text)
}

func parseAge(text string) (time.Duration, error) {
	var days time.Duration
	if n, rest, ok := strings.Cut(text, "d"); ok {
		count, err := strconv.ParseUint(n, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("age %q: want a duration such as 2d, 1h30m", text)
		}
		if days = time.Duration(count) * 24 * time.Hour; rest == "" {
			return days, nil
		}
		text = rest
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("age %q: want a duration such as 2d, 1h30m", text)
	}
	return days + d, nil
}

// String returns the form that ParsePosition reads.
func (p Position) String() string {
	switch {
	case p.Offset != nil:
		return strconv.FormatInt(*p.Offset, 10)
	case p.Time != nil:
		return "@" + p.Time.UTC().Format(time.RFC3339)
	}
	return "the end of the log"
}

// spans fits a range to the log of a topic: by partition, the offsets that are meant and there.
func (c *Client) spans(ctx context.Context, topic string, l log, r Range) (map[int32]Span, error) {
	from, err := c.offsets(ctx, topic, r.From)
	if err != nil {
		return nil, err
	}
	to, err := c.offsets(ctx, topic, r.To)
	if err != nil {
		return nil, err
	}
	out := make(map[int32]Span, len(l.spans))
	for _, s := range l.spans {
		if at, ok := from(s.Partition); ok {
			s.From = max(s.From, at)
		}
		if at, ok := to(s.Partition); ok {
			s.To = min(s.To, at)
		}
		out[s.Partition] = s
	}
	return out, nil
}

// offsets returns a position's offset by partition; none for an end of the log.
func (c *Client) offsets(ctx context.Context, topic string, p Position) (func(partition int32) (int64, bool), error) {
	switch {
	case p.Offset != nil:
		return func(int32) (int64, bool) { return *p.Offset, true }, nil
	case p.Time != nil:
		at, err := c.after(ctx, topic, *p.Time)
		return func(partition int32) (int64, bool) { o, ok := at[partition]; return o, ok }, err
	}
	return func(int32) (int64, bool) { return 0, false }, nil
}
