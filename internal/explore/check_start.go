package main

import "github.com/laneway-go/laneway/internal/lane"

// checkStart looks at everything that must hold when the handler of a copy starts.
func (s *state) checkStart(p *process, c copyOf, part lane.Part, offset int64, who uint8) {
	s.checkRepeat(p, c)
	s.checkLive(p, c, part, offset)
	s.checkTime(c)
	s.checkAlone(p, c.id)
	s.checkOrder(p, c.id)
	if s.w.mode == lane.ClaimFirst && s.nextRun(c.id.record()) == 1 && s.hist.maybe.has(s.w.xOf(c.id)) {
		broken("C1: the handler of %s starts, and an effect of its idempotency key may have taken place", s.w.title(c.id))
	}
	if s.w.mode == lane.ClaimFirst && !s.hasClaim(c.id) {
		broken("C1: the handler of %s starts without a durable claim", s.w.title(c.id))
	}
	if who == 0 && s.committed == nil {
		broken("R24: a handler starts before anything is committed")
	}
	if p.scanned&uint8(1<<s.w.parts()-1) != uint8(1<<s.w.parts()-1) {
		broken("R25: a handler starts before all parts are scanned")
	}
}

// checkRepeat: nothing that a mark says is finished starts again (L2). Marks that came late count from the next scan on.
func (s *state) checkRepeat(p *process, c copyOf) {
	if p.finished.has(uint8(c.id)) {
		broken("L2: the handler of %s starts again, its owner has settled its outcome", s.w.title(c.id))
	}
	if !s.w.remembers() {
		return
	}
	done, closed := p.done, p.closed
	if s.w.strict() {
		done, closed = done|s.done(), closed|s.closed()
	}
	if done.has(s.w.xOf(c.id)) && (!c.force || s.ownMark(c.id)) {
		broken("L2: the handler of %s starts behind a done mark", s.w.title(c.id))
	}
	if s.w.strict() && s.hist.over.has(uint8(c.id)) {
		broken("L2: the handler of %s starts again, an owner has known that it is finished", s.w.title(c.id))
	}
	if closed.has(uint8(c.id)) {
		broken("L2: the handler of %s starts behind its terminal mark", s.w.title(c.id))
	}
}

// checkLive: nothing starts from a copy while the owner knows a greater one, nor from a settled one (L4).
func (s *state) checkLive(p *process, c copyOf, part lane.Part, offset int64) {
	if p.m.Settled(part, offset) {
		broken("L4: %s starts from %s, which is settled", s.w.title(c.id), s.w.place(part, offset))
	}
	if c.id.run() > 0 && !s.w.remembers() {
		return
	}
	for q := range s.w.parts() {
		for o := range s.logs[q] {
			d := &s.logs[q][o]
			if d.id != c.id || !greater(d, lane.Part(q), o, &c, part, int(offset)) {
				continue
			}
			if s.w.strict() && q != int(lane.Replay) || int64(o) < p.ends[q] || int64(o) < p.m.Position(lane.Part(q)) {
				broken("L4: %s starts from %s, and %s is greater", s.w.title(c.id), s.w.place(part, offset), s.w.place(lane.Part(q), int64(o)))
			}
		}
	}
}

func greater(a *copyOf, ap lane.Part, ao int, b *copyOf, bp lane.Part, bo int) bool {
	switch {
	case a.hop != b.hop:
		return a.hop > b.hop
	case ap != bp:
		return ap > bp
	}
	return ao > bo
}

// checkTime: never early, and no attempt is used that was none (L5).
func (s *state) checkTime(c copyOf) {
	if c.due > s.now || c.until > s.now {
		broken("L5: %s starts %d ms early", s.w.title(c.id), max(c.due, c.until)-s.now)
	}
	calls := s.hist.calls[c.id]
	if c.tries > calls || s.hist.crashes == 0 && s.w.strict() && s.w.giveUps == 0 && len(s.w.logs) == 1 && c.tries != calls {
		broken("L5: %s is called for the %d. time, its copy says %d", s.w.title(c.id), calls+1, c.tries)
	}
}

// checkAlone: one handler per key, and per idempotency key (L8).
func (s *state) checkAlone(p *process, id identity) {
	for _, o := range p.calls {
		if k := s.w.keyOf(id); k != 0 && s.w.keyOf(o.id) == k {
			broken("L8: %s and %s of one key run at once", s.w.title(o.id), s.w.title(id))
		}
		if s.w.remembers() && s.w.xOf(o.id) == s.w.xOf(id) {
			broken("L8: %s and %s of one idempotency key run at once", s.w.title(o.id), s.w.title(id))
		}
		if p.careful {
			broken("R35: %s and %s run at once in a careful lane", s.w.title(o.id), s.w.title(id))
		}
	}
}

// checkOrder: every earlier record of the key is settled for good (L3). Of copies that came late, only those that the owner
// has read count.
func (s *state) checkOrder(p *process, id identity) {
	if id.run() > 0 || s.w.keyOf(id) == 0 {
		return
	}
	for r := range s.w.records {
		q := idOf(r, 0)
		if s.w.keyOf(q) != s.w.keyOf(id) || !s.w.before(r, id.record()) || p.finished.has(uint8(q)) {
			continue
		}
		if s.w.remembers() && (s.done().has(s.w.xOf(q)) || s.closed().has(uint8(q))) {
			continue
		}
		for part := range s.w.parts() {
			s.checkEarlier(p, id, q, lane.Part(part))
		}
	}
}

func (s *state) checkEarlier(p *process, id, q identity, part lane.Part) {
	if part == lane.Source && p.version != s.version {
		return // an old leader may have brought records back, and the owner cannot know it yet
	}
	for o, c := range s.logs[part] {
		offset := int64(o)
		switch {
		case c.id != q || p.m.Settled(part, offset):
		case part == lane.Source && s.began > o:
		case !s.w.strict() && part != lane.Source && offset >= p.ends[part] && offset >= p.m.Position(part):
		case part != lane.Source && len(s.w.logs) > 1 && !s.inSource(q.record()):
			// The source has lost it; what is left in the stages keeps no order with what was written anew.
		default:
			broken("L3: %s starts, and the earlier %s is not settled at %s", s.w.title(id), s.w.title(q), s.w.place(part, offset))
		}
	}
}

func (s *state) inSource(r int) bool {
	for _, c := range s.logs[lane.Source] {
		if c.id.record() == r {
			return true
		}
	}
	return false
}

func (s *state) hasClaim(id identity) bool {
	for _, k := range s.marks {
		if k.kind == lane.ClaimMark && k.id == id {
			return true
		}
	}
	return false
}
