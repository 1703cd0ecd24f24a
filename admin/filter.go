package admin

import (
	"bytes"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Filter selects dead letters. All conditions that are given must hold; of the values of one condition, any. Everything in it
// is plain data that is compared: there is nothing to be evaluated.
type Filter struct {
	Reasons    []string      `json:"reasons,omitempty"`
	Classes    []string      `json:"classes,omitempty"`
	Causes     []string      `json:"causes,omitempty"` // as Cause.ID names them
	Keys       [][]byte      `json:"keys,omitempty"`
	Headers    []HeaderEqual `json:"headers,omitempty"` // of the user; each must hold
	Partitions []int32       `json:"partitions,omitempty"`
	Range      Range         `json:"range,omitzero"`     // of the dead letter topic
	Returned   uint32        `json:"returned,omitempty"` // only what this task sent and what came back
}

// HeaderEqual is a header and one of its values.
type HeaderEqual struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (f *Filter) wantsPartition(p int32) bool {
	return len(f.Partitions) == 0 || slices.Contains(f.Partitions, p)
}

// matches looks at everything but the range.
func (f *Filter) matches(d *DeadLetter) bool {
	e := &d.Envelope
	return oneOf(f.Reasons, string(e.Reason)) && oneOf(f.Classes, e.ErrorClass) && f.wantsPartition(d.Partition) &&
		f.matchesKey(d.Key) && f.matchesHeaders(d.Headers) && (f.Returned == 0 || e.Run == f.Returned) &&
		(len(f.Causes) == 0 || slices.Contains(f.Causes, d.Cause().ID()))
}

func oneOf(wanted []string, s string) bool { return len(wanted) == 0 || slices.Contains(wanted, s) }

func (f *Filter) matchesKey(key []byte) bool {
	if len(f.Keys) == 0 {
		return true
	}
	return key != nil && slices.ContainsFunc(f.Keys, func(k []byte) bool { return bytes.Equal(k, key) })
}

func (f *Filter) matchesHeaders(headers []kgo.RecordHeader) bool {
	for _, want := range f.Headers {
		if !slices.ContainsFunc(headers, func(h kgo.RecordHeader) bool { return h.Key == want.Name && string(h.Value) == want.Value }) {
			return false
		}
	}
	return true
}

func (c *Client) resolve(ctx context.Context, topic string, l log, f Filter) (map[int32]Span, error) {
	return c.spans(ctx, topic, l, f.Range)
}
