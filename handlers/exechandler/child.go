package exechandler

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"
)

// maxPipeWait bounds the time for which a process's pipes are read after its end. Its own last words are in the pipe by then;
// somebody who left its process group may hold the other end for ever.
const maxPipeWait = time.Second

// child is one process. One goroutine at a time may call ask; kill and close are safe to call from any, more than once.
type child struct {
	cmd      *exec.Cmd
	grace    time.Duration
	pipeWait time.Duration
	logger   *slog.Logger
	stderr   *stderrLog // to be read when gone is closed

	stdin   *os.File
	answers chan outLine  // room for 1: a line that comes unasked waits here to be found out
	dead    chan struct{} // closed when the process has ended
	gone    chan struct{} // closed when its output has been read to the end, too
}

// outLine is a line of the standard output, or why there will be no other.
type outLine struct {
	text []byte
	err  error
}

// startChild starts a process. It outlives ctx.
func startChild(ctx context.Context, cfg Config) (*child, error) {
	//nolint:gosec // to run the command that the user configured is the purpose
	cmd := exec.CommandContext(context.WithoutCancel(ctx), cfg.Command[0], cfg.Command[1:]...)
	cmd.Dir = cfg.Dir
	cmd.Env = append(os.Environ(), cfg.Env...)
	ownGroup(cmd)

	var ours, theirs [3]*os.File
	defer func() { closeAll(theirs[:]) }()
	var err error
	if ours, theirs, err = pipes(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Command[0], err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := cmd.Start(); err != nil {
		closeAll(ours[:])
		return nil, fmt.Errorf("start %s: %w", cfg.Command[0], err)
	}
	logger := cfg.Logger.With(slog.Int("pid", cmd.Process.Pid))
	c := &child{
		cmd: cmd, grace: cfg.Grace, pipeWait: min(cfg.Grace, maxPipeWait), logger: logger,
		stderr:  &stderrLog{logger: logger, limit: rateLimit{perSecond: cfg.LogRate}},
		stdin:   ours[0],
		answers: make(chan outLine, 1),
		dead:    make(chan struct{}),
		gone:    make(chan struct{}),
	}
	logger.InfoContext(ctx, "handler process started", slog.String("command", cfg.Command[0]))
	go c.supervise(ours[1], ours[2], cfg.MaxAnswer)
	return c, nil
}

// pipes returns the two ends of the standard input, output and error. The pipes are ours, not those of package exec, since
// its Wait closes the read ends before the last words were read, or waits for them for ever.
func pipes() (ours, theirs [3]*os.File, err error) {
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(theirs[:])
			return ours, theirs, fmt.Errorf("make a pipe: %w", err)
		}
		ours[i], theirs[i] = r, w
	}
	ours[0], theirs[0] = theirs[0], ours[0] // the one that we write to
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// supervise waits for the process's end and cleans up behind it.
func (c *child) supervise(stdout, stderr *os.File, maxAnswer int) {
	var readers sync.WaitGroup
	readers.Go(func() { c.readAnswers(stdout, maxAnswer) })
	readers.Go(func() { c.stderr.copy(stderr) })

	_ = c.cmd.Wait()    // ProcessState has it all
	kill(c.cmd.Process) // what it leaves behind, at once: the number of its group will be free for others
	close(c.dead)
	_ = c.stdin.Close() // frees a writer whose line somebody else was to read

	hangUp := time.AfterFunc(c.pipeWait, func() { closeAll([]*os.File{stdout, stderr}) })
	readers.Wait()
	hangUp.Stop()
	closeAll([]*os.File{stdout, stderr})
	c.logger.Info("handler process ended", slog.String("status", c.cmd.ProcessState.String()))
	close(c.gone)
}

// readAnswers hands the lines of the standard output over, until it ends or a line is too long.
func (c *child) readAnswers(r io.Reader, maxAnswer int) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer+1) // with its newline
	lines.Split(wholeLines)
	for lines.Scan() {
		if !c.handOver(outLine{text: bytes.Clone(lines.Bytes())}) {
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		c.handOver(outLine{err: &ProtocolError{Err: fmt.Errorf("the answer is longer than %d bytes", maxAnswer)}})
	}
}

// wholeLines is [bufio.ScanLines] without a last line that its process did not live to finish.
func wholeLines(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// handOver reports whether there was still somebody to take the line. It blocks while two lines wait that nobody asked for:
// so does then the process, instead of filling our memory.
func (c *child) handOver(l outLine) bool {
	select {
	case c.answers <- l: // the last answer of a dead process counts
		return true
	default:
	}
	select {
	case c.answers <- l:
		return true
	case <-c.dead:
		return false
	}
}

// usable reports whether the process lives and has said nothing since its last answer.
func (c *child) usable() bool {
	select {
	case <-c.dead:
		return false
	default:
		return len(c.answers) == 0
	}
}

// ask writes the request and waits for the line that answers it. After an error the process is of no more use; [child.kill]
// is what is left to do, and then the error can be completed. sent tells whether the process may have got the request.
func (c *child) ask(ctx context.Context, request []byte) (text []byte, sent bool, err error) {
	interrupt := context.AfterFunc(ctx, func() { _ = c.stdin.Close() })
	n, err := c.stdin.Write(request)
	sent = n > 0
	if !interrupt() {
		return nil, sent, &HangError{Cause: context.Cause(ctx)}
	}
	// A broken pipe most often means that the process is about to end, and how it ends tells more.
	if err != nil && !c.goneWithin(2*c.pipeWait) {
		return nil, sent, &ProtocolError{Err: fmt.Errorf("it does not read its input: %w", err)}
	}
	var none error = &ExitError{}
	select {
	case l := <-c.answers:
		return l.text, sent, l.err
	case <-c.gone:
	case <-ctx.Done():
		none = &HangError{Cause: context.Cause(ctx)}
	}
	select {
	case l := <-c.answers: // at the last moment
		return l.text, sent, l.err
	default:
		return nil, sent, none
	}
}

// close lets the process finish: its input ends, and it has the grace to follow. Then it is killed. close returns when the
// process is gone.
func (c *child) close() {
	_ = c.stdin.Close()
	if !c.goneWithin(c.grace) {
		c.kill()
	}
}

// kill ends the process and everything in its group, first with a polite signal and after the grace without. It returns when
// the process is gone.
func (c *child) kill() {
	_ = c.stdin.Close()
	c.signal(terminate)
	if !c.goneWithin(c.grace) {
		c.signal(kill)
		<-c.gone
	}
}

// signal does nothing to a process that has been waited for: its number may be somebody else's by now.
func (c *child) signal(send func(*os.Process)) {
	select {
	case <-c.dead:
	default:
		send(c.cmd.Process)
	}
}

func (c *child) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
	}
}
