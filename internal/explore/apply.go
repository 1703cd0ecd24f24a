package main

import (
	"fmt"

	"github.com/laneway-go/laneway/internal/lane"
)

// violation is a promise that does not hold, in words. A step panics with it.
type violation string

func broken(format string, args ...any) { panic(violation(fmt.Sprintf(format, args...))) }

// step does one action and checks what follows from it. It returns the new state, or what was violated.
func (s *state) step(a action) (next *state, wrong violation) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case violation:
			next, wrong = nil, r
		default:
			next, wrong = nil, violation(fmt.Sprintf("panic: %v", r))
		}
	}()
	n := s.clone()
	n.apply(a)
	n.checkState(s)
	return n, ""
}

func (s *state) apply(a action) {
	if a.who == 1 && a.verb != end {
		s.left.zombie--
	}
	switch a.verb {
	case takeOver:
		s.takeOver()
	case scanPart, scanAll, fetch, giveBack, append_, acknowledge, fail, refuse, sendCommit, storeCommit, loseAnswer, refuseCommit, storePart, forget,
		giveUp, abandon, renew, notice:
		s.own(a)
	case tick:
		at, _ := s.owner.m.NextWake()
		s.now = at
		p := mine(&s.owner)
		s.flush(p, a.who)
		if next, waits := p.m.NextWake(); waits && next <= s.now {
			broken("L7: the machine wants to be woken in the past")
		}
	case crash:
		if s.w.killer != 0 && !s.mayDie(s.owner) {
			s.left.kills--
		} else {
			s.left.crashes--
		}
		s.die(a.a, a.b == 1)
	case lose:
		s.left.losses--
		s.left.zombie = int8(s.w.zombie)
		s.zombie, s.owner = s.owner, nil
	case end:
		s.bequeath(s.zombie, 0)
		s.zombie = nil
	case land:
		s.left.late--
		w := s.late[a.a]
		s.late = remove(s.late, int(a.a))
		s.appendWrite(&w)
	case replay, replayAgain:
		s.operate(a)
	case elect:
		s.version++
		s.present = len(s.w.logs[s.version])
		s.readSource()
	case arrive:
		s.present++
		s.readSource()
	}
}

// own does what one process does or hears.
func (s *state) own(a action) {
	p := mine(s.who(a.who))
	switch a.verb {
	case scanPart:
		s.scan(p, int(a.a))
	case scanAll:
		s.scanAll(p, a.a == 1)
	case fetch:
		s.fetch(p, lane.Part(a.a), int(a.b))
	case giveBack:
		s.giveBack(p, a)
	case append_:
		s.appendWrite(&p.writes[a.a])
	case acknowledge:
		s.acknowledge(p, int(a.a))
	case fail:
		s.left.broken--
		s.failWrite(p, int(a.a), a.b == 1)
	case refuse:
		s.left.refused--
		w := p.writes[a.a]
		p.writes = remove(p.writes, int(a.a))
		p.m.Refused(w.token)
	case sendCommit:
		s.sendCommit(p)
	case storePart:
		s.left.partly--
		s.storePart(p, a.a == 1)
	case forget:
		s.left.forgets--
		s.forget(p, s.marks[a.a])
	case storeCommit, loseAnswer, refuseCommit:
		s.answerCommit(p, a)
	case giveUp:
		s.left.giveUps--
		p.m.GiveUp()
	case abandon:
		p.m.Abandon()
	case renew:
		s.renew(p, a.a)
	case notice:
		s.notice(p, a.who)
		return
	default:
	}
	s.flush(p, a.who)
}

// flush lets a process do what has become possible, and takes up what it asks for.
func (s *state) flush(p *process, who uint8) {
	p.print, p.at = 0, s.now
	p.m.Flush(s.now)
	out := p.m.Out()
	for i := range out.Writes {
		w := s.read(p, &out.Writes[i])
		s.checkWrite(p, &w)
		p.writes = append(p.writes, w)
	}
	for i := range out.Starts {
		s.start(p, &out.Starts[i], who)
	}
	out.Reset()
	if p.m.Phase() == lane.Closed {
		s.bequeath(p, 0)
		*s.who(who) = nil
	}
}

// read takes a write apart.
func (s *state) read(p *process, w *lane.Write) write {
	out := write{token: w.Token, kind: w.Kind, to: w.To, reason: w.Reason}
	if w.Kind == lane.ChunkMark {
		out.mark = mark{kind: w.Kind, tenure: w.Tenure}
		out.mark.bits, out.mark.chunk = s.w.bitsOf(p.m, w.Chunk, &w.Bits)
		return out
	}
	id := s.w.identityOf(p.m, w.ID)
	if x, user := s.w.userX(id); user != w.HasX || x != w.X {
		broken("a write for %s carries another idempotency key", s.w.title(id))
	}
	out.copy = copyOf{
		id: id, hop: uint8(w.Hop), used: uint8(w.Attempt), tries: uint8(w.Attempt) + uint8(w.Snoozes), force: w.Force,
		due: w.Due, until: w.Until, since: w.Since != 0,
	}
	out.mark = mark{kind: w.Kind, id: id, tenure: w.Tenure, reason: w.Reason}
	if w.Kind == lane.ClaimMark || w.Kind == lane.ClaimRelease {
		out.mark.tries = uint8(w.Tries)
	}
	if w.Kind == lane.Forward || w.Kind == lane.DeadLetter {
		from, ok := w.Payload.(value)
		if !ok {
			broken("L1: the copy of %s is written without its record", s.w.title(id))
		}
		if c, _, _ := s.valueOf(from); c.id != id {
			broken("L1: the copy of %s that is written is %s", s.w.title(id), s.w.title(c.id))
		}
	}
	return out
}

// appendWrite makes a write durable.
func (s *state) appendWrite(w *write) {
	if w.landed {
		return
	}
	w.landed = true
	switch w.kind {
	case lane.Forward:
		if w.copy.hop > maxHops || len(s.logs[w.to]) == maxLog {
			broken("L7: %s was forwarded %d times", s.w.title(w.copy.id), w.copy.hop)
		}
		w.offset = int64(len(s.logs[w.to]))
		s.logs[w.to] = put(s.logs[w.to], w.copy)
	case lane.DeadLetter:
		s.dlt = put(s.dlt, dead{w.copy.id, w.reason})
	case lane.DoneMark, lane.TerminalMark, lane.ClaimMark, lane.ClaimRelease, lane.ChunkMark:
		s.checkMark(w.mark)
		s.land(w.mark)
	}
}

func (s *state) acknowledge(p *process, i int) {
	w := p.writes[i]
	s.appendWrite(&w)
	p.writes = remove(p.writes, i)
	p.done |= s.w.keysOf(w.mark)
	s.hist.done |= p.done
	switch {
	case w.kind == lane.TerminalMark:
		p.closed = p.closed.with(uint8(w.mark.id))
		s.hist.closed |= p.closed
		p.finished = p.finished.with(uint8(w.mark.id))
		p.careful = p.careful && w.mark.reason != lane.Crash
	case w.kind == lane.DoneMark:
		p.finished = p.finished.with(uint8(w.mark.id))
	case w.kind == lane.ChunkMark:
		for r := range s.w.records {
			if w.mark.bits.has(uint8(r)) {
				p.finished = p.finished.with(uint8(idOf(r, 0)))
			}
		}
	case w.kind == lane.DeadLetter:
		s.hist.ends(w.copy.id.record())
		if !s.w.remembers() {
			p.finished = p.finished.with(uint8(w.copy.id))
		}
	}
	if s.w.remembers() {
		s.hist.over |= p.finished
	}
	p.m.Acked(w.token, w.offset)
}

func (s *state) failWrite(p *process, i int, landed bool) {
	w := p.writes[i]
	if landed {
		s.appendWrite(&w)
	}
	p.writes = remove(p.writes, i)
	p.m.Failed(w.token, s.now)
}

// bequeath ends a process: its writes that are on their way land late, or, where the world has nothing late, those of the set
// have landed.
func (s *state) bequeath(p *process, set uint8) {
	n := 0
	for i := range p.writes {
		w := p.writes[i]
		if w.landed {
			continue
		}
		w.token = 0
		switch {
		case s.left.late > 0:
			s.late = insertLate(s.late, w)
		case set>>n&1 == 1:
			s.appendWrite(&w)
		}
		n++
	}
}

func (s *state) die(set uint8, commits bool) {
	p := s.owner
	s.hist.crashes++
	if commits {
		s.store(p.commit)
	}
	s.bequeath(p, set)
	s.owner = nil
}

// renew replaces the producer: what was on its way fails, and may have landed or land later all the same.
func (s *state) renew(p *process, set uint8) {
	s.left.renewals--
	s.bequeath(p, set)
	writes := p.writes
	p.writes = nil
	for _, w := range writes {
		p.m.Failed(w.token, s.now)
	}
	p.m.RenewTenure(s.now)
}

// operate appends a replay.
func (s *state) operate(a action) {
	if a.verb == replayAgain {
		s.left.again = false
		log := s.logs[lane.Replay]
		s.logs[lane.Replay] = put(log, log[len(log)-1])
		return
	}
	s.left.replays--
	id := idOf(int(a.a), s.nextRun(int(a.a)))
	s.logs[lane.Replay] = put(s.logs[lane.Replay], copyOf{id: id, force: a.b == 1})
}
