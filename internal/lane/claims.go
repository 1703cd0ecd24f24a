package lane

import (
	"slices"

	"github.com/laneway-go/laneway/dedupe"
)

// claim says that a handler was about to run for an idempotency key (R29). Nobody knows whether it had its effect until the
// claim is resolved.
type claim struct {
	id     ID
	tries  uint32
	tenure int64
}

// userX returns the hash of an entry's user-given idempotency key.
func (m *Machine) userX(i int32) dedupe.Hash {
	if m.entries[i].has(hasX) {
		return m.x[i]
	}
	return dedupe.Hash{}
}

// xKey returns what all identities of one idempotency key have in common. The origin stands for itself; its second word has a
// bit pattern that a 128-bit hash meets with a chance of 2^-32 at most and then only at that very offset.
func (m *Machine) xKey(id ID, x dedupe.Hash, userKey bool) dedupe.Hash {
	if userKey {
		return x
	}
	return dedupe.Hash{uint64(id.Offset), 0xFEED_FACE<<32 | uint64(id.Gen)}
}

func (m *Machine) entryX(i int32) dedupe.Hash {
	e := &m.entries[i]
	return m.xKey(e.id(), m.userX(i), e.has(hasX))
}

// sharesX says whether two identities of the lane may have one idempotency key at all. With the default key only the runs of
// one origin do.
func (m *Machine) sharesX() bool { return m.cfg.UserKeys || m.replays > 0 }

// takeX notes that an entry becomes busy (R12). A follower does not count, nor does one that is only passed on, or buried,
// while another one of its idempotency key runs: the key stays that one's until its step ends.
func (m *Machine) takeX(i int32, s state) {
	if s == following || !m.sharesX() {
		return
	}
	if x := m.entryX(i); m.isFreeX(x) {
		m.xbusy[x] = i
	}
}

func (m *Machine) isFreeX(x dedupe.Hash) bool {
	_, taken := m.xbusy[x]
	return !taken
}

// freeX notes that an entry is busy no more; whoever waited for its idempotency key is looked at again.
func (m *Machine) freeX(i int32) {
	if !m.sharesX() {
		return
	}
	x := m.entryX(i)
	if j, ok := m.xbusy[x]; !ok || j != i {
		return
	}
	delete(m.xbusy, x)
	for _, j := range m.xwait[x] {
		m.enqueue(j)
	}
	delete(m.xwait, x)
}

// waitsForX says whether another identity with the entry's idempotency key is busy; the entry then waits without a slot.
func (m *Machine) waitsForX(i int32) bool {
	if !m.sharesX() {
		return false
	}
	x := m.entryX(i)
	if j, ok := m.xbusy[x]; !ok || j == i {
		return false
	}
	if !slices.Contains(m.xwait[x], i) {
		m.xwait[x] = append(m.xwait[x], i)
	}
	return true
}

// countReplay counts a replay in. The first one makes run-0 records share their key with somebody: the busy ones are noted.
func (m *Machine) countReplay() {
	m.replays++
	if m.replays > 1 || m.cfg.UserKeys {
		return
	}
	clear(m.xbusy)
	for i := range m.entries {
		if e := &m.entries[i]; e.holdsKey() {
			m.xbusy[m.entryX(int32(i))] = int32(i)
		}
	}
}

// claim writes that the handler is about to run (R29).
func (m *Machine) claim(i int32) {
	m.step(i, claiming)
	x := m.ext(i)
	x.tries, x.named = m.entries[i].tries(), m.tenure
	m.setExt(i, x)
	m.write(i)
}

// claimed goes on after the claim was acknowledged: a commit that is sent from now on has to succeed before the start (R31).
func (m *Machine) claimed(i int32) {
	x := m.ext(i)
	x.claim, x.fails = true, 0
	x.fence = m.commit.sent + 1
	m.setExt(i, x)
	m.addClaim(m.entryX(i), claim{id: m.entries[i].id(), tries: x.tries, tenure: x.named})
	m.step(i, fencing)
	m.commit.awaiting = append(m.commit.awaiting, i)
	m.commit.urgent = true
}

// fenced goes on after such a commit has succeeded. The marks are looked at again (R12).
func (m *Machine) fenced(i int32) {
	e := &m.entries[i]
	if m.phase != Running {
		m.step(i, releasing)
		m.write(i)
		return
	}
	if v := m.marks.verdict(m, e.id(), m.userX(i), e.has(hasX), e.has(forced)); v != isFresh {
		m.forgetClaims(i)
		m.endBy(i, v)
		return
	}
	m.start(i)
}

// released ends a give-up's release of a claim (R32): the record is unsettled, and free of the claim.
func (m *Machine) released(i int32) {
	x := m.ext(i)
	m.dropClaim(m.entryX(i), claim{id: m.entries[i].id(), tries: x.tries, tenure: x.named})
	x.claim, x.fails = false, 0
	m.setExt(i, x)
	m.step(i, idle)
}

func (m *Machine) addClaim(x dedupe.Hash, c claim) {
	if !slices.Contains(m.marks.claims[x], c) {
		m.marks.claims[x] = append(m.marks.claims[x], c)
	}
}

func (m *Machine) dropClaim(x dedupe.Hash, c claim) {
	m.keepClaims(x, func(k claim) bool { return k != c })
}

// forgetClaims drops the claims of an entry that its state resolves: it is done or dead, or it has used more tries.
func (m *Machine) forgetClaims(i int32) {
	if m.cfg.Mode != ClaimFirst {
		return
	}
	e := &m.entries[i]
	id, tries, ended := e.id(), e.tries(), e.isBusy()
	m.keepClaims(m.entryX(i), func(k claim) bool { return k.id != id || !ended && k.tries >= tries })
	if e.has(extended) {
		x := m.ext(i)
		x.claim = false
		m.setExt(i, x)
	}
}

func (m *Machine) keepClaims(x dedupe.Hash, keep func(claim) bool) {
	kept := slices.DeleteFunc(m.marks.claims[x], func(k claim) bool { return !keep(k) })
	if len(kept) == 0 {
		delete(m.marks.claims, x)
		return
	}
	m.marks.claims[x] = kept
}

// hasUnresolvedClaim says whether somebody, the entry itself included, may have had the effect of its idempotency key without
// a mark (R30).
func (m *Machine) hasUnresolvedClaim(i int32) bool {
	for _, k := range m.marks.claims[m.entryX(i)] {
		if !m.resolved(k) {
			return true
		}
	}
	return false
}

func (m *Machine) resolved(k claim) bool {
	if why, ok := m.marks.dead[k.id]; ok && why != UncertainReason {
		return true
	}
	if m.marks.later[doneKey{k.id.Offset, k.id.Gen}] > k.id.Run {
		return true // an operator decided
	}
	j := m.known(k.id, FirstStage)
	return j != none && m.entries[j].tries() > k.tries
}
