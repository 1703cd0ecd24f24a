//go:build drills

package main

// one is an edit in one place.
func one(old, new string) []edit { return []edit{{old, new}} }

func drills() []drill {
	var all []drill
	for _, group := range [][]drill{readDrills(), orderDrills(), outcomeDrills(), commitDrills(), claimDrills(), markDrills(), otherDrills()} {
		all = append(all, group...)
	}
	return all
}

func readDrills() []drill {
	return []drill{
		{rule: "R2", change: "terminal marks say nothing", file: "marks.go", wants: "L2",
			edits: one("if _, ok := k.dead[id]; ok {", "if _, ok := k.dead[id]; ok && false {")},
		{rule: "R3", change: "done marks say nothing", file: "marks.go", wants: "L2",
			edits: one("if k.mode == Off || !k.isDone(id, x, userKey) {", "if true || !k.isDone(id, x, userKey) {")},
		{rule: "R3", change: "force overrides the replay's own mark", file: "marks.go", wants: "L2", world: "replay-force",
			edits: one("if _, ok := k.own[id]; !ok {", "if true {")},
		{rule: "R4", change: "a greater copy of a busy record is a ghost", file: "read.go",
			edits: one("	case e.isBusy() && order < 0:\n		m.park(i, p, c, wasFetched)\n", "")},
		{rule: "R4", change: "a greater copy of an idle record is a ghost", file: "read.go",
			edits: one("case e.isBusy() || order > 0:", "case e.isBusy() || order != 0:")},
		{rule: "R4", change: "the later place is greater, whatever the hop", file: "forward.go",
			edits: one("	case e.hop != c.Hop:\n		return sign(int64(e.hop) - int64(c.Hop))\n", "")},
		{rule: "R4", change: "of equal hops the lower place is live", file: "forward.go", world: "broken-off", states: 2_000_000,
			edits: one("return sign(e.offset - c.Offset)", "return sign(c.Offset - e.offset)")},
		{rule: "R4", change: "a late copy is not noted in the index", file: "read.go", world: "late-two",
			edits: one("		if p != Source {\n			m.ids.add(m, i)", "		if false {\n			m.ids.add(m, i)")},
		{rule: "R5", change: "parked copies stay parked", file: "forward.go",
			edits: one("	m.unparkGreatest(i)\n	m.settle(old)", "	m.settle(old)")},
		{rule: "R5", change: "parked copies stay when the record ends", file: "read.go",
			edits: one("	m.settleParked(i)\n", "")},
		{rule: "R6", change: "a copy that was only scanned starts", file: "start.go",
			edits: one("e.state != idle || !e.has(fetched)", "e.state != idle")},
		{rule: "R6", change: "not only heads start", file: "start.go",
			edits: one("if !e.isHead() {\n			m.follow(i, e.prev)\n			return", "if !e.isHead() {\n			m.follow(i, e.prev)")},
		{rule: "R6", change: "a head starts beside a busy record behind it", file: "start.go", states: 2_000_000,
			edits: one("if m.keyIsHeld(i) {", "if false {")},
	}
}

func orderDrills() []drill {
	return []drill{
		{rule: "R7", change: "replays queue by their origin", file: "queue.go", world: "replay",
			edits: []edit{{"	if e.run > 0 {\n		return none\n	}\n", ""}, {"		if o.run > 0 {\n			continue\n		}\n", ""}}},
		{rule: "R7", change: "run-0 records queue by arrival", file: "queue.go",
			edits: one("	if e.run > 0 {\n		return none\n	}\n", "	if true {\n		return none\n	}\n")},
		{rule: "R8", change: "nobody follows", file: "forward.go", wants: "L",
			edits: one("case q.state == idle && q.part.rank() > e.part.rank():", "case false:")},
		{rule: "R8", change: "no exception for a full window", file: "forward.go", wants: "L7",
			edits: one("!q.has(fetched) && !m.tracker(e.part).Admits()", "false")},
		{rule: "R8", change: "a follower is due at once", file: "forward.go",
			edits: one("e.due = max(due, e.due)", "e.due = m.now")},
		{rule: "R10", change: "a record in a stage does not wait for the source", file: "start.go", wants: "L3",
			edits: one("return position <= e.origin && position < g.end", "return false")},
		{rule: "R10", change: "replays wait for the source, too", file: "start.go", wants: "L7", world: "replay",
			edits: one("if e.part < FirstStage || e.run > 0 {", "if e.part < FirstStage {")},
		{rule: "R10", change: "the end of an epoch does not count", file: "start.go", wants: "L7", world: "cut",
			edits: one("return position <= e.origin && position < g.end", "return position <= e.origin")},
		{rule: "R12", change: "two records of one idempotency key run", file: "claims.go", wants: "L8", world: "same",
			edits: one("	if j, ok := m.xbusy[x]; !ok || j == i {\n		return false\n	}\n	if !slices", "	if true {\n		return false\n	}\n	if !slices")},
		{rule: "R12", change: "a follower counts as busy", file: "claims.go", world: "same",
			edits: one("if s == following || !m.sharesX() {", "if !m.sharesX() {")},
		{rule: "R12", change: "no look at the marks before a start", file: "start.go", wants: "L2",
			edits: one("if m.recheck(i) || m.waitsForX(i) {", "if m.waitsForX(i) {")},
		{rule: "R12", change: "who waits for an idempotency key is not woken", file: "claims.go", wants: "L7", world: "same",
			edits: one("	for _, j := range m.xwait[x] {\n		m.enqueue(j)\n	}\n", "")},
	}
}

func outcomeDrills() []drill {
	return []drill{
		{rule: "R13", change: "done without a mark", file: "outcome.go", wants: "L1",
			edits: one("case m.cfg.Mode == Off:\n		m.count.Done++", "case true:\n		m.count.Done++")},
		{rule: "R14", change: "no terminal mark", file: "outcome.go", wants: "L",
			edits: one("	if m.cfg.Mode == Off {\n		m.count.Dead++\n", "	if true {\n		m.count.Dead++\n")},
		{rule: "R14", change: "the mark before the dlt copy", file: "outcome.go", wants: "R14",
			edits: one("	m.step(i, burying)\n	m.entries[i].arg = uint8(why)", "	m.step(i, closing)\n	m.entries[i].arg = uint8(why)")},
		{rule: "R15", change: "behind the last stage a record is exhausted", file: "outcome.go", wants: "L5",
			edits: one("if int(e.attempt) >= m.cfg.MaxAttempts {", "if int(e.attempt) >= m.cfg.MaxAttempts || int(e.part-FirstStage)+1 >= len(m.targets) && e.part >= FirstStage {")},
		{rule: "R16", change: "a snooze ends with the stage's delay", file: "start.go", wants: "L5", world: "snooze",
			edits: one("case x.until > m.now:", "case x.until > m.now && false:")},
		{rule: "R16", change: "a snooze uses an attempt", file: "outcome.go", wants: "L5", world: "snooze",
			edits: one("	e.snoozes++\n", "	e.snoozes++\n	e.attempt++\n")},
		{rule: "R17", change: "a write that failed is not made again", file: "write.go", wants: "L7",
			edits: one("	if !m.gone {\n		m.write(i)\n	}\n", "")},
		{rule: "R17", change: "a chunk that failed is not written again", file: "chunk.go", wants: "L7",
			edits: one("	m.timers.push(timer{at: m.now + backoff(w.fails), what: makeRef(n|chunkBit, seq)})\n", "")},
	}
}

func commitDrills() []drill {
	return []drill{
		{rule: "R20", change: "everything is admitted", file: "read.go", world: "window-1",
			edits: one("room := int64(t.Admit(int(copies[len(copies)-1].Offset + 1 - t.Position())))", "room := int64(len(copies))")},
		{rule: "R20", change: "nothing is withheld behind a ghost without room", file: "read.go", world: "window-1-ghost", states: 6_000_000,
			edits: one("if m.cfg.Mode == Off && m.mustWithhold(p) {", "if false {")},
		{rule: "R21", change: "the inherited set is not taken over", file: "machine.go",
			edits: one("p.Offset, p.Settled),", "p.Offset, offsets.Settled{}),")},
		{rule: "R24", change: "starts before the take-over commit is acked", file: "takeover.go",
			edits: one("	m.phase = Taking\n	m.commit.urgent = true\n", "	m.taken()\n	m.commit.urgent = true\n")},
		{rule: "R25", change: "the marks need not be scanned", file: "takeover.go", world: "",
			edits: one("if m.phase != Scanning || !m.marksIn {", "if m.phase != Scanning {")},
		{rule: "R25", change: "the parts need not be scanned", file: "takeover.go",
			edits: one("		if !m.parts[p].scanned {\n			return\n		}\n", "")},
		{rule: "R38", change: "what finished in the tenure is forgotten", file: "read.go", world: "",
			edits: one("if m.finishedHere(c.ID, p) {", "if false {")},
		{rule: "R38", change: "the source's own tracker does not tell", file: "read.go", world: "",
			edits: one("	t := m.tracker(Source)\n	return p != Source &&", "	t := m.tracker(Source)\n	return false && p != Source &&")},
		{rule: "R41", change: "the same offset is the same record", file: "read.go", world: "",
			edits: one("	return epoch == m.gens[id.Gen].epoch\n", "	return true\n")},
		{rule: "R41", change: "only what was read is held against the fork", file: "fetch.go", wants: "L1", world: "cut",
			edits: one("return max(t.Position(), t.Inherited())", "return t.Position()")},
		{rule: "R40", change: "another producer goes on under the old tenure", file: "commit.go", world: "renew",
			edits: one("m.number = max(m.number+1, now/1000)\n	m.renewal = true", "m.renewal = true")},
		{rule: "R40", change: "writes do not wait for the new tenure's commit", file: "commit.go", world: "renew",
			edits: one("	m.renewal = true\n", "	m.tenure = m.number\n")},
	}
}

func claimDrills() []drill {
	return []drill{
		{rule: "R29", change: "no claim", file: "start.go", wants: "C1", world: "claims",
			edits: one("case m.cfg.Mode == ClaimFirst:\n		m.claim(i)", "case m.cfg.Mode == ClaimFirst && false:\n		m.claim(i)")},
		{rule: "R29", change: "the key does not name the tries", file: "write.go", world: "claims",
			edits: one("w.Kind, w.Tries = ClaimMark, e.tries()", "w.Kind, w.Tries = ClaimMark, 0")},
		{rule: "R30", change: "open claims do not matter", file: "start.go", wants: "C1", world: "claims",
			edits: one("m.cfg.Mode == ClaimFirst && m.hasUnresolvedClaim(i)", "false")},
		{rule: "R30", change: "other records' claims do not matter", file: "claims.go", wants: "C1", world: "claims",
			edits: one("		if !m.resolved(k) {\n", "		if k.id == m.entries[i].id() && !m.resolved(k) {\n")},
		{rule: "R30", change: "the hop resolves", file: "claims.go", wants: "C1", world: "claims",
			edits: one("return j != none && m.entries[j].tries() > k.tries", "return j != none && m.entries[j].hop > k.tries")},
		{rule: "R30", change: "a copy with more tries does not resolve", file: "claims.go", wants: "C2", world: "claims",
			edits: one("return j != none && m.entries[j].tries() > k.tries", "return j != none && false")},
		{rule: "R30", change: "an uncertain end resolves", file: "claims.go", world: "claims",
			edits: one("ok && why != UncertainReason {", "ok {")},
		{rule: "R30", change: "a later run does not resolve", file: "claims.go", world: "claims",
			edits: one("	if m.marks.later[doneKey{k.id.Offset, k.id.Gen}] > k.id.Run {\n		return true // an operator decided\n	}\n", "")},
		{rule: "R31", change: "no fence", file: "claims.go", world: "claims",
			edits: one("	m.step(i, fencing)\n	m.commit.awaiting = append(m.commit.awaiting, i)\n	m.commit.urgent = true\n", "	m.start(i)\n")},
		{rule: "R31", change: "a commit that was sent before the ack is fence enough", file: "claims.go", world: "claims",
			edits: one("	x.claim, x.fails = true, 0\n	x.fence = m.commit.sent + 1\n", "	x.claim, x.fails = true, 0\n	x.fence = m.commit.sent\n")},
		{rule: "R12", change: "no look at the marks behind the fence", file: "claims.go", world: "claims",
			edits: one("m.userX(i), e.has(hasX), e.has(forced)); v != isFresh {", "m.userX(i), e.has(hasX), e.has(forced)); v != isFresh && false {")},
		{rule: "R32", change: "cancelled handlers are released, too", file: "outcome.go", wants: "C1", world: "claims",
			edits: one("x.claim && unstarted {", "x.claim {")},
	}
}

func markDrills() []drill {
	return []drill{
		{rule: "R39", change: "two writes of a chunk in flight", file: "chunk.go",
			edits: one("if w.inFlight || len(w.waiting) == 0 {", "if len(w.waiting) == 0 {")},
		{rule: "R39", change: "an ack settles what waits, too", file: "chunk.go", wants: "L",
			edits: one("	w.inFlight, w.fails = false, 0\n", "	w.inFlight, w.fails = false, 0\n	w.carried, w.waiting = append(w.carried, w.waiting...), nil\n")},
		{rule: "R39", change: "a bit that waits counts", file: "chunk.go",
			edits: one("	c.write.waiting = append(c.write.waiting, i)\n", "	c.write.waiting = append(c.write.waiting, i)\n	c.bits.Set(int(e.origin % dedupe.ChunkSize))\n")},
		{rule: "R39", change: "the newest tenure's chunk is the truth", file: "marks.go", wants: "L",
			edits: one("		c.bits.Or(k.Bits)\n", "		c.bits = *k.Bits\n")},
		{rule: "R39", change: "the tenure is not in the key", file: "chunk.go", wants: "L2",
			edits: one("Bits: w.sent, Tenure: m.tenure,", "Bits: w.sent, Tenure: 1,")},
		{rule: "R39", change: "a write carries only its own bits", file: "chunk.go", wants: "L2",
			edits: one("	w.sent = c.bits\n", "	w.sent = dedupe.Bits{}\n")},
		{rule: "R40", change: "tenures count from the commit alone, one back", file: "takeover.go",
			edits: one("m.number = max(m.number+1, m.now/1000)", "m.number = max(m.number, 1)")},
	}
}

func otherDrills() []drill {
	return []drill{
		{rule: "R34", change: "unclean lives are not counted", file: "suspects.go", world: "killer",
			edits: one("s.unclean = l.Unclean + 1", "s.unclean = l.Unclean")},
		{rule: "R35", change: "the first death convicts", file: "suspects.go", wants: "R35", world: "killer",
			edits: one("	if s.has(s.running) {\n		s.convict", "	if true {\n		s.convict")},
		{rule: "R35", change: "a careful lane runs several", file: "suspects.go", wants: "R35", world: "careful",
			edits: one("case m.busyWithWork():", "case false:")},
		{rule: "R36", change: "a mark above the committed offset is forgotten", file: "forget.go", world: "forget",
			edits: one("!m.isCommitted(k.ID.Gen, k.ID.Offset) ||", "")},
		{rule: "R43", change: "a stage that is not configured is no part", file: "machine.go", world: "dropped",
			edits: one("	m.parts[Source].scanned = true\n", "	m.parts[Source].scanned = true\n	for i, s := range m.cfg.Stages {\n		m.parts[int(FirstStage)+i].scanned = m.parts[int(FirstStage)+i].scanned || !s.Target\n	}\n")},
	}
}
