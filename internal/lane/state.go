package lane

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/laneway-go/laneway/dedupe"
)

// Clone returns an independent copy of the machine. Payloads are shared.
func (m *Machine) Clone() *Machine {
	c := *m
	c.gens = slices.Clone(m.gens)
	c.genOf = maps.Clone(m.genOf)
	c.parts = slices.Clone(m.parts)
	for p := range c.parts {
		c.parts[p].tracker = m.parts[p].tracker.Clone()
		c.parts[p].epochs = slices.Clone(m.parts[p].epochs)
		c.parts[p].unread = slices.Clone(m.parts[p].unread)
	}
	c.entries = slices.Clone(m.entries)
	c.payload = slices.Clone(m.payload)
	c.free = slices.Clone(m.free)
	c.x = slices.Clone(m.x)
	c.more = maps.Clone(m.more)
	c.queues.slots = slices.Clone(m.queues.slots)
	c.ids.slots = slices.Clone(m.ids.slots)
	c.parked = slices.Clone(m.parked)
	c.work = slices.Clone(m.work)
	c.gated = slices.Clone(m.gated)
	c.timers = slices.Clone(m.timers)
	c.marks = m.marks.clone()
	c.finished = recent{at: maps.Clone(m.finished.at), ring: slices.Clone(m.finished.ring), next: m.finished.next}
	c.xbusy = maps.Clone(m.xbusy)
	c.xwait = cloneLists(m.xwait)
	c.beyond = slices.Clone(m.beyond)
	c.withheld = slices.Clone(m.withheld)
	c.suspects.list = slices.Clone(m.suspects.list)
	c.commit.awaiting = slices.Clone(m.commit.awaiting)
	c.held = slices.Clone(m.held)
	c.out = Out{Starts: slices.Clone(m.out.Starts), Writes: slices.Clone(m.out.Writes)}
	return &c
}

func cloneLists[K comparable, V any](lists map[K][]V) map[K][]V {
	c := make(map[K][]V, len(lists))
	for k, l := range lists {
		c[k] = slices.Clone(l)
	}
	return c
}

func (k *marks) clone() marks {
	c := *k
	c.chunks = slices.Clone(k.chunks)
	for n := range c.chunks {
		if w := c.chunks[n].write; w != nil {
			d := *w
			d.waiting, d.carried = slices.Clone(w.waiting), slices.Clone(w.carried)
			c.chunks[n].write = &d
		}
	}
	c.spare = nil
	c.chunkOf, c.runs, c.own = maps.Clone(k.chunkOf), maps.Clone(k.runs), maps.Clone(k.own)
	c.dead, c.later = maps.Clone(k.dead), maps.Clone(k.later)
	c.dirty, c.free = slices.Clone(k.dirty), slices.Clone(k.free)
	c.claims = cloneLists(k.claims)
	if k.table != nil {
		c.table = k.table.Clone()
	}
	return c
}

// AppendState appends a canonical form of everything that decides the machine's behaviour: two machines that append the same
// behave the same from now on, but for the numbers in their references and the times in their writes. Times count from now, and
// what is past is past; times further away than 34 years are one. The explorer tells states apart by it.
func (m *Machine) AppendState(b []byte) []byte {
	a := appender{b: b, now: m.now}
	a.num(int64(m.phase), m.tenure, m.number, bit(m.renewal), bit(m.gone), bit(m.marksIn))
	a.time(m.opened + m.cfg.LongLife)
	for i := range m.gens {
		a.num(m.gens[i].end)
	}
	for p := range m.parts {
		k := &m.parts[p]
		a.num(bit(k.scanned), int64(len(k.epochs)))
		for _, e := range k.epochs {
			a.num(int64(e.Epoch), e.First)
		}
		a.b = k.tracker.AppendState(a.b)
	}
	m.appendEntries(&a)
	m.marks.appendState(m, &a)
	m.appendRest(&a)
	return a.b
}

type appender struct {
	b   []byte
	now int64
}

const far = int64(1) << 40

// time appends a time as the machine sees it: how long it has to wait for it.
func (a *appender) time(at int64) { a.num(min(max(at-a.now, 0), far)) }

func (a *appender) num(values ...int64) {
	for _, v := range values {
		a.b = binary.AppendVarint(a.b, v)
	}
}

func (a *appender) id(id ID) { a.num(id.Offset, int64(id.Gen), int64(id.Run)) }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func compareID(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Run, b.Run))
}

// sortedEntries returns the entries in the order of their identities.
func (m *Machine) sortedEntries() []int32 {
	var order []int32
	for i := range m.entries {
		if m.entries[i].state != free {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int { return compareID(m.entries[i].id(), m.entries[j].id()) })
	return order
}

func (m *Machine) appendEntries(a *appender) {
	order := m.sortedEntries()
	a.num(int64(len(order)))
	for _, i := range order {
		e := &m.entries[i]
		a.id(e.id())
		a.time(e.due)
		a.num(int64(e.key), e.offset, int64(e.hop), int64(e.attempt), int64(e.snoozes), int64(e.part), int64(e.state),
			int64(e.flags&^(inWork|extended)), int64(e.arg), bit(slices.Contains(m.gated, i)))
		before := e.before()
		if a.num(bit(e.has(keyed) && before != none)); e.has(keyed) && before != none {
			a.id(m.entries[before].id())
		}
		x := m.ext(i)
		fence := int64(0)
		if e.state == arming || e.state == fencing {
			fence = max(int64(x.fence)-int64(m.commit.sent), 0)
		}
		a.time(x.until)
		if a.num(bit(x.since != 0)); x.since != 0 {
			a.time(x.since + m.cfg.MaxSnooze)
		}
		a.num(int64(x.fails), fence, int64(x.tries), bit(x.claim), bit(x.broken))
		if e.has(hasX) {
			a.num(int64(m.x[i][0]), int64(m.x[i][1]))
		}
		a.num(bit(slices.Contains(m.xwait[m.entryX(i)], i)))
	}
	for _, k := range m.parked {
		a.id(m.entries[k.entry].id())
		a.num(int64(k.part), k.copy.Offset, int64(k.copy.Hop), bit(k.fetched))
	}
}

func (k *marks) appendState(m *Machine, a *appender) {
	for _, id := range slices.SortedFunc(maps.Keys(k.chunkOf), func(x, y ChunkID) int {
		return cmp.Or(cmp.Compare(x.Gen, y.Gen), cmp.Compare(x.Index, y.Index))
	}) {
		c := &k.chunks[k.chunkOf[id]]
		a.num(int64(id.Gen), id.Index)
		a.bits(&c.bits)
		if w := c.write; w != nil {
			a.num(1, bit(w.inFlight), int64(w.fails))
			if m.cfg.MarkPause > 0 {
				a.num(int64(w.awaited), w.began)
			}
			a.entries(m, w.waiting)
			a.entries(m, w.carried)
			a.bits(&w.sent)
		}
	}
	a.ids(maps.Keys(k.own))
	for _, id := range slices.SortedFunc(maps.Keys(k.dead), compareID) {
		a.id(id)
		a.num(int64(k.dead[id]))
	}
	byDone := func(x, y doneKey) int { return cmp.Or(cmp.Compare(x.gen, y.gen), cmp.Compare(x.offset, y.offset)) }
	for _, d := range slices.SortedFunc(maps.Keys(k.runs), byDone) {
		a.num(2, d.offset, int64(d.gen))
	}
	for _, d := range slices.SortedFunc(maps.Keys(k.later), byDone) {
		a.num(3, d.offset, int64(d.gen), int64(k.later[d]))
	}
	byHash := func(x, y dedupe.Hash) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) }
	for _, x := range slices.SortedFunc(maps.Keys(k.claims), byHash) {
		for _, c := range slices.SortedFunc(slices.Values(k.claims[x]), func(p, q claim) int {
			return cmp.Or(compareID(p.id, q.id), cmp.Compare(p.tries, q.tries), cmp.Compare(p.tenure, q.tenure))
		}) {
			a.id(c.id)
			a.num(4, int64(c.tries), c.tenure)
		}
	}
	if k.table != nil {
		var keys []dedupe.Hash
		k.table.Each(func(h dedupe.Hash, _ int64) bool { keys = append(keys, h); return true })
		slices.SortFunc(keys, byHash)
		for _, h := range keys {
			a.num(5, int64(h[0]), int64(h[1]))
		}
	}
}

func (a *appender) bits(b *dedupe.Bits) {
	for _, w := range b {
		a.num(int64(w))
	}
}

func (a *appender) entries(m *Machine, list []int32) {
	a.num(int64(len(list)))
	ids := make([]ID, 0, len(list))
	for _, i := range list {
		ids = append(ids, m.entries[i].id())
	}
	a.ids(slices.Values(ids))
}

func (a *appender) ids(seq func(func(ID) bool)) {
	for _, id := range slices.SortedFunc(seq, compareID) {
		a.id(id)
	}
}

func (m *Machine) appendRest(a *appender) {
	a.ids(slices.Values(m.finished.ring))
	c := &m.commit
	a.num(bit(c.inFlight), bit(c.dirty), bit(c.urgent), bit(c.last), c.stored)
	s := &m.suspects
	a.num(int64(s.unclean), bit(s.careful), bit(s.reset), bit(s.isSet), bit(s.hasGuilt), bit(s.named), bit(c.names), int64(s.turn))
	a.id(s.running)
	a.id(s.convict)
	a.ids(slices.Values(s.list))
	for _, g := range m.beyond {
		a.id(g.id)
		a.num(int64(g.part), g.offset)
	}
	for _, p := range m.withheld {
		a.id(p.id)
		a.num(int64(p.part), p.offset)
	}
	a.num(int64(len(m.held)))
	a.b = append(a.b, m.pendingTimers()...)
}

// pendingTimers lists the timers that still mean something.
func (m *Machine) pendingTimers() []byte {
	var rows [][]byte
	for _, t := range m.timers {
		i := t.what.index()
		if i&chunkBit != 0 {
			rows = append(rows, binary.AppendVarint([]byte{1, byte(i)}, t.at-m.now))
			continue
		}
		if e := &m.entries[i]; e.state != free && e.seq == t.what.seq() {
			a := appender{b: []byte{2}, now: m.now}
			a.id(e.id())
			a.time(t.at)
			rows = append(rows, a.b)
		}
	}
	slices.SortFunc(rows, bytes.Compare)
	return bytes.Join(rows, nil)
}
