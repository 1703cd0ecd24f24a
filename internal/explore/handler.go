package main

import "github.com/laneway-go/laneway/internal/lane"

// start begins a handler call.
func (s *state) start(p *process, st *lane.Start, who uint8) {
	from, ok := st.Payload.(value)
	if !ok {
		broken("L4: a handler starts without its record")
	}
	c, part, offset := s.valueOf(from)
	s.checkStart(p, c, part, offset, who)
	s.hist.calls[c.id]++
	if s.began < 0 {
		s.began = int(p.ends[lane.Source])
	}
	if s.w.mode == lane.ClaimFirst {
		s.hist.maybe = s.hist.maybe.with(s.w.xOf(c.id))
	}
	p.calls = append(p.calls, call{st.Ref, c.id})
}

// giveBack lets a handler return.
func (s *state) giveBack(p *process, a action) {
	c := p.calls[a.a]
	p.calls = remove(p.calls, int(a.a))
	o := lane.Outcome{}
	harmless := true
	switch a.b {
	case retOK:
		harmless = false
		s.hist.effects = s.hist.effects.with(uint8(c.id))
		if a.who == 0 {
			s.hist.ends(c.id.record())
		}
		if !s.w.remembers() {
			p.finished = p.finished.with(uint8(c.id))
		}
	case retFail:
		o.Kind = lane.Retry
	case retPermanent:
		o.Kind, o.Reason = lane.Dead, lane.Permanent
	case retSkip:
		o.Kind = lane.Skip
		s.hist.skipped = s.hist.skipped.with(uint8(c.id))
	case retUnsure:
		harmless = false
		o.Kind = lane.Retry
		if s.w.mode == lane.ClaimFirst {
			o.Kind, o.Reason = lane.Dead, lane.UncertainReason
		}
	case retAborted:
		harmless = false
		o.Kind = lane.Aborted
		s.hist.calls[c.id]-- // not counted
	case retUnstarted:
		o.Kind = lane.Unstarted
		s.hist.calls[c.id]--
	default:
		s.left.snoozed--
		o.Kind, o.Until = lane.Snooze, s.now+s.w.snoozes[a.b-retSnooze]
	}
	if harmless {
		s.hist.maybe = s.hist.maybe.minus(s.w.xOf(c.id))
	}
	if a.b == retOK && len(p.calls)%2 == 0 {
		p.m.ReturnedOK([]lane.Ref{c.ref})
		return
	}
	if !p.m.Returned(c.ref, o) {
		broken("the machine does not know the call of %s any more", s.w.title(c.id))
	}
}
