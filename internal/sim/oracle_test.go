//go:build synctests

package sim_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// verdicts collects what a world did wrong.
type verdicts struct {
	w     *world
	found []string
	calls []*call
	of    map[*record][]*call // by start
	dead  map[*record][]seen
	held  map[*record][]seen // copies in the stages
	marks map[string][]time.Time
	stats stats
}

func (v *verdicts) badly(rule, format string, args ...any) {
	if len(v.found) < 12 {
		v.found = append(v.found, rule+": "+fmt.Sprintf(format, args...))
	}
}

// judge checks everything that must hold once a world has come to rest.
func (w *world) judge() *verdicts {
	v := &verdicts{w: w, of: map[*record][]*call{}, dead: map[*record][]seen{}, held: map[*record][]seen{}, marks: map[string][]time.Time{}}
	w.watch.look()
	w.ledger.mu.Lock()
	v.calls = slices.Clone(w.ledger.calls)
	w.ledger.mu.Unlock()
	for _, c := range v.calls {
		v.of[c.rec] = append(v.of[c.rec], c)
	}
	v.collect()
	v.found = append(v.found, w.watch.shrunk...)
	for _, r := range w.plan {
		v.loss(r)
		v.attempts(r)
		v.early(r)
	}
	v.repeats()
	v.order()
	v.overlaps()
	v.count()
	return v
}

func (v *verdicts) collect() {
	at := map[logPlace]*record{}
	_ = at
	byOrigin := map[[2]int64]*record{}
	for _, r := range v.w.plan {
		byOrigin[[2]int64{int64(r.partition), r.offset}] = r
	}
	v.w.watch.copies(func(role retrytopics.Role, s seen) {
		if s.bad != nil || s.env.Origin.Topic != sourceTopic {
			return
		}
		r := byOrigin[[2]int64{int64(s.env.Origin.Partition), s.env.Origin.Offset}]
		switch {
		case r == nil:
			v.badly("L1", "copy in %s/%d@%d of a record that does not exist: %s", s.Topic, s.Partition, s.Offset, s.env.Origin)
		case role == retrytopics.RoleDLT:
			v.dead[r] = append(v.dead[r], s)
		default:
			v.held[r] = append(v.held[r], s)
		}
	})
	user := !v.w.cfg.topic.Idempotency.Key.Default()
	for p := range v.w.cfg.partitions {
		v.w.watch.marks(int32(p), func(m *dedupe.Mark, s seen) {
			switch {
			case m.Tombstone:
			case m.Kind == dedupe.Done && user:
				v.marks[string(m.Key)] = append(v.marks[string(m.Key)], s.at)
			case m.Kind == dedupe.Dense:
				for _, r := range v.w.plan {
					if int(r.partition) == p && r.offset/dedupe.ChunkSize == m.Chunk.Index && m.Bits.Has(int(r.offset%dedupe.ChunkSize)) {
						v.marks[r.x] = append(v.marks[r.x], s.at)
					}
				}
			}
		})
	}
}

// loss checks that a record has taken effect, was skipped, or lies in the dlt (L1).
func (v *verdicts) loss(r *record) {
	if r.offset < 0 || v.hasEffect(r.x) || len(v.dead[r]) > 0 {
		return
	}
	for _, c := range v.of[r] {
		if c.ending == skipped {
			return
		}
	}
	v.badly("L1", "%s is lost: %s", v.name(r), v.story(r))
}

func (v *verdicts) hasEffect(x string) bool {
	for _, c := range v.calls {
		if c.ending == effect && c.rec.x == x {
			return true
		}
	}
	return false
}

// attempts checks that a record went to the dlt for the right reason, and only after its last attempt (L5).
func (v *verdicts) attempts(r *record) {
	for _, d := range v.dead[r] {
		switch d.env.Reason {
		case retrytopics.ReasonPermanent:
			v.want(r, d, r.will == permanent)
		case retrytopics.ReasonExhausted:
			most := v.w.cfg.topic.Retry.WithDefaults().MaxAttempts
			for n := 1; n <= most; n++ {
				if !v.called(r, func(c *call) bool { return c.attempt == n && c.ending != effect }) {
					v.badly("L5", "%s is exhausted without attempt %d: %s", v.name(r), n, v.story(r))
				}
			}
		case retrytopics.ReasonUncertain:
			v.want(r, d, v.w.cfg.topic.Idempotency.Mode == processor.ClaimFirst && (v.w.cfg.disturbed || v.doubtful(r.x)))
		case retrytopics.ReasonCrash:
			v.want(r, d, v.w.cfg.disturbed)
		default:
			v.badly("L1", "%s is in the dlt for %q: %s", v.name(r), d.env.Reason, v.story(r))
		}
	}
}

func (v *verdicts) want(r *record, d seen, ok bool) {
	if !ok {
		v.badly("L5", "%s must not be in the dlt for %q: %s", v.name(r), d.env.Reason, v.story(r))
	}
}

// doubtful says whether a call of an idempotency key ended without saying whether the effect took place.
func (v *verdicts) doubtful(x string) bool {
	return slices.ContainsFunc(v.calls, func(c *call) bool { return c.rec.x == x && c.ambiguous() })
}

func (v *verdicts) called(r *record, is func(*call) bool) bool {
	return slices.ContainsFunc(v.of[r], is)
}

func (c *call) ambiguous() bool {
	switch c.ending {
	case panicked, timedOut, abandoned, uncertain, died:
		return true
	}
	return false
}

// early checks that no call came before the delay after the one before it was over (L5).
func (v *verdicts) early(r *record) {
	tiers := v.w.cfg.topic.Retry.WithDefaults().Tiers
	for _, c := range v.of[r] {
		if c.attempt == 1 && c.snoozes == 0 {
			continue
		}
		ok := v.called(r, func(b *call) bool {
			switch {
			case b.run != c.run || !b.end.Before(c.start):
				return false
			case b.attempt == c.attempt && b.snoozes == c.snoozes-1:
				return b.ending == snoozed && !c.start.Before(b.end.Add(r.wait-time.Millisecond))
			case b.attempt == c.attempt-1 && b.snoozes == c.snoozes:
				delay := tiers[min(b.attempt, len(tiers))-1]
				return !c.start.Before(b.end.Add(delay - time.Millisecond))
			}
			return false
		})
		// A call that is given up goes on without the handler: nobody sees when.
		ok = ok || v.called(r, func(b *call) bool { return b.isDeaf() || b.ending == timedOut })
		if !ok {
			v.badly("L5", "%s, attempt %d, started too early at %s: %s", v.name(r), c.attempt, v.w.clock(c.start), v.story(r))
		}
	}
}

// repeats checks effects against the marks (L2) and claims (C1).
func (v *verdicts) repeats() {
	effects := map[string][]*call{}
	for _, c := range v.calls {
		if c.ending == effect {
			effects[c.rec.x] = append(effects[c.rec.x], c)
		}
	}
	mode := v.w.cfg.topic.Idempotency.Mode
	for x, all := range effects {
		if len(all) > 1 {
			v.stats.repeats += len(all) - 1
			if mode == processor.ClaimFirst {
				v.badly("C1", "%d effects of %s: %s", len(all), x, v.story(all[0].rec))
			}
			if !v.w.cfg.disturbed {
				v.badly("L2", "%d effects of %s in a world where nobody dies: %s", len(all), x, v.story(all[0].rec))
			}
		}
		for i, b := range all {
			for _, a := range all[:i] {
				if a.member == b.member && a.fence == b.fence && a.rec.partition == b.rec.partition {
					v.badly("L2", "%s took effect twice in one tenure: %s", x, v.story(b.rec))
				}
			}
		}
	}
	if mode == processor.DedupeOff {
		return
	}
	for _, c := range v.calls {
		owned := v.w.watch.ownedUntil(c.rec.partition, c.fence)
		for _, at := range v.marks[c.rec.x] {
			if at.Before(owned) && at.Before(c.start) {
				v.badly("L2", "%s ran at %s in tenure %d, which knew of its mark of %s: %s", v.name(c.rec), v.w.clock(c.start), c.fence, v.w.clock(at), v.story(c.rec))
				break
			}
		}
	}
}

// final says whether a call ended its record, as far as the handler's word goes.
func (v *verdicts) final(c *call) bool {
	switch c.ending {
	case effect, ended, skipped:
		return true
	}
	return false
}

// order checks that no record overtook an earlier one of its key (L3).
func (v *verdicts) order() {
	queues := v.queues()
	for _, q := range queues {
		for i, r := range q {
			for _, c := range v.of[r] {
				for _, earlier := range q[:i] {
					v.overtaken(earlier, r, c)
				}
			}
		}
	}
}

// queues returns the records that must not overtake each other.
func (v *verdicts) queues() map[string][]*record {
	queues := map[string][]*record{}
	for _, r := range v.w.plan {
		switch {
		case r.offset < 0:
		case v.w.cfg.topic.Ordering == processor.OrderByKey && r.key != "":
			k := fmt.Sprint(r.partition, "/", r.key)
			queues[k] = append(queues[k], r)
		case v.w.cfg.topic.Ordering == processor.OrderByPartition:
			k := fmt.Sprint(r.partition)
			queues[k] = append(queues[k], r)
		}
	}
	for _, q := range queues {
		slices.SortFunc(q, func(a, b *record) int { return cmp.Compare(a.offset, b.offset) })
	}
	return queues
}

// overtaken checks a call of r against the record q before it.
func (v *verdicts) overtaken(q, r *record, c *call) {
	if !v.settledBy(q, c.start) {
		v.badly("L3", "%s started at %s before %s had ended: %s || %s", v.name(r), v.w.clock(c.start), v.name(q), v.story(q), v.story(r))
	}
	for _, e := range v.of[q] {
		if !e.start.After(c.start) || e.fence < c.fence {
			continue
		}
		if e.fence > c.fence && v.w.cfg.topic.Idempotency.Mode == processor.DedupeOff {
			continue // without marks a crash repeats both, in their order
		}
		if v.w.cfg.topic.Idempotency.Mode == processor.DedupeOff && v.endedBefore(q, c) {
			continue // without marks, a forward of a dead owner that lands late revives a record that has finished since
		}
		if e.fence == c.fence || !v.w.watch.lastCommit(c.rec.partition, c.fence).Before(c.start) {
			v.badly("L3", "%s ran at %s, after %s at %s: %s || %s", v.name(q), v.w.clock(e.start), v.name(r), v.w.clock(c.start), v.story(q), v.story(r))
		}
	}
}

// endedBefore says whether a record had ended in a tenure before that of a call, and before the call began.
func (v *verdicts) endedBefore(q *record, c *call) bool {
	for _, f := range v.of[q] {
		if v.final(f) && f.fence < c.fence && f.end.Before(c.start) {
			return true
		}
	}
	return false
}

// settledBy says whether a record may have settled for good at a time.
func (v *verdicts) settledBy(r *record, t time.Time) bool {
	for _, c := range v.calls {
		if (c.rec == r || c.rec.x == r.x && c.ending == effect) && v.final(c) && !c.end.After(t) {
			return true
		}
	}
	for _, d := range v.dead[r] {
		if !d.Timestamp.After(t) {
			return true
		}
	}
	return false
}

// overlaps checks that calls of one key, and of one idempotency key, never run side by side (L8).
func (v *verdicts) overlaps() {
	group := map[string][]*call{}
	for _, c := range v.calls {
		group["x "+c.rec.x] = append(group["x "+c.rec.x], c)
		switch {
		case v.w.cfg.topic.Ordering == processor.OrderByKey && c.rec.key != "":
			k := fmt.Sprint("key ", c.rec.partition, "/", c.rec.key)
			group[k] = append(group[k], c)
		case v.w.cfg.topic.Ordering == processor.OrderByPartition:
			k := fmt.Sprint("partition ", c.rec.partition)
			group[k] = append(group[k], c)
		}
	}
	for what, calls := range group {
		for i, b := range calls {
			for _, a := range calls[:i] {
				if a.end.After(b.start) && a.start.Before(b.end) && v.together(a, b) {
					v.badly("L8", "two calls of %s at once at %s: %s || %s", what, v.w.clock(b.start), v.story(a.rec), v.story(b.rec))
				}
			}
		}
	}
}

// together says whether two overlapping calls are a fault: those of one process always are, but for an abandoned call; those of
// two only if the older owner had not lost its lane.
func (v *verdicts) together(a, b *call) bool {
	if a.isDeaf() || b.isDeaf() || a.rec.partition != b.rec.partition {
		return false
	}
	if a.member == b.member && a.fence == b.fence {
		return true
	}
	return !v.w.cfg.disturbed
}

func (v *verdicts) count() {
	s := &v.stats
	s.records = len(v.w.plan)
	for _, c := range v.calls {
		s.calls++
		if c.ending == effect {
			s.effects++
		}
		if c.attempt > 1 {
			s.retries++
		}
	}
	for _, d := range v.dead {
		s.dead += len(d)
	}
	seenFence := map[[2]int64]bool{}
	for _, c := range v.calls {
		seenFence[[2]int64{int64(c.rec.partition), c.fence}] = true
	}
	s.rebalances = max(len(seenFence)-v.w.cfg.partitions, 0)
	xs := map[string]int{}
	for _, r := range v.w.plan {
		if xs[r.x]++; xs[r.x] > 1 {
			s.duplicates++
		}
	}
	for _, m := range v.w.members {
		s.lost += m.host.hits.lost
		s.late += m.host.hits.late
		s.slow += m.host.hits.slow
	}
}

func (v *verdicts) name(r *record) string {
	return fmt.Sprintf("%d@%d (key %q, x %s, %s %d)", r.partition, r.offset, r.key, r.x, r.will, r.times)
}

// story tells what happened to a record.
func (v *verdicts) story(r *record) string {
	type event struct {
		at   time.Time
		text string
	}
	var events []event
	for _, c := range v.of[r] {
		events = append(events, event{c.start, fmt.Sprintf("%s tenure %d attempt %d snoozes %d run %d until %s: %s", c.member.name, c.fence, c.attempt, c.snoozes, c.run, v.w.clock(c.end), c.ending)})
	}
	for _, s := range v.held[r] {
		events = append(events, event{s.at, fmt.Sprintf("copy in %s@%d hop %d attempt %d %s due %s", s.Topic, s.Offset, s.env.Hop, s.env.Attempt, s.env.Reason, v.w.clock(s.env.Due))})
	}
	for _, s := range v.dead[r] {
		events = append(events, event{s.at, fmt.Sprintf("dlt@%d %s", s.Offset, s.env.Reason)})
	}
	for i, at := range v.marks[r.x] {
		if i < 3 {
			events = append(events, event{at, "done mark"})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	var text strings.Builder
	text.WriteString(v.name(r) + "[")
	for _, e := range events {
		fmt.Fprintf(&text, "\n      %s %s", v.w.clock(e.at), e.text)
	}
	return text.String() + "]"
}
