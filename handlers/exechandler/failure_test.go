package exechandler

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestAProcessThatDiesFailsTheRecordInHandAndIsReplaced(t *testing.T) {
	r := newRig(t, nil)
	before := r.pid(t)
	e := wantFailure[*ExitError](t, r.do(t.Context(), "exit 3"), true)
	if e.State.ExitCode() != 3 || !strings.HasSuffix(e.Error(), "ended: exit status 3; stderr: first line\nout of luck") {
		t.Errorf("error %q, want the exit status and the last words", e)
	}
	if after := r.pid(t); after == before {
		t.Errorf("process %s serves after its own death", after)
	}
}

func TestALineThatItsProcessDidNotLiveToFinishIsNoAnswer(t *testing.T) {
	r := newRig(t, nil)
	if e := wantFailure[*ExitError](t, r.do(t.Context(), "half"), true); e.State.ExitCode() != 4 {
		t.Errorf("error %q, want exit status 4", e)
	}
}

func TestTheLastAnswerOfADyingProcessCounts(t *testing.T) {
	r := newRig(t, nil)
	for i := range 20 {
		if err := r.do(t.Context(), "answer-and-exit"); err != nil {
			t.Fatalf("Handle = %v, want the answer", err)
		}
		r.log.waitFor("handler process ended", i+1) // the next record might reach it otherwise
	}
}

func TestAProcessThatBreaksTheProtocolIsKilledAndReplaced(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"no JSON", "raw Traceback (most recent call last):", `"Traceback (most recent call last):"`},
		{"blank line", "raw ", "EOF"},
		{"two values", `raw {"id":2,"ok":true} {}`, "more than one value"},
		{"no object", "raw [1]", "not the JSON object that is wanted"},
		{"no id", `raw {"ok":true}`, "no id"},
		{"wrong id", `raw {"id":77,"ok":true}`, "has id 77, the request has 2"},
		{"unknown field", `answer "ok":true,"perm":true`, "unknown field"},
		{"too long", "long 5000", "longer than 4096 bytes"},
		{"no outcome", `answer "ok":false`, "exactly one of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxAnswer = 4096 })
			before := r.pid(t)
			e := wantFailure[*ProtocolError](t, r.do(t.Context(), test.value), true)
			if !strings.Contains(e.Error(), test.want) {
				t.Errorf("error %q, want a word about %q", e, test.want)
			}
			if n := r.log.count("handler process ended"); n != 1 {
				t.Errorf("%d processes have ended by the time of the error, want 1", n)
			}
			if after := r.pid(t); after == before {
				t.Errorf("process %s still serves", after)
			}
		})
	}
}

func TestAnAnswerMayBeAsLongAsTheLimit(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxAnswer = 4096 })
	head := `{"id":1,"ok":true`
	if err := r.do(t.Context(), "raw "+head+strings.Repeat(" ", 4096-len(head)-1)+"}"); err != nil {
		t.Errorf("an answer of 4096 bytes: %v", err)
	}
}

func TestAnAnswerThatNobodyAskedForHarmsNoRecord(t *testing.T) {
	r := newRig(t, nil)
	before := r.pid(t)
	if err := r.do(t.Context(), "twice"); err != nil {
		t.Fatal(err)
	}
	c := (<-r.slots.free).child
	second := <-c.answers // it has arrived; put it back where it waits
	c.answers <- second
	r.slots.free <- &slot{child: c}
	if after := r.pid(t); after == before {
		t.Errorf("process %s still serves", after)
	}
}

func TestAProcessThatDiesIdleHarmsNoRecord(t *testing.T) {
	r := newRig(t, nil)
	before := r.pid(t)
	s := <-r.slots.free
	kill(s.child.cmd.Process)
	<-s.child.gone
	r.slots.free <- s
	if after := r.pid(t); after == before {
		t.Errorf("process %s serves after its own death", after)
	}
}

func TestAProcessThatHangsIsGoneWhenTheCallReturns(t *testing.T) {
	r := newRig(t, nil)
	late := errors.New("time is up")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := r.inBackground(ctx, "hang")
	r.log.waitFor("hangs", 1)
	cancel(late)
	e := wantFailure[*HangError](t, <-result, true)
	if !errors.Is(e, late) || e.Stderr != "hangs\n" {
		t.Errorf("error %q, want the context's cause and the last words", e)
	}
	if n := r.log.count("handler process ended"); n != 1 {
		t.Errorf("%d processes have ended by the time of the error, want 1", n)
	}
	r.pid(t)
}

func TestAProcessThatIgnoresSIGTERMIsKilledAfterTheGrace(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Grace = 50 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	result := r.inBackground(ctx, "deaf")
	r.log.waitFor("hangs", 1)
	cancel()
	wantFailure[*HangError](t, <-result, true)
	if n := r.log.count("handler process ended"); n != 1 {
		t.Errorf("%d processes have ended by the time of the error, want 1", n)
	}
}

func TestARequestThatNobodyReadsDoesNotOutliveItsContext(t *testing.T) {
	r := newRig(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	first := r.inBackground(ctx, "hang")
	r.log.waitFor("hangs", 1)
	// The process no longer reads: a request larger than any pipe blocks in its write.
	c := r.onlyChild()
	writing := make(chan error, 1)
	short, stop := context.WithCancel(t.Context())
	go func() {
		_, _, err := c.ask(short, make([]byte, 8<<20))
		writing <- err
	}()
	stop()
	if err := <-writing; !errors.Is(err, context.Canceled) {
		t.Errorf("ask = %v, want the end of its context", err)
	}
	cancel()
	wantFailure[*HangError](t, <-first, true)
}

func (r *rig) onlyChild() *child {
	r.slots.mu.Lock()
	defer r.slots.mu.Unlock()
	for c := range r.slots.mu.living {
		return c
	}
	return nil
}

func TestAProcessThatClosesItsInputIsFoundOut(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Grace = 50 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	result := r.inBackground(ctx, "close-stdin")
	r.log.waitFor("closed", 1)
	_, sent, err := r.onlyChild().ask(t.Context(), []byte("{}\n"))
	if p, ok := errors.AsType[*ProtocolError](err); !ok || !strings.Contains(p.Error(), "does not read") || sent {
		t.Errorf("ask = sent %t, %v, want that it was not sent as the process does not read", sent, err)
	}
	cancel()
	wantFailure[*HangError](t, <-result, true)
}

// witness is a connection that a grandchild keeps for as long as it lives.
func witness(t *testing.T) (addr string, alive <-chan net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	conns := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			conns <- c
		}
	}()
	return l.Addr().String(), conns
}

func TestWhatAProcessLeavesBehindInItsGroupIsKilled(t *testing.T) {
	r := newRig(t, nil)
	addr, alive := witness(t)
	if e := wantFailure[*ExitError](t, r.do(t.Context(), "spawn inside "+addr), true); e.State.ExitCode() != 5 {
		t.Errorf("error %q, want exit status 5", e)
	}
	conn := <-alive
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("read from the grandchild: %v, want its end", err)
	}
}

func TestAGrandchildOutOfReachThatHoldsThePipesHoldsUpNobody(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Grace = 50 * time.Millisecond })
	addr, alive := witness(t)
	wantFailure[*ExitError](t, r.do(t.Context(), "spawn outside "+addr), true)
	conn := <-alive
	defer conn.Close() // ends the grandchild
	r.pid(t)
}

func TestAFloodOnStandardErrorIsReadButNotLogged(t *testing.T) {
	const lines = 50_000 // far more than a pipe holds
	r := newRig(t, func(c *Config) { c.LogRate = 5 })
	if err := r.do(t.Context(), "flood 50000"); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	const note = "handler process writes too much to stderr, lines dropped"
	logged := len(r.log.lines()) - r.log.count(note) - r.log.count("handler process started") - r.log.count("handler process ended")
	dropped := int(r.log.sum(note, "dropped"))
	if logged+dropped != lines+1 || dropped < lines/2 { // and its "bye"
		t.Errorf("%d lines logged and %d dropped, want %d in all, most of them dropped", logged, dropped, lines+1)
	}
}
