package lane

// With dedupe on, a settled copy that the commit metadata has no room for is told by its mark. With dedupe off nothing tells
// it: so no later place of its identity is committed as settled before the metadata speaks of it (R20).

// ghost is a settled copy of an identity beyond what the metadata of its part speaks of.
type ghost struct {
	id     ID
	part   Part
	offset int64
}

// mustWithhold notes a settled place beyond the reach of its metadata, and says whether the settling of a place has to wait for
// such a one.
func (m *Machine) mustWithhold(p place) bool {
	m.prune()
	for _, g := range m.beyond {
		if g.id == p.id && (g.part != p.part || g.offset != p.offset) {
			m.withheld = append(m.withheld, p)
			return true
		}
	}
	if p.part != Source && p.offset >= m.tracker(p.part).Reach() {
		m.beyond = append(m.beyond, ghost(p))
	}
	return false
}

// prune forgets the ghosts that the metadata reaches by now, and settles what waited for them.
func (m *Machine) prune() {
	if len(m.beyond) == 0 {
		return
	}
	kept := m.beyond[:0]
	for _, g := range m.beyond {
		if g.offset >= m.tracker(g.part).Reach() {
			kept = append(kept, g)
		}
	}
	m.beyond = kept
	waiting := m.withheld
	m.withheld = nil
	for _, p := range waiting {
		if m.hasGhost(p.id) {
			m.withheld = append(m.withheld, p)
			continue
		}
		m.tracker(p.part).Settle(p.offset)
		m.commit.dirty = true
	}
}

func (m *Machine) hasGhost(id ID) bool {
	for _, g := range m.beyond {
		if g.id == id {
			return true
		}
	}
	return false
}
