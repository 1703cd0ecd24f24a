package admin

import (
	"context"
	"time"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/retrytopics"
)

// marks are what the idempotency topic remembers of one partition, as far as a plan asks for it: 32 bytes for a key of the
// user, a bit for a record.
type marks struct {
	hasher    dedupe.Hasher
	keys      dedupe.Table                  // done, by the user's key
	origins   dedupe.Table                  // done in a later run, by origin
	dense     map[dedupe.Chunk]*dedupe.Bits // done in run 0
	uncertain dedupe.Table                  // by origin
}

// loadMarks reads the marks of a partition. A source without an idempotency topic has none.
func (c *Client) loadMarks(ctx context.Context, s Source, partition int32) (*marks, error) {
	m := &marks{hasher: dedupe.NewHasher(dedupe.NewSeed()), dense: map[dedupe.Chunk]*dedupe.Bits{}}
	if s.Want.NoIdempotency {
		return m, nil
	}
	err := c.eachMark(ctx, s, partition, func(mark *dedupe.Mark, _ string) error { m.apply(mark); return nil })
	return m, err
}

func (m *marks) apply(k *dedupe.Mark) {
	switch k.Kind {
	case dedupe.Done:
		table := &m.keys
		var h dedupe.Hash
		if k.DefaultKey {
			table, h = &m.origins, m.hasher.SumOrigin(k.Identity.Origin)
		} else {
			h = m.hasher.Sum(k.Key)
		}
		if k.Tombstone {
			table.Remove(h)
			return
		}
		table.Put(h, k.At)
	case dedupe.Terminal:
		if h := m.hasher.SumOrigin(k.Identity.Origin); !k.Tombstone && k.Reason == string(retrytopics.ReasonUncertain) {
			m.uncertain.Put(h, k.At)
		}
	case dedupe.Dense:
		if k.Tombstone {
			return // of another tenure, or of a chunk whose records are past the window
		}
		if m.dense[k.Chunk] == nil {
			m.dense[k.Chunk] = &dedupe.Bits{}
		}
		m.dense[k.Chunk].Or(&k.Bits)
	case dedupe.Claim, dedupe.Position:
	}
}

// done tells whether work of a record is marked as finished. x is the user's key, or empty for the origin.
func (m *marks) done(o Origin, x []byte) bool {
	if len(x) > 0 {
		return m.keys.Has(m.hasher.Sum(x))
	}
	chunk, bit := dedupe.ChunkOf(o)
	if bits := m.dense[chunk]; bits != nil && bits.Has(bit) {
		return true
	}
	return m.origins.Has(m.hasher.SumOrigin(o))
}

func (m *marks) isUncertain(o Origin) bool { return m.uncertain.Has(m.hasher.SumOrigin(o)) }

// window returns for how long the marks of a source are kept, and false if there are none.
func (c *Client) window(ctx context.Context, s Source) (time.Duration, bool, error) {
	if s.Want.NoIdempotency {
		return 0, false, nil
	}
	if s.Want.Window > 0 {
		return s.Want.Window, true, nil
	}
	state, err := retrytopics.Read(ctx, c.adm, s.Want)
	if err != nil {
		return 0, false, err
	}
	window, _ := s.Want.AutoWindow(state)
	return window, true, nil
}
