package admin

import (
	"bytes"
	"context"
	"time"

	"github.com/laneway-go/laneway/dedupe"
)

// Mark is what the idempotency topic says of a key of the user.
type Mark struct {
	Kind      string    `json:"kind"` // done or claim
	Origin    string    `json:"origin"`
	Run       uint32    `json:"run"`
	At        time.Time `json:"at,omitzero"`
	Tenure    int64     `json:"tenure"`
	Tries     int       `json:"tries,omitempty"` // of a claim: how often the handler had returned before
	Owner     string    `json:"owner,omitempty"` // of a claim
	TakenBack bool      `json:"taken_back"`      // the claim was released, the mark has expired or was forgotten
	Place     string    `json:"place"`           // topic/partition/offset in the idempotency topic
}

// Marks returns all marks of an idempotency key, in all partitions: a producer that partitions by something else puts records
// of one key into several, and they do not know of each other. Source is one source topic, or empty for all.
func (c *Client) Marks(ctx context.Context, source string, key []byte) ([]Mark, error) {
	sources, err := c.selected(source)
	if err != nil {
		return nil, err
	}
	canonical := dedupe.CanonicalKey(key)
	var out []Mark
	for _, s := range sources {
		l, err := c.log(ctx, s.Name())
		if err != nil {
			return nil, err
		}
		for _, span := range l.spans {
			err := c.eachMark(ctx, s, span.Partition, func(m *dedupe.Mark, place string) error {
				if (m.Kind == dedupe.Done || m.Kind == dedupe.Claim) && !m.DefaultKey && bytes.Equal(m.Key, canonical) {
					out = append(out, newMark(m, place))
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func newMark(m *dedupe.Mark, place string) Mark {
	out := Mark{
		Kind: m.Kind.String(), Origin: m.Identity.Origin.String(), Run: m.Identity.Run, Tenure: m.Tenure, Tries: m.Tries, Owner: m.Owner,
		TakenBack: m.Tombstone, Place: place,
	}
	if !m.Tombstone {
		out.At = time.UnixMilli(m.At).UTC()
	}
	return out
}
