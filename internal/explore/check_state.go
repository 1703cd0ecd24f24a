package main

import (
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
)

// checkState looks at what must hold in every state. before is the state that it came from.
func (s *state) checkState(before *state) {
	if len(s.marks) != len(before.marks) || len(s.dlt) != len(before.dlt) {
		s.checkMemory()
		s.checkLoss()
	}
	s.checkIdle()
}

// checkIdle: nothing stands idle that could run (L7). When the owner has nothing out and nothing to say, every record that it has
// fetched waits for a time or for a record before it.
func (s *state) checkIdle() {
	p := s.owner
	if p == nil || len(p.calls)+len(p.writes) > 0 || p.commit != nil || p.version != s.version || !s.w.strict() ||
		p.m.Phase() != lane.Running || p.m.WantsCommit() == lane.CommitNow || s.w.same != "" || s.w.replays > 0 || len(s.w.logs) > 1 ||
		s.w.broken > 0 { // a write that failed is made again after a wait
		return
	}
	for r := range s.w.records {
		id := idOf(r, 0)
		part, offset := s.live(id)
		if offset < 0 {
			continue
		}
		c := &s.logs[part][offset]
		if offset >= p.m.Position(part) || p.m.Settled(part, offset) || c.due > s.now || c.until > s.now {
			continue
		}
		if part != lane.Source && p.m.Position(lane.Source) <= s.w.records[r].offset || s.hasEarlier(p, id) {
			continue
		}
		broken("L7: %s at %s could run, and nothing does", s.w.title(id), s.w.place(part, offset))
	}
}

// live returns the place of the greatest copy of an identity; offset -1 if there is none.
func (s *state) live(id identity) (part lane.Part, offset int64) {
	var best *copyOf
	offset = -1
	for p := range s.w.parts() {
		for o := range s.logs[p] {
			c := &s.logs[p][o]
			if c.id == id && (best == nil || greater(c, lane.Part(p), o, best, part, int(offset))) {
				best, part, offset = c, lane.Part(p), int64(o)
			}
		}
	}
	return part, offset
}

// hasEarlier says whether an earlier record of the key is not settled.
func (s *state) hasEarlier(p *process, id identity) bool {
	for r := range s.w.records {
		q := idOf(r, 0)
		if s.w.keyOf(q) == 0 || s.w.keyOf(q) != s.w.keyOf(id) || !s.w.before(r, id.record()) {
			continue
		}
		for part := range s.w.parts() {
			for o, c := range s.logs[part] {
				if c.id == q && !p.m.Settled(lane.Part(part), int64(o)) {
					return true
				}
			}
		}
	}
	return false
}

// checkLoss: every record is terminal, or has a copy that is not settled in what is committed (L1).
func (s *state) checkLoss() {
	if s.began < 0 {
		return
	}
	var exists, owed idSet
	for p := range s.w.parts() {
		for o, c := range s.logs[p] {
			if p == 0 && o < s.began {
				continue
			}
			exists = exists.with(uint8(c.id))
			if !s.settledInCommit(lane.Part(p), int64(o)) {
				owed = owed.with(uint8(c.id))
			}
		}
	}
	done, closed := s.done(), s.closed()
	for id := range identity(maxIDs) {
		if exists.has(uint8(id)) && !owed.has(uint8(id)) && !s.ended(id, done, closed) {
			broken("L1: %s is lost: all its copies are settled, it has no mark and no dlt copy", s.w.title(id))
		}
	}
}

// settledInCommit says whether the next owner will take a place for settled.
func (s *state) settledInCommit(p lane.Part, offset int64) bool {
	if !s.committed.settles(p, offset) {
		return false
	}
	return p != lane.Source || offset < int64(s.w.kept(s.committed.version, s.version))
}

// ended says whether an identity is finished and everybody can know it.
func (s *state) ended(id identity, done, closed idSet) bool {
	for _, d := range s.dlt {
		if d.id.record() == id.record() && d.id.run() >= id.run() {
			return true
		}
	}
	if !s.w.remembers() {
		return s.hist.effects.has(uint8(id)) || s.hist.skipped.has(uint8(id))
	}
	return done.has(s.w.xOf(id)) || closed.has(uint8(id)) || s.w.forgets > 0 && s.hist.over.has(uint8(id))
}

// checkMemory: what an owner has known as durable stays (what R39 and R40 are for).
func (s *state) checkMemory() {
	if missing := s.hist.done &^ s.done(); missing != 0 {
		broken("L2: a done mark that an owner has known as durable is gone")
	}
	if missing := s.hist.closed &^ s.closed(); missing != 0 {
		broken("L2: a terminal mark that an owner has known as durable is gone")
	}
}

// checkMark: a mark is a truth.
func (s *state) checkMark(k mark) {
	switch k.kind {
	case lane.DoneMark:
		if !s.hist.effects.has(uint8(k.id)) {
			broken("R13: a done mark of %s, and no effect", s.w.title(k.id))
		}
	case lane.ChunkMark:
		for r := range s.w.records {
			if k.bits.has(uint8(r)) && !s.hist.effects.has(uint8(idOf(r, 0))) {
				broken("R39: the done bit of %s, and no effect", s.w.title(idOf(r, 0)))
			}
		}
	case lane.TerminalMark:
		if k.reason != lane.Skipped && !s.inDLT(k.id) {
			broken("R14: a terminal mark of %s, and no dlt copy", s.w.title(k.id))
		}
	case lane.ClaimMark, lane.ClaimRelease, lane.Forward, lane.DeadLetter:
	}
}

func (s *state) inDLT(id identity) bool {
	for _, d := range s.dlt {
		if d.id == id {
			return true
		}
	}
	return false
}

// checkWrite looks at a write when it is asked for.
func (s *state) checkWrite(p *process, w *write) {
	if p.m.Tenure() == 0 {
		broken("R25: %s is written before the take-over is complete", w.kindName())
	}
	if w.kind == lane.ChunkMark || w.kind == lane.ClaimMark || w.kind == lane.DoneMark {
		if p == s.owner && w.mark.tenure > s.committedTenure() {
			broken("R40: a mark carries tenure %d, committed is %d", w.mark.tenure, s.committedTenure())
		}
	}
	if w.kind != lane.DeadLetter {
		return
	}
	switch w.reason {
	case lane.Exhausted:
		if int(w.copy.used) < s.w.attempts && w.copy.tries-w.copy.used == 0 {
			broken("L5: %s is exhausted after %d of %d attempts", s.w.title(w.copy.id), w.copy.used, s.w.attempts)
		}
	case lane.UncertainReason:
		s.checkUncertain(w.copy.id)
	case lane.Crash:
		if s.w.killer != w.copy.id.record()+1 {
			broken("R35: %s is convicted, and it has killed nobody", s.w.title(w.copy.id))
		}
	default:
	}
}

func (s *state) committedTenure() int64 {
	if s.committed == nil || s.committed.parts[lane.Source].Lane == nil {
		return 0
	}
	return s.committed.parts[lane.Source].Lane.Tenure
}

// checkUncertain: nothing is uncertain whose handler has stated that it did nothing (C2).
func (s *state) checkUncertain(id identity) {
	if !s.w.strict() || s.w.outcomes&unsure != 0 {
		return
	}
	for _, k := range s.marks {
		if k.kind == lane.ClaimMark && s.w.xOf(k.id) == s.w.xOf(id) && !s.released(k) {
			return
		}
	}
	broken("C2: %s goes to the dlt as uncertain, and no claim is open", s.w.title(id))
}

// released says whether a claim's handler is known to have returned, or the record is finished.
func (s *state) released(k mark) bool {
	if s.done().has(s.w.xOf(k.id)) {
		return true
	}
	for p := range s.w.parts() {
		for _, c := range s.logs[p] {
			if c.id == k.id && c.tries > k.tries || c.id.record() == k.id.record() && c.id.run() > k.id.run() {
				return true
			}
		}
	}
	for _, t := range s.marks {
		if t.kind == lane.TerminalMark && t.id == k.id && t.reason != lane.UncertainReason {
			return true
		}
	}
	return false
}

// checkEnd looks at a state in which nothing can go on but the environment: all must be settled, and every record have an effect
// or a dlt copy. Anything else is a lane that is stuck (L7).
func (s *state) checkEnd() (wrong violation) {
	defer func() {
		if v, ok := recover().(violation); ok {
			wrong = v
		}
	}()
	m := s.owner.m
	if m.Phase() != lane.Running {
		broken("L7: stuck while %s", m.Phase())
	}
	c := m.Clone().Commit()
	for p := range s.w.parts() {
		meta, err := offsets.Decode(c.Parts[p].Metadata, c.Parts[p].Offset)
		if err != nil {
			broken("L6: the metadata cannot be read: %v", err)
		}
		for o := range int64(len(s.logs[p])) {
			if o >= c.Parts[p].Offset && !meta.Settled.Contains(o) {
				broken("L7: stuck, %s is not settled", s.w.place(lane.Part(p), o))
			}
		}
	}
	done, closed := s.done(), s.closed()
	for p := range s.w.parts() {
		for o, c := range s.logs[p] {
			if (p > 0 || o >= s.began) && !s.ended(c.id, done, closed) {
				broken("L1: all is settled, and %s has neither an effect nor a dlt copy", s.w.title(c.id))
			}
		}
	}
	s.checkLasts()
	return ""
}

// checkLasts: in the end the records of a key have ended in their order (L3).
func (s *state) checkLasts() {
	if !s.w.strict() || s.w.replays > 0 || s.w.refused > 0 || len(s.w.logs) > 1 {
		return
	}
	h := &s.hist
	for i, r := range h.lasts[:h.nLasts] {
		for _, q := range h.lasts[i+1 : h.nLasts] {
			if k := s.w.keyOf(idOf(int(r), 0)); k != 0 && k == s.w.keyOf(idOf(int(q), 0)) && s.w.before(int(q), int(r)) {
				broken("L3: %s ended after %s", s.w.title(idOf(int(q), 0)), s.w.title(idOf(int(r), 0)))
			}
		}
	}
}
