package lane_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
)

var update = flag.Bool("update", false, "rewrite the stories")

// TestStories plays the files in testdata/stories. In each, a line that begins with "> " is what happens to a machine; the lines
// below it are what the machine does about it, and must come again. Lines with # are the teller's.
//
// Times are seconds. A record is named by its source offset, with #run behind it for a replay.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("the story goes otherwise (-want +got):\n%s", d)
			}
		})
	}
}

// theatre is a machine and what it has out.
type theatre struct {
	t      *testing.T
	m      *lane.Machine
	cfg    lane.Config
	now    int64
	starts map[string]lane.Ref   // by record
	writes map[string]lane.Write // by name
	commit *lane.Commit
	stored *lane.Commit // the last commit that was acknowledged
	marks  []lane.Write // acknowledged marks, for the next tenure
	buf    bytes.Buffer
}

func play(t *testing.T, script string) string {
	t.Helper()
	th := &theatre{t: t, now: 1_000_000_000, starts: map[string]lane.Ref{}, writes: map[string]lane.Write{}}
	th.cfg.Stages = []lane.Stage{{Delay: 5_000, Target: true}, {Delay: 60_000, Target: true}}
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"), line == "":
			fmt.Fprintln(&th.buf, line)
		case strings.HasPrefix(line, "> "):
			fmt.Fprintln(&th.buf, line)
			th.act(strings.Fields(line[2:]))
			th.show()
		}
	}
	return th.buf.String()
}

// act carries out one line.
func (th *theatre) act(words []string) {
	args := words[1:]
	switch words[0] {
	case "mode": // record_after, claim_first, off
		th.cfg.Mode = map[string]lane.Mode{"record_after": lane.RecordAfter, "claim_first": lane.ClaimFirst, "off": lane.Off}[args[0]]
	case "userkeys":
		th.cfg.UserKeys = true
	case "attempts":
		th.cfg.MaxAttempts = th.number(args[0])
	case "window":
		th.cfg.Window = offsets.Config{Window: int64(th.number(args[0])), GapBytes: -1}
	case "careful": // unclean lives from which on the lane is careful
		th.cfg.Careful = th.number(args[0])
	case "open": // a new tenure; what is stored and marked is inherited
		th.open(args)
	case "read": // read PART RECORD…: copies, fetched
		p := th.part(args[0])
		copies := th.copies(args[1:])
		n := th.m.Fetched(p, copies, copies[len(copies)-1].Offset+1)
		if n < len(copies) {
			fmt.Fprintf(&th.buf, "  admits %d of %d\n", n, len(copies))
		}
	case "return": // return RECORD OUTCOME
		th.finish(args[0], args[1:])
	case "ack": // ack WRITE [OFFSET]
		w := th.take(args[0])
		offset := 0
		if len(args) > 1 {
			offset = th.number(args[1])
		}
		if w.Kind != lane.Forward && w.Kind != lane.DeadLetter {
			th.marks = append(th.marks, w)
		}
		th.m.Acked(w.Token, int64(offset))
	case "lose": // the write's outcome is unknown
		w := th.take(args[0])
		th.m.Failed(w.Token, th.now)
	case "wait": // seconds
		th.now += int64(th.number(args[0])) * 1000
	case "commit": // sends a snapshot, and its answer comes
		th.send()
		th.m.Committed(th.commit.Number)
		th.stored = th.commit
	case "refuse": // sends a snapshot that is refused
		th.send()
		th.m.CommitFailed(th.commit.Number)
	case "giveup":
		th.m.GiveUp()
	default:
		th.t.Fatalf("unknown word %q", words[0])
	}
	if th.m != nil {
		th.m.Flush(th.now)
	}
}

func (th *theatre) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		th.t.Fatal(err)
	}
	return n
}

func (th *theatre) part(s string) lane.Part {
	return map[string]lane.Part{"source": lane.Source, "replay": lane.Replay, "stage1": lane.FirstStage, "stage2": lane.FirstStage + 1}[s]
}

func partName(p lane.Part) string {
	return [...]string{"source", "replay", "stage1", "stage2"}[p]
}

// open begins a tenure; the words are scan PART RECORD… for what its scans find.
func (th *theatre) open(args []string) {
	in := lane.Inherited{Topic: topicID(), Parts: make([]lane.InheritedPart, 4)}
	for p := range in.Parts {
		in.Parts[p].Topic = topicID()
		if th.stored != nil {
			c := th.stored.Parts[p]
			meta, err := offsets.Decode(c.Metadata, c.Offset)
			if err != nil {
				th.t.Fatal(err)
			}
			in.Parts[p].Offset, in.Parts[p].Settled, in.Parts[p].Epochs = c.Offset, meta.Settled, meta.Epochs
			if meta.Lane != nil {
				in.Lane = *meta.Lane
			}
		}
	}
	clear(th.starts)
	clear(th.writes)
	th.m = lane.New(th.cfg, in, th.now)
	th.m.Gen(topicID(), 0)
	for _, w := range th.marks {
		th.m.Marked(lane.Mark{
			Kind: w.Kind, ID: w.ID, X: w.X, HasX: w.HasX, Tries: w.Tries, Tenure: w.Tenure, Reason: w.Reason, Chunk: w.Chunk, Bits: &w.Bits,
		})
	}
	for len(args) > 0 {
		n := slices.Index(args[1:], "scan") + 1
		if n == 0 {
			n = len(args)
		}
		th.m.Scanned(th.part(args[1]), th.copies(args[2:n]))
		args = args[n:]
	}
	for p := range in.Parts {
		th.m.PartScanned(lane.Part(p))
	}
	th.m.MarksScanned()
	th.m.Flush(th.now)
	th.send()
	th.m.Committed(th.commit.Number)
	th.stored = th.commit
}

func (th *theatre) send() {
	if th.m.WantsCommit() == lane.NoCommit {
		fmt.Fprintln(&th.buf, "  (wants no commit)")
	}
	c := th.m.Commit()
	th.commit = &c
}

// copies reads records: OFFSET:NAME[/key][,field=value]… where OFFSET is the place and NAME the origin's offset with #run.
func (th *theatre) copies(words []string) []lane.Copy {
	var out []lane.Copy
	for _, word := range words {
		fields := strings.Split(word, ",")
		head, key, keyed := strings.Cut(fields[0], "/")
		place, name, ok := strings.Cut(head, ":")
		if !ok {
			name = place
		}
		id, run, _ := strings.Cut(name, "#")
		c := lane.Copy{Offset: int64(th.number(place)), Keyed: keyed, Payload: name}
		c.ID = lane.ID{Offset: int64(th.number(id)), Gen: th.m.Gen(topicID(), 0)}
		if run != "" {
			c.ID.Run = uint32(th.number(run))
		}
		for _, b := range []byte(key) {
			c.Key = c.Key*31 + uint64(b)
		}
		for _, f := range fields[1:] {
			th.field(&c, f)
		}
		out = append(out, c)
	}
	return out
}

func (th *theatre) field(c *lane.Copy, f string) {
	name, value, _ := strings.Cut(f, "=")
	n := 0
	if value != "" {
		n = th.number(value)
	}
	switch name {
	case "hop":
		c.Hop = uint32(n)
	case "attempt":
		c.Attempt = uint16(n)
	case "snoozes":
		c.Snoozes = uint16(n)
	case "due": // seconds from now
		c.Due = th.now + int64(n)*1000
	case "force":
		c.Force = true
	case "broken":
		c.Broken = true
	case "x":
		c.X, c.HasX = dedupe.Hash{uint64(n), 1}, true
	default:
		th.t.Fatalf("unknown field %q", f)
	}
}

func (th *theatre) finish(name string, words []string) {
	ref, ok := th.starts[name]
	if !ok {
		th.t.Fatalf("%s does not run", name)
	}
	delete(th.starts, name)
	var o lane.Outcome
	switch words[0] {
	case "ok":
	case "error":
		o.Kind = lane.Retry
	case "permanent":
		o = lane.Outcome{Kind: lane.Dead, Reason: lane.Permanent}
	case "uncertain":
		o = lane.Outcome{Kind: lane.Dead, Reason: lane.UncertainReason}
	case "skip":
		o.Kind = lane.Skip
	case "snooze":
		o = lane.Outcome{Kind: lane.Snooze, Until: th.now + int64(th.number(words[1]))*1000}
	case "cancelled":
		o.Kind = lane.Aborted
	default:
		th.t.Fatalf("unknown outcome %q", words[0])
	}
	if !th.m.Returned(ref, o) {
		fmt.Fprintln(&th.buf, "  (nobody's any more)")
	}
}

func (th *theatre) take(name string) lane.Write {
	w, ok := th.writes[name]
	if !ok {
		th.t.Fatalf("nothing like %q is being written", name)
	}
	delete(th.writes, name)
	return w
}

// show prints what the machine asks for.
func (th *theatre) show() {
	if th.m == nil {
		return
	}
	out := th.m.Out()
	for _, s := range out.Starts {
		name, _ := s.Payload.(string)
		th.starts[name] = s.Ref
		alone := ""
		if s.Alone {
			alone = ", alone"
		}
		fmt.Fprintf(&th.buf, "  runs %s, attempt %d%s\n", name, s.Attempt+1, alone)
	}
	for i := range out.Writes {
		w := out.Writes[i]
		name, text := th.describe(&w)
		th.writes[name] = w
		fmt.Fprintf(&th.buf, "  writes %s\n", text)
	}
	out.Reset()
	if th.m.Phase() == lane.Closed {
		fmt.Fprintln(&th.buf, "  closed")
		return
	}
	var owed []string
	for p := range lane.Part(4) {
		if n, lowest := th.m.Lag(p); n > 0 {
			owed = append(owed, fmt.Sprintf("%s %d from %d", partName(p), n, lowest))
		}
	}
	if len(owed) > 0 {
		fmt.Fprintf(&th.buf, "  owes %s\n", strings.Join(owed, ", "))
	}
}

// describe names a write for later lines, and tells it.
func (th *theatre) describe(w *lane.Write) (name, text string) {
	rec := strconv.FormatInt(w.ID.Offset, 10)
	if w.ID.Run > 0 {
		rec += "#" + strconv.FormatUint(uint64(w.ID.Run), 10)
	}
	switch w.Kind {
	case lane.Forward:
		return rec, fmt.Sprintf("%s to %s, hop %d, attempts %d, %s, due in %ds", rec, partName(w.To), w.Hop, w.Attempt, w.Reason, (w.Due-th.now)/1000)
	case lane.DeadLetter:
		return rec, fmt.Sprintf("%s to the dlt: %s", rec, w.Reason)
	case lane.DoneMark:
		return rec, rec + " is done"
	case lane.TerminalMark:
		return rec, fmt.Sprintf("%s is finished: %s", rec, w.Reason)
	case lane.ClaimMark:
		return rec, fmt.Sprintf("claim of %s after %d tries", rec, w.Tries)
	case lane.ClaimRelease:
		return rec, fmt.Sprintf("release of %s after %d tries", rec, w.Tries)
	case lane.ChunkMark:
	}
	var bits []string
	for i := range w.Bits.Each {
		bits = append(bits, strconv.Itoa(i))
	}
	return "chunk", fmt.Sprintf("chunk %d: %s done", w.Chunk.Index, strings.Join(bits, " "))
}
