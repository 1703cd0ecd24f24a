package exechandler

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// slots holds the places for processes. A place whose process failed is out of reach for a while: records then wait for
// another, and a command that always fails is not started in a busy loop.
type slots struct {
	cfg     Config
	free    chan *slot // room for all
	closing chan struct{}

	mu struct {
		sync.Mutex

		closed bool
		living map[*child]struct{}
	}
}

// slot is a place for a process. It belongs to whoever took it.
type slot struct {
	child    *child // nil: none started yet, or the last one is gone
	failures int    // in a row
}

func newSlots(cfg Config) *slots {
	p := &slots{cfg: cfg, free: make(chan *slot, cfg.Processes), closing: make(chan struct{})}
	p.mu.living = map[*child]struct{}{}
	for range cfg.Processes {
		p.free <- &slot{}
	}
	return p
}

// take waits for a place and returns it with a process that lives, as far as one can tell. The error is that of the wait or
// of the start: nothing has been sent.
func (p *slots) take(ctx context.Context) (*slot, error) {
	for {
		s, err := p.wait(ctx)
		if err != nil {
			return nil, err
		}
		if s.child != nil && s.child.usable() {
			return s, nil
		}
		if s.child != nil { // it ended or spoke without being asked; no record suffers from it
			s.child.kill()
			p.discard(s)
			continue
		}
		if err := p.start(ctx, s); err != nil {
			p.discard(s)
			return nil, err
		}
		return s, nil
	}
}

func (p *slots) wait(ctx context.Context) (*slot, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("wait for a free handler process: %w", context.Cause(ctx))
	}
	select {
	case <-p.closing:
		return nil, ErrClosed
	default:
	}
	select {
	case s := <-p.free:
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a free handler process: %w", context.Cause(ctx))
	case <-p.closing:
		return nil, ErrClosed
	}
}

func (p *slots) start(ctx context.Context, s *slot) error {
	c, err := startChild(ctx, p.cfg)
	if err != nil {
		return err
	}
	p.mu.Lock()
	closed := p.mu.closed
	if !closed {
		p.mu.living[c] = struct{}{}
	}
	p.mu.Unlock()
	if closed { // close has not seen this one
		c.kill()
		return ErrClosed
	}
	s.child = c
	return nil
}

// put gives a place back whose process has answered.
func (p *slots) put(s *slot) {
	s.failures = 0
	p.free <- s
}

// discard gives a place back whose process is gone or never came, after a delay.
func (p *slots) discard(s *slot) {
	if s.child != nil {
		p.mu.Lock()
		delete(p.mu.living, s.child)
		p.mu.Unlock()
		s.child = nil
	}
	s.failures++
	time.AfterFunc(p.cfg.backoff(s.failures), func() { p.free <- s }) // never blocks: there is room for all
}

// close ends all processes side by side and waits for them; take returns ErrClosed from then on.
func (p *slots) close() {
	p.mu.Lock()
	first := !p.mu.closed
	p.mu.closed = true
	var ended sync.WaitGroup
	for c := range p.mu.living {
		ended.Go(c.close)
	}
	p.mu.Unlock()
	if first {
		close(p.closing)
	}
	ended.Wait()
}
