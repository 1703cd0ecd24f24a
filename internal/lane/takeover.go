package lane

// Scanned hands in copies that the take-over's scan found in a part: their payload is not needed (R25).
func (m *Machine) Scanned(p Part, copies []Copy) {
	for n := range copies {
		c := &copies[n]
		if c.ID.Run > 0 {
			m.marks.sawRun(c.ID)
		}
		if !m.tracker(p).Settled(c.Offset) {
			m.read(p, c, false)
		}
	}
}

// PartScanned tells that a part has been scanned to its present end.
func (m *Machine) PartScanned(p Part) { m.parts[p].scanned = true }

// MarksScanned tells that the idempotency partition has been scanned to its present end.
func (m *Machine) MarksScanned() { m.marksIn = true }

// checkTakeover goes on when all scans are complete: nothing starts and nothing is forwarded before that (R25), nor before
// the take-over commit with the tenure's number is acknowledged (R24, R34, R40).
func (m *Machine) checkTakeover() {
	if m.phase != Scanning || !m.marksIn {
		m.outlived()
		return
	}
	for p := range m.parts {
		if !m.parts[p].scanned {
			return
		}
	}
	m.sweep()
	m.number = max(m.number+1, m.now/1000)
	m.phase = Taking
	m.commit.urgent = true
}

// sweep ends the copies whose identity or idempotency key the marks, which may have been scanned after them, say finished.
func (m *Machine) sweep() {
	for i := range m.entries {
		e := &m.entries[i]
		if e.state != idle {
			continue
		}
		m.recheck(int32(i))
	}
}

// taken begins the tenure.
func (m *Machine) taken() {
	m.tenure = m.number
	m.phase = Running
	m.workAll()
}

// Lost ends the tenure at once: the lane is somebody else's. Nothing is written or committed any more (R23).
func (m *Machine) Lost() { m.phase = Closed }

// GiveUp ends the tenure in good order: no start and no fetch from now on; what is under way ends, then one last commit is
// sent. The driver cancels handlers at its deadline, and calls Abandon when even that did not help.
func (m *Machine) GiveUp() {
	switch m.phase {
	case Scanning:
		m.phase = Closed
	case Taking, Running:
		m.phase = Giving
	case Giving, Leaving, Closed:
	}
}

// Abandon stops waiting for handlers and writes during a give-up: the last commit says what is settled now.
func (m *Machine) Abandon() {
	if m.phase == Giving {
		m.gone = true
	}
}

// checkGiveUp sends the last commit once nothing is under way any more.
func (m *Machine) checkGiveUp() {
	if m.phase != Giving || m.commit.inFlight || m.busy > 0 && !m.gone {
		return
	}
	m.phase = Leaving
	m.commit.urgent = true
}
