package lane

// index finds the entry of an identity. It knows the identities that are, or may come, anywhere else than in the source: a
// source record that was never forwarded is not in it, so that the plain path pays nothing.
type index struct {
	slots []int32 // entry + 1; 0 is free
	used  int
}

func (x *index) home(id ID) int {
	h := (uint64(id.Offset)*0x9E3779B97F4A7C15 ^ uint64(id.Run)<<32 ^ uint64(id.Gen)) * 0xD6E8FEB86659FD93
	return int(h >> 32 & uint64(len(x.slots)-1))
}

func (x *index) slot(m *Machine, id ID) int {
	i := x.home(id)
	for x.slots[i] != 0 && m.entries[x.slots[i]-1].id() != id {
		i = (i + 1) & (len(x.slots) - 1)
	}
	return i
}

func (x *index) get(m *Machine, id ID) int32 {
	if x.used == 0 {
		return none
	}
	return x.slots[x.slot(m, id)] - 1
}

func (x *index) add(m *Machine, i int32) {
	e := &m.entries[i]
	if e.has(indexed) {
		return
	}
	e.flags |= indexed
	if 4*(x.used+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]int32, max(4, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				x.slots[x.slot(m, m.entries[s-1].id())] = s
			}
		}
	}
	x.slots[x.slot(m, e.id())] = i + 1
	x.used++
}

func (x *index) remove(m *Machine, i int32) {
	m.entries[i].flags &^= indexed
	x.used--
	mask := len(x.slots) - 1
	hole := x.slot(m, m.entries[i].id())
	for j := (hole + 1) & mask; x.slots[j] != 0; j = (j + 1) & mask {
		if home := x.home(m.entries[x.slots[j]-1].id()); (j-home)&mask >= (j-hole)&mask {
			x.slots[hole] = x.slots[j]
			hole = j
		}
	}
	x.slots[hole] = 0
}

// known returns the entry of an identity. fromSource: the copy that asks stands in the source.
func (m *Machine) known(id ID, from Part) int32 {
	if i := m.ids.get(m, id); i != none || from == Source || id.Run > 0 {
		return i
	}
	// Nobody forwarded it in this tenure, and no scan found it: a copy that a dead owner's produce left behind after the
	// scans. Rare enough to look at all entries.
	if m.tracker(Source).Settled(id.Offset) {
		return none
	}
	for i := range m.entries {
		if e := &m.entries[i]; e.state != free && e.id() == id {
			return int32(i)
		}
	}
	return none
}

// recent is a bounded memory of identities that finished in this tenure (R38). The newest 65,536 are kept: a copy of a
// record that finished longer ago is only told by its mark.
type recent struct {
	at   map[ID]struct{}
	ring []ID
	next int
}

const recentSize = 1 << 16

func (r *recent) add(id ID) {
	if r.at == nil {
		r.at = map[ID]struct{}{}
	}
	if _, ok := r.at[id]; ok {
		return
	}
	r.at[id] = struct{}{}
	if len(r.ring) < recentSize {
		r.ring = append(r.ring, id)
		return
	}
	delete(r.at, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % recentSize
}

func (r *recent) has(id ID) bool {
	_, ok := r.at[id]
	return ok
}
