package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// callContext is the context of a call. Until somebody asks it for its end it is only a pointer to its slot, and serves
// one call after the other. When somebody asks, it makes a real context with a deadline and forwards to that, once and for
// all: to its Value, too, where package context looks for what it can attach children to. From then on it belongs to that
// call, ends with it, and is not used again.
//
// Goroutines that a call left behind may ask at any time, when the slot is between two calls or in another one. So whoever
// makes something first sets touched, and then looks whether the slot is still where it was before; and the slot first
// starts a call, and then looks at touched. One of them sees the other: either what is made is made for the call that
// runs, or the slot drops the context and gives the call another.
type callContext struct {
	slot    *Slot
	mu      sync.Mutex // held while made is made
	touched atomic.Bool
	made    atomic.Pointer[madeContext] // set once
}

type madeContext struct {
	context.Context //nolint:containedctx // it is a context

	cancel context.CancelFunc
}

// Deadline returns the end of the call's time.
func (c *callContext) Deadline() (time.Time, bool) { return c.make().Deadline() }

// Done returns a channel that is closed at the time limit, or when the call is canceled or returns.
func (c *callContext) Done() <-chan struct{} { return c.make().Done() }

// Err returns nil until Done is closed. It makes nothing as long as it has nothing to say.
func (c *callContext) Err() error {
	if in := c.made.Load(); in != nil {
		return in.Err()
	}
	p, g := c.slot.pool, c.slot.load()
	now := p.now()
	if c.base().Err() == nil && now < c.slot.began(g, now)+p.cfg.Timeout {
		return nil
	}
	return c.make().Err()
}

// Value returns what the context of [Pool.Run] has for the key.
func (c *callContext) Value(key any) any {
	if in := c.made.Load(); in != nil {
		return in.Value(key)
	}
	return c.base().Value(key)
}

// String names the context, as those of package context do.
func (c *callContext) String() string { return "dispatch.callContext" }

func (c *callContext) base() context.Context { return c.slot.queue.Load().base }

func (c *callContext) make() *madeContext {
	if in := c.made.Load(); in != nil {
		return in
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in := c.made.Load(); in != nil {
		return in
	}
	c.touched.Store(true) // before the slot is looked at
	p, g := c.slot.pool, c.slot.load()
	deadline := p.time(c.slot.began(g, p.now()) + p.cfg.Timeout)
	in := new(madeContext)
	in.Context, in.cancel = context.WithDeadlineCause(c.base(), deadline, p.limit)
	c.made.Store(in)
	return in
}

// retire ends the context with its call and returns the cause for which it had ended before, nil for none. It must have
// been touched.
func (c *callContext) retire() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.made.Load()
	cause := context.Cause(in)
	in.cancel()
	return cause
}
