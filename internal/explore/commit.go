package main

import (
	"slices"

	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
)

func (s *state) sendCommit(p *process) {
	if p.m.WantsCommit() == lane.CommitSoon {
		p.soon--
	}
	p.commit = &snapshot{p.m.Commit(), p.version}
}

// answerCommit stores a commit, or not, and tells the process, or says that nobody knows.
func (s *state) answerCommit(p *process, a action) {
	c := p.commit
	p.commit = nil
	if a.verb != storeCommit && a.who == 0 && p.version == s.version {
		s.left.unheard--
	}
	if a.verb != refuseCommit {
		s.store(c)
	}
	if a.verb == storeCommit {
		p.m.Committed(c.Number)
	} else {
		p.m.CommitFailed(c.Number)
	}
}

// store makes a commit the group's. What was committed must not be forgotten by it (L6).
func (s *state) store(c *snapshot) {
	next := &committed{version: c.version, commits: c.Parts}
	for p := range c.Parts {
		meta, err := offsets.Decode(c.Parts[p].Metadata, c.Parts[p].Offset)
		if err != nil {
			broken("L6: the metadata of %s cannot be read: %v", s.w.partName(lane.Part(p)), err)
		}
		next.parts = append(next.parts, meta)
	}
	s.checkProgress(next)
	s.committed = next
	if s.began < 0 {
		s.began = int(c.Parts[lane.Source].Offset)
	}
	s.checkLoss()
}

// storePart stores the source's part of a commit, or the other parts, and what was committed before for the rest.
func (s *state) storePart(p *process, source bool) {
	c := p.commit
	p.commit = nil
	if s.committed != nil {
		mixed := *c
		mixed.Parts = slices.Clone(c.Parts)
		for part := range mixed.Parts {
			if (part == int(lane.Source)) != source {
				mixed.Parts[part] = s.committed.commits[part]
			}
		}
		if !source {
			mixed.version = s.committed.version
		}
		s.store(&mixed)
	}
	p.m.CommitFailed(c.Number)
}

// forget removes a mark that the owner has found to be too old.
func (s *state) forget(p *process, k mark) {
	done, closed := s.done(), s.closed()
	for part := range s.w.parts() {
		for _, c := range s.logs[part] {
			if s.ended(c.id, done, closed) {
				s.hist.over = s.hist.over.with(uint8(c.id))
			}
		}
	}
	p.m.Forget(s.w.forMachine(p.m, k))
	i := slices.Index(s.marks, k)
	s.marks = remove(s.marks, i)
	keys := s.w.keysOf(k) &^ s.done()
	p.done &^= keys
	s.hist.done &^= keys
	if k.kind == lane.TerminalMark && !s.closed().has(uint8(k.id)) {
		p.closed = p.closed.minus(uint8(k.id))
		s.hist.closed = s.hist.closed.minus(uint8(k.id))
	}
}

// checkProgress compares a commit with the one before it (L6). What an election took away is no loss.
func (s *state) checkProgress(next *committed) {
	old := s.committed
	if old == nil {
		return
	}
	for p := range s.w.parts() {
		end := len(s.logs[p])
		if p == 0 {
			end = min(end, s.w.kept(old.version, next.version))
		}
		for offset := range int64(end) {
			if old.settles(lane.Part(p), offset) && !next.settles(lane.Part(p), offset) {
				broken("L6: a commit forgets that %s is settled", s.w.place(lane.Part(p), offset))
			}
		}
	}
	if a, b := old.parts[0].Lane, next.parts[0].Lane; a != nil && b != nil && b.Tenure < a.Tenure {
		broken("R40: the tenure goes back from %d to %d", a.Tenure, b.Tenure)
	}
}

// kept returns how many records of one version of the source all versions up to another have kept.
func (w *world) kept(from, to int) int {
	n := len(w.logs[from])
	for _, log := range w.logs[from : to+1] {
		same := 0
		for same < min(n, len(log)) && w.logs[from][same] == log[same] {
			same++
		}
		n = same
	}
	return n
}
