package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// CauseGroup is the dead letters of one cause.
type CauseGroup struct {
	Cause
	ID       string         `json:"id"`
	Count    int64          `json:"count"`
	Share    float64        `json:"share"` // of all dead letters that the query wants, 0 to 1
	First    time.Time      `json:"first"`
	Last     time.Time      `json:"last"`
	Reasons  map[string]int `json:"reasons"`
	Workers  []string       `json:"workers,omitempty"` // versions and hosts that gave them up, at most a few
	Returned int64          `json:"returned"`          // had been sent again before, and came back
	Sample   string         `json:"sample"`            // place of one of them: topic/partition/offset
	Origin   string         `json:"origin"`            // of the sample
}

// maxWorkers bounds how many workers a group names.
const maxWorkers = 8

// maxGroups bounds how many causes are told apart. Messages that the mask does not fit could make one of each record; what is
// beyond goes to one group without a class.
const maxGroups = 10_000

// Groups groups the dead letters that the query wants by their cause, the largest group first. Memory and time are as for
// [Client.DeadLetters].
func (c *Client) Groups(ctx context.Context, q Query) ([]CauseGroup, error) {
	g := grouping{}
	if err := c.DeadLetters(ctx, q, func(d *DeadLetter) error { g.add(d); return nil }); err != nil {
		return nil, err
	}
	return g.sorted(), nil
}

type grouping struct {
	groups map[Cause]*CauseGroup
	total  int64
	raw    map[rawCause]*CauseGroup // the same groups by unmasked message, so that a repeated one is not masked again
}

type rawCause struct{ class, message string }

// maxRaw bounds the unmasked messages that are remembered.
const maxRaw = 4096

func (g *grouping) add(d *DeadLetter) {
	group := g.of(d)
	g.total++
	group.Count++
	if group.First.IsZero() || d.At.Before(group.First) {
		group.First = d.At
	}
	if d.At.After(group.Last) {
		group.Last = d.At
	}
	group.Reasons[string(d.Envelope.Reason)]++
	if d.Envelope.Run > 0 {
		group.Returned++
	}
	if w := d.Envelope.Worker; w != "" && len(group.Workers) < maxWorkers && !slices.Contains(group.Workers, w) {
		group.Workers = append(group.Workers, w)
	}
}

func (g *grouping) of(d *DeadLetter) *CauseGroup {
	if g.groups == nil {
		g.groups, g.raw = map[Cause]*CauseGroup{}, map[rawCause]*CauseGroup{}
	}
	raw := rawCause{d.Envelope.ErrorClass, d.Envelope.ErrorMessage}
	if group := g.raw[raw]; group != nil {
		return group
	}
	cause := d.Cause()
	if g.groups[cause] == nil && len(g.groups) >= maxGroups {
		cause = Cause{}
	}
	group := g.groups[cause]
	if group == nil {
		group = &CauseGroup{Cause: cause, ID: cause.ID(), Reasons: map[string]int{}, Sample: d.Place(), Origin: d.Envelope.Origin.String()}
		g.groups[cause] = group
	}
	if len(g.raw) < maxRaw {
		g.raw[raw] = group
	}
	return group
}

func (g *grouping) sorted() []CauseGroup {
	out := make([]CauseGroup, 0, len(g.groups))
	for _, group := range slices.Collect(maps.Values(g.groups)) {
		group.Share = float64(group.Count) / float64(g.total)
		slices.Sort(group.Workers)
		out = append(out, *group)
	}
	slices.SortFunc(out, func(a, b CauseGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), a.First.Compare(b.First), cmp.Compare(a.ID, b.ID))
	})
	return out
}
