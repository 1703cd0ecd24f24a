package main

import "github.com/laneway-go/laneway/internal/lane"

// verb is what happens in a step.
type verb uint8

const (
	takeOver     verb = iota // somebody becomes the owner
	scanPart                 // a: part; the marks are part 7
	scanAll                  // everything, in one of two orders
	fetch                    // a: part, b: copies
	giveBack                 // a handler returns; a: call, b: outcome
	append_                  // a write lands, its answer is on its way
	acknowledge              // a write lands, if it has not, and is answered
	fail                     // a write is reported as failed; b: 1 if it had landed
	refuse                   // a forward is too large for its topic
	sendCommit               // a snapshot goes out
	storeCommit              // it is stored and answered
	loseAnswer               // it is stored, nobody hears of it
	refuseCommit             // it is not stored
	storePart                // the broker stores the source part only (a: 1), or only the others, and says so
	forget                   // the owner forgets a mark for its age, and its tombstone lands; a: mark
	tick                     // time passes, to the next moment that the owner waits for
	crash                    // the owner dies; a: which of its writes land all the same, b: 1 if its commit does
	lose                     // the owner does not know that it is none any more
	end                      // the zombie is gone
	giveUp                   // the owner is told to give up the lane
	abandon                  // … and stops waiting
	renew                    // the owner's producer is replaced
	land                     // a late write of a dead owner lands
	replay                   // an operator replays; a: record, b: 1 with force
	replayAgain              // the last replay is sent once more
	elect                    // an unclean election cuts the source, or it is created anew
	notice                   // the owner hears of it
	arrive                   // a record is produced to the source
)

// scanned for the marks among the parts.
const marksPart = 7

// action is one step that is possible in a state. who: 0 the owner, 1 the zombie.
type action struct {
	verb verb
	who  uint8
	a, b uint8
}

// outcomeOf are the values of an action's b in giveBack.
const (
	retOK uint8 = iota
	retFail
	retPermanent
	retSkip
	retUnsure
	retAborted
	retUnstarted
	retSnooze // and above: which of the world's snoozes
)

// actions appends all steps that are possible. The first of them make progress; those of the environment follow.
func (s *state) actions(list []action) (all []action, progress int) {
	if s.owner == nil {
		list = append(list, action{verb: takeOver})
	} else {
		list = s.ownerActions(list, 0)
	}
	progress = len(list)
	if s.zombie != nil && s.left.zombie > 0 {
		list = s.ownerActions(list, 1)
	}
	return s.environment(list), progress
}

// ownerActions appends what a process can do or be told.
func (s *state) ownerActions(list []action, who uint8) []action {
	p := *s.who(who)
	if p.version != s.version {
		list = append(list, action{verb: notice, who: who})
	}
	list = s.readActions(list, p, who)
	for i, c := range p.calls {
		list = s.returns(list, p, who, uint8(i), c.id)
	}
	for i := range p.writes {
		list = append(list, action{acknowledge, who, uint8(i), 0})
	}
	switch {
	case p.commit != nil && who == 0 && p.version == s.version:
		list = append(list, action{verb: storeCommit, who: who})
	case p.commit != nil:
		list = append(list, action{verb: refuseCommit, who: who})
	case p.m.WantsCommit() == lane.CommitNow:
		list = append(list, action{verb: sendCommit, who: who})
	}
	if s.w.killer != 0 && s.left.crashes > 0 && s.mayDie(p) {
		list = s.deaths(list, crash, p)
	}
	if at, waits := p.m.NextWake(); waits && at > s.now && who == 0 {
		list = append(list, action{verb: tick})
	}
	return list
}

// readActions appends the scans and fetches.
func (s *state) readActions(list []action, p *process, who uint8) []action {
	switch p.m.Phase() {
	case lane.Scanning:
		if !s.w.fine {
			return append(list, action{scanAll, who, 0, 0}, action{scanAll, who, 1, 0})
		}
		for part := 1; part < s.w.parts(); part++ {
			if p.scanned>>part&1 == 0 {
				list = append(list, action{scanPart, who, uint8(part), 0})
			}
		}
		if p.scanned>>marksPart&1 == 0 && s.w.remembers() {
			list = append(list, action{scanPart, who, marksPart, 0})
		}
	case lane.Running:
		for part := range s.w.parts() {
			if part == 0 && p.version != s.version || p.m.Fetch(lane.Part(part)) != lane.Open {
				continue
			}
			for n := 1; n <= len(s.logs[part])-int(p.m.Position(lane.Part(part))); n++ {
				list = append(list, action{fetch, who, uint8(part), uint8(n)})
			}
		}
	case lane.Taking, lane.Giving, lane.Leaving, lane.Closed:
	}
	return list
}

// returns appends the ways in which a handler can return.
func (s *state) returns(list []action, p *process, who, i uint8, id identity) []action {
	if s.w.killer == id.record()+1 {
		return list // it never does
	}
	add := func(allowed bool, b uint8) {
		if allowed {
			list = append(list, action{giveBack, who, i, b})
		}
	}
	o := s.w.outcomes
	add(o&ok != 0 && !s.w.records[id.record()].poison, retOK)
	add(o&fails != 0, retFail)
	add(o&permanent != 0, retPermanent)
	add(o&skips != 0, retSkip)
	add(o&unsure != 0, retUnsure)
	if s.left.snoozed > 0 {
		for n := range s.w.snoozes {
			add(true, retSnooze+uint8(n))
		}
	}
	if phase := p.m.Phase(); phase == lane.Giving || phase == lane.Leaving {
		add(true, retAborted)
		add(true, retUnstarted)
	}
	return list
}

// environment appends what may happen to the processes and the broker.
func (s *state) environment(list []action) []action {
	if s.owner != nil {
		list = s.ownerTrouble(list)
	}
	if s.zombie != nil {
		list = append(list, action{verb: end, who: 1})
	}
	if s.left.late > 0 {
		for i := range s.late {
			list = append(list, action{land, 0, uint8(i), 0})
		}
	}
	list = s.operator(list)
	if s.version+1 < len(s.w.logs) {
		list = append(list, action{verb: elect})
	}
	if s.present < len(s.w.logs[s.version]) {
		list = append(list, action{verb: arrive})
	}
	return list
}

// ownerTrouble appends what may go wrong for the owner.
func (s *state) ownerTrouble(list []action) []action {
	p := s.owner
	for i := range p.writes {
		w := &p.writes[i]
		if !w.landed && (w.kind == lane.Forward || s.w.giveUps > 0 || len(s.w.logs) > 1) {
			list = append(list, action{append_, 0, uint8(i), 0})
			if s.left.refused > 0 && w.kind == lane.Forward {
				list = append(list, action{refuse, 0, uint8(i), 0})
			}
		}
		if s.left.broken > 0 {
			if !w.landed {
				list = append(list, action{fail, 0, uint8(i), 0})
			}
			list = append(list, action{fail, 0, uint8(i), 1})
		}
	}
	switch {
	case p.commit != nil && s.left.unheard > 0:
		list = append(list, action{verb: loseAnswer}, action{verb: refuseCommit})
	case p.commit != nil && s.left.partly > 0:
		list = append(list, action{storePart, 0, 0, 0}, action{storePart, 0, 1, 0})
	case p.commit == nil && p.soon > 0 && p.m.WantsCommit() == lane.CommitSoon:
		list = append(list, action{verb: sendCommit})
	}
	if s.left.forgets > 0 {
		for i, k := range s.marks {
			if p.m.MayForget(s.w.forMachine(p.m, k), forever) {
				list = append(list, action{forget, 0, uint8(i), 0})
			}
		}
	}
	if s.w.killer == 0 && s.left.crashes > 0 || s.left.kills > 0 && !s.mayDie(p) {
		list = s.deaths(list, crash, p)
	}
	if s.left.losses > 0 && s.zombie == nil {
		list = append(list, action{verb: lose})
	}
	switch p.m.Phase() {
	case lane.Scanning, lane.Taking, lane.Running:
		if s.left.giveUps > 0 {
			list = append(list, action{verb: giveUp})
		}
		if s.left.renewals > 0 && p.m.Phase() == lane.Running {
			list = s.deaths(list, renew, p)
		}
	case lane.Giving:
		list = append(list, action{verb: abandon})
	case lane.Leaving, lane.Closed:
	}
	return list
}

// mayDie says whether the killer of a world runs.
func (s *state) mayDie(p *process) bool {
	for _, c := range p.calls {
		if c.id.record()+1 == s.w.killer {
			return true
		}
	}
	return false
}

// deaths appends the ways in which what a process had on its way ends: any of its writes may have landed. Where dead owners'
// writes may come late, they do that instead.
func (s *state) deaths(list []action, v verb, p *process) []action {
	loose := 0
	for i := range p.writes {
		if !p.writes[i].landed {
			loose++
		}
	}
	if s.left.late > 0 {
		loose = 0
	}
	for set := range 1 << min(loose, 4) {
		list = append(list, action{v, 0, uint8(set), 0})
		if v == crash && p.commit != nil && p.version == s.version {
			list = append(list, action{v, 0, uint8(set), 1})
		}
	}
	return list
}

// operator appends the replays that may be asked for.
func (s *state) operator(list []action) []action {
	if s.left.replays > 0 {
		for r := range s.w.records {
			if s.mayReplay(r) {
				list = append(list, action{replay, 0, uint8(r), 0})
				if s.w.force {
					list = append(list, action{replay, 0, uint8(r), 1})
				}
			}
		}
	}
	if s.left.again && len(s.logs[lane.Replay]) > 0 {
		list = append(list, action{verb: replayAgain})
	}
	return list
}

// mayReplay says whether a record can be replayed: it is in the dlt, or was done, and has a life left.
func (s *state) mayReplay(r int) bool {
	if s.nextRun(r) >= runs {
		return false
	}
	if s.w.anytime && s.hist.effects.has(uint8(idOf(r, 0))) {
		return true
	}
	for _, d := range s.dlt {
		if d.id.record() == r {
			return true
		}
	}
	return false
}

// nextRun returns the number of a record's next life.
func (s *state) nextRun(r int) int {
	run := 1
	for _, c := range s.logs[lane.Replay] {
		if c.id.record() == r {
			run = max(run, c.id.run()+1)
		}
	}
	return run
}
