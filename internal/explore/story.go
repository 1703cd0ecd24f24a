package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/laneway-go/laneway/internal/lane"
)

// title names an identity as stories show it: q, r, s in the order of the world's records, "q#1" for a replay.
func (w *world) title(id identity) string {
	name := string(rune('q' + id.record()))
	if id.run() > 0 {
		name += "#" + strconv.Itoa(id.run())
	}
	return name
}

func (w *world) partName(p lane.Part) string {
	switch p {
	case lane.Source:
		return "source"
	case lane.Replay:
		return "replay"
	}
	return "S" + strconv.Itoa(int(p-lane.FirstStage)+1)
}

func (w *world) place(p lane.Part, offset int64) string {
	return w.partName(p) + "@" + strconv.FormatInt(offset, 10)
}

func (w *write) kindName() string {
	return [...]string{"forward", "dlt copy", "done mark", "terminal mark", "claim", "claim release", "chunk"}[w.kind]
}

// name says what a write is.
func (w *write) name(in *world) string {
	switch w.kind {
	case lane.Forward:
		return fmt.Sprintf("forward of %s to %s", in.title(w.copy.id), in.partName(w.to))
	case lane.ChunkMark:
		var names []string
		for r := range in.records {
			if w.mark.bits.has(uint8(r)) {
				names = append(names, in.title(idOf(r, 0)))
			}
		}
		return fmt.Sprintf("chunk {%s} of tenure %d", strings.Join(names, ","), w.mark.tenure)
	case lane.DeadLetter, lane.DoneMark, lane.TerminalMark, lane.ClaimMark, lane.ClaimRelease:
	}
	name := w.kindName() + " of " + in.title(w.copy.id)
	if w.reason != lane.NoReason {
		name += " (" + w.reason.String() + ")"
	}
	return name
}

// tell says in one line what an action does in a state.
func (s *state) tell(a action) string {
	who := "the owner"
	p := s.owner
	if a.who == 1 {
		who, p = "the zombie", s.zombie
	}
	switch a.verb {
	case takeOver:
		return "a new owner reads the commits"
	case scanPart:
		if a.a == marksPart {
			return who + " scans the marks"
		}
		return who + " scans " + s.w.partName(lane.Part(a.a))
	case scanAll:
		return who + [...]string{" scans the parts, then the marks", " scans the marks, then the parts"}[a.a]
	case fetch:
		first := p.m.Position(lane.Part(a.a))
		var names []string
		for o := first; o < first+int64(a.b); o++ {
			names = append(names, s.w.title(s.logs[a.a][o].id)+" at "+s.w.place(lane.Part(a.a), o))
		}
		return who + " fetches " + strings.Join(names, ", ")
	case giveBack:
		return fmt.Sprintf("the handler of %s%s %s", s.w.title(p.calls[a.a].id), zombies(a), s.outcome(a.b))
	case append_, acknowledge, fail, refuse:
		return s.tellWrite(a, &p.writes[a.a])
	default:
		return s.tellRest(a, who)
	}
}

func zombies(a action) string {
	if a.who == 1 {
		return " (zombie)"
	}
	return ""
}

func (s *state) outcome(b uint8) string {
	names := [...]string{"succeeds", "fails", "fails for good", "does not want it", "leaves it open", "is cancelled", "had not begun"}
	if b >= retSnooze {
		return fmt.Sprintf("asks for %d ms more", s.w.snoozes[b-retSnooze])
	}
	return names[b]
}

func (s *state) tellWrite(a action, w *write) string {
	name := w.name(s.w) + zombies(a)
	switch {
	case a.verb == append_:
		return name + " lands, its answer is on its way"
	case a.verb == refuse:
		return name + " is too large"
	case a.verb == acknowledge && w.landed:
		return name + " is acknowledged"
	case a.verb == acknowledge:
		return name + " lands and is acknowledged"
	case a.b == 1:
		return name + " is reported as failed, and has landed"
	}
	return name + " fails"
}

func (s *state) tellRest(a action, who string) string {
	switch a.verb {
	case sendCommit:
		return who + " sends a commit"
	case storeCommit:
		return "the commit is stored"
	case loseAnswer:
		return "the commit is stored, its answer is lost"
	case refuseCommit:
		return "the commit of " + who + " is refused"
	case storePart:
		return "of the commit only " + [...]string{"the stages' part is", "the source's part is"}[a.a] + " stored, and " + who + " hears so"
	case forget:
		w := write{kind: s.marks[a.a].kind, mark: s.marks[a.a], copy: copyOf{id: s.marks[a.a].id}}
		return who + " forgets the " + w.name(s.w)
	case tick:
		at, _ := s.owner.m.NextWake()
		return fmt.Sprintf("%d ms pass", at-s.now)
	case crash:
		line := "the owner dies" + landing(a.a)
		if a.b == 1 {
			line += ", its commit is stored"
		}
		return line
	case lose:
		return "the owner loses the lane and does not know it"
	case end:
		return "the zombie is gone"
	case giveUp:
		return "the owner is to give up the lane"
	case abandon:
		return "the drain deadline passes"
	case renew:
		return "the producer is replaced" + landing(a.a)
	case land:
		return "late: " + s.late[a.a].name(s.w) + " lands"
	case replay:
		line := "an operator replays " + s.w.title(idOf(int(a.a), 0))
		if a.b == 1 {
			line += " with force"
		}
		return line
	case replayAgain:
		return "the last replay is sent once more"
	case elect:
		return fmt.Sprintf("the source's log becomes version %d", s.version+1)
	case notice:
		return who + " hears that the source's log is another"
	case arrive:
		return "a record is produced to the source"
	default:
		return "?"
	}
}

func landing(set uint8) string {
	if set == 0 {
		return ""
	}
	return fmt.Sprintf(", of its writes on their way %b (lowest bit first) have landed", set)
}

// tellAll writes the story of a path through a world, one line a step.
func (w *world) tellAll(out io.Writer, path []action, wrong violation) {
	s := w.initial()
	for n, a := range path {
		fmt.Fprintf(out, "  %2d  %s\n", n+1, s.tell(a))
		next, v := s.step(a)
		if next == nil {
			fmt.Fprintf(out, "      → %s\n", v)
			return
		}
		for _, line := range s.news(next) {
			fmt.Fprintf(out, "        %s\n", line)
		}
		s = next
	}
	if wrong != "" {
		fmt.Fprintf(out, "      → %s\n", wrong)
	}
}

// news says what a step has set off: writes that were asked for and handlers that have started.
func (s *state) news(next *state) (lines []string) {
	for n := range uint8(2) {
		old, p := *s.who(n), *next.who(n)
		if p == nil || p == old || n == 1 && old == nil {
			continue
		}
		kept := 0
		if old != nil {
			for i := range p.writes {
				for j := range old.writes {
					if p.writes[i].token == old.writes[j].token && p.writes[i].kind == old.writes[j].kind {
						kept++
						break
					}
				}
			}
		}
		for i := kept; i < len(p.writes); i++ {
			lines = append(lines, "· write: "+p.writes[i].name(s.w))
		}
		for _, c := range p.calls {
			if old == nil || !hasCall(old.calls, c.ref) {
				lines = append(lines, "· handler starts: "+s.w.title(c.id))
			}
		}
		if old != nil && old.m.Phase() != p.m.Phase() {
			lines = append(lines, "· "+p.m.Phase().String())
		}
	}
	return lines
}

func hasCall(calls []call, ref lane.Ref) bool {
	for _, c := range calls {
		if c.ref == ref {
			return true
		}
	}
	return false
}

// describe writes what a world is about.
func (w *world) describe(out io.Writer) {
	fmt.Fprintf(out, "world %s: keys %q", w.name, w.keys)
	if w.same != "" {
		fmt.Fprintf(out, ", same work %q", w.same)
	}
	fmt.Fprintf(out, ", mode %s, ordering %s, %d stages, %d attempts, window %d\n",
		[...]string{"record_after", "claim_first", "off"}[w.mode], [...]string{"key", "partition", "none"}[w.ordering],
		w.stages, w.attempts, w.window)
}
