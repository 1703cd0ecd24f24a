package processor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/worker"
)

// call is what a slot reuses from one handler call to the next.
type call struct {
	message  Message
	delivery *worker.Delivery
	outputs  *outputs
}

// outputs collects what the handler produces; they are acknowledged before the record settles.
type outputs struct {
	wait sync.WaitGroup
	mu   sync.Mutex
	errs []error
	used bool
}

// caller turns the worker's deliveries into messages for a handler.
func (p *Processor) caller(h Handler) worker.HandleFunc {
	return func(ctx context.Context, scratch *any, d *worker.Delivery) error {
		c, _ := (*scratch).(*call)
		if c == nil {
			c = &call{outputs: &outputs{}}
			c.message.call = c
			*scratch = c
		}
		c.delivery = d
		c.fill(d)
		err := h.Handle(ctx, &c.message)
		if c.outputs.used {
			err = c.await(err)
		}
		return err
	}
}

// fill makes the message of a delivery. It is on the plain path: nothing is copied that the record holds.
func (c *call) fill(d *worker.Delivery) {
	if c.outputs.used {
		c.outputs = &outputs{} // those of a call that panicked are not this record's
	}
	m, r := &c.message, d.Record
	m.Topic, m.Partition, m.Offset, m.Timestamp = r.Topic, r.Partition, r.Offset, r.Timestamp
	m.Key, m.Value, m.Headers = r.Key, r.Value, d.Headers
	m.Attempt, m.Fence, m.Origin = d.Attempt, d.Fence, d.Origin()
	if e := d.Envelope; e != nil {
		m.Topic, m.Offset, m.Timestamp = e.Origin.Topic, e.Origin.Offset, e.OriginTimestamp
		m.Snoozes, m.FirstFailedAt, m.Run = e.Snoozes, e.FirstFailedAt, e.Run
		return
	}
	m.Snoozes, m.Run = 0, 0
	m.FirstFailedAt = time.Time{}
}

// await waits for the outputs. A handler that succeeded has failed if one of them has.
func (c *call) await(err error) error {
	o := c.outputs
	o.wait.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	errs := o.errs
	o.errs, o.used = nil, false
	if err != nil || len(errs) == 0 {
		return err
	}
	return errors.Join(errs...)
}

func (c *call) produce(ctx context.Context, r *kgo.Record) error {
	o := c.outputs
	o.mu.Lock()
	o.used = true
	o.mu.Unlock()
	o.wait.Add(1)
	c.delivery.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			o.mu.Lock()
			o.errs = append(o.errs, err)
			o.mu.Unlock()
		}
		o.wait.Done()
	})
	return ctx.Err()
}
