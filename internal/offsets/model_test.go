package offsets_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/laneway-go/laneway/internal/offsets"
)

// model is what a tracker should be, said as plainly as possible: sets of offsets, and every answer worked out anew.
type model struct {
	cfg                  offsets.Config
	start, position, inh int64
	owed, known          map[int64]bool
}

func newModel(cfg offsets.Config, start int64, inherited offsets.Settled) *model {
	m := &model{
		cfg: cfg, start: start, position: start, inh: max(start, inherited.Upto),
		owed: map[int64]bool{}, known: map[int64]bool{},
	}
	inherited.Each(func(off int64) { m.known[off] = true })
	return m
}

func (m *model) receive(off int64) bool {
	if off < m.position {
		return false
	}
	m.position = off + 1
	if m.known[off] {
		return false
	}
	m.owed[off] = true
	return true
}

func (m *model) settle(off int64) {
	delete(m.owed, off)
	if off >= m.position {
		m.known[off] = true
	}
}

func (m *model) settled(off int64) bool {
	if off < m.position {
		return !m.owed[off]
	}
	return m.known[off]
}

func (m *model) commit() int64 {
	low := m.position
	for off := range m.owed {
		low = min(low, off)
	}
	return low
}

func (m *model) reach() int64 { return max(m.position, m.inh, m.commit()+m.cfg.Window) }

func (m *model) gapBytes() int {
	n, at := 0, m.commit()
	for _, off := range slices.Sorted(maps.Keys(m.owed)) {
		n += len(binary.AppendUvarint(nil, uint64(off-at)))
		at = off + 1
	}
	return n
}

func (m *model) admits() bool {
	span := m.position - m.commit()
	return m.position < m.inh || span < m.cfg.Window || m.gapBytes() <= m.cfg.GapBytes && span < m.cfg.MaxSpan
}

// admit is how many consecutive records, all of them owed, a copy takes.
func (m *model) admit(n int) int {
	c := *m
	c.owed, c.known = maps.Clone(m.owed), nil
	i := 0
	for ; i < n && c.admits(); i++ {
		c.receive(c.position)
	}
	return i
}

func (m *model) settledSet() offsets.Settled {
	var offs []int64
	for off := m.commit(); off < m.reach(); off++ {
		if m.settled(off) {
			offs = append(offs, off)
		}
	}
	return offsets.SettledOf(m.commit(), m.reach(), offs...)
}

// state names everything that decides about the future.
func (m *model) state() string {
	known := maps.Clone(m.known)
	maps.DeleteFunc(known, func(off int64, _ bool) bool { return off < m.position })
	return fmt.Sprint(m.start, m.position, max(m.inh, m.position), slices.Sorted(maps.Keys(m.owed)), slices.Sorted(maps.Keys(known)))
}

// rebuilt is a tracker in the state of m that came there in another way: nothing inherited as a set, records owed one by
// one, what lies above the position learned last.
func (m *model) rebuilt() *offsets.Tracker {
	inherited := offsets.SettledOf(m.start, m.inh)
	if m.inh <= m.position {
		inherited = offsets.Settled{}
	}
	t := offsets.NewTrackerConfig(m.cfg, m.start, inherited)
	for _, off := range slices.Sorted(maps.Keys(m.owed)) {
		t.Receive(off)
	}
	t.Advance(m.position)
	for off := range m.known {
		if off >= m.position {
			t.Settle(off)
		}
	}
	return t
}
