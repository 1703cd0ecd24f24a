package exechandler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// Handler passes records to processes. Make one with [New].
type Handler struct {
	slots   *slots
	lastID  atomic.Uint64
	produce func(ctx context.Context, m *processor.Message, r *kgo.Record) error

	calls sync.WaitGroup
	mu    struct {
		sync.Mutex

		closed bool
	}
}

var _ processor.Handler = (*Handler)(nil)

// New checks the configuration; its error names every field that is wrong. It starts no process.
func New(cfg Config) (*Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("exec handler: %w", err)
	}
	return &Handler{
		slots: newSlots(cfg),
		produce: func(ctx context.Context, m *processor.Message, r *kgo.Record) error {
			return m.Produce(ctx, r)
		},
	}, nil
}

// Handle gives the record to a process and returns what the answer says. It blocks until a process is free, until that has
// answered or, when ctx ends before, until that is gone: up to twice [Config.Grace] later.
//
// Its own errors are [ErrClosed], [*ExitError], [*HangError], [*ProtocolError], those of a process that cannot be started and
// of a wait for a free one. Where the process may have got the record the error is uncertain.
func (h *Handler) Handle(ctx context.Context, m *processor.Message) error {
	if !h.enter() {
		return ErrClosed
	}
	defer h.calls.Done()
	id := h.lastID.Add(1)
	request, err := encodeRequest(ctx, id, m)
	if err != nil {
		return err
	}
	s, err := h.slots.take(ctx)
	if err != nil {
		return err
	}
	a, err := h.converse(ctx, s, id, request)
	if err != nil {
		return err
	}
	for _, r := range a.records {
		if err := h.produce(ctx, m, r); err != nil {
			return retrytopics.Uncertain(fmt.Errorf("produce to %s: %w", r.Topic, err))
		}
	}
	return a.outcome()
}

// converse asks the slot's process and gives the slot back, after ending a process that failed.
func (h *Handler) converse(ctx context.Context, s *slot, id uint64, request []byte) (*answer, error) {
	c := s.child
	text, sent, err := c.ask(ctx, request)
	var a *answer
	if err == nil {
		if a, err = decodeAnswer(text, id); err != nil {
			err = &ProtocolError{Err: err}
		}
	}
	if err == nil {
		h.slots.put(s)
		return a, nil
	}
	c.kill()
	if f, ok := errors.AsType[failure](err); ok {
		f.autopsy(c)
	}
	h.slots.discard(s)
	if sent {
		err = retrytopics.Uncertain(err)
	}
	return nil, err
}

func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.mu.closed {
		h.calls.Add(1)
	}
	return !h.mu.closed
}

// Close ends the processes and waits until they are gone. A process that has a record in hand may finish it within
// [Config.Grace]; calls that still wait for a process fail with [ErrClosed]. Close blocks for up to twice the grace, and
// returns nil. It is for the time after the processor's Run has returned; calling it again does nothing.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.mu.closed = true
	h.mu.Unlock()
	h.slots.close()
	h.calls.Wait()
	return nil
}
