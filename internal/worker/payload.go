package worker

import (
	"context"
	"hash/maphash"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/retrytopics"
)

// The payload that the machine hands back for a record is the *kgo.Record itself where it was read from the source, and a
// *stored where it was read from the replay topic or a stage.

// stored is a record with its envelope.
type stored struct {
	*kgo.Record
	env  retrytopics.Envelope
	user []kgo.RecordHeader
	due  int64 // ms; 0 for a record of the replay topic
}

// reading turns records into copies for one machine.
type reading struct {
	topic  *topic
	m      *lane.Machine
	id     origin.TopicID // of the source
	seed   maphash.Seed
	hasher dedupe.Hasher
	epoch  int32 // of gen
	gen    lane.Gen
	hasGen bool
	ids    []origin.TopicID // of the parts
}

// source fills in the copy of a source record. This is on the plain path.
func (r *reading) source(c *lane.Copy, rec *kgo.Record) {
	if !r.hasGen || rec.LeaderEpoch != r.epoch {
		r.epoch, r.gen, r.hasGen = rec.LeaderEpoch, r.m.Gen(r.id, rec.LeaderEpoch), true
	}
	*c = lane.Copy{
		Offset: rec.Offset, Epoch: rec.LeaderEpoch, ID: lane.ID{Offset: rec.Offset, Gen: r.gen}, Payload: rec,
	}
	if rec.Key != nil {
		c.Key, c.Keyed = maphash.Bytes(r.seed, rec.Key), true
	}
	if r.topic.Mode != lane.Off && !r.topic.Key.Default() {
		r.userKey(c, rec)
	}
}

func (r *reading) userKey(c *lane.Copy, rec *kgo.Record) {
	x, ok, err := r.topic.Key.Of(rec)
	switch {
	case err != nil:
		c.Broken = true
	case ok:
		c.X, c.HasX = r.hasher.Sum(x), true
	}
}

// stage fills in the copy of a record from the replay topic or a stage. What is not readable as one of ours becomes a record
// of its own, named by its place, that goes to the dlt. keep says whether the payload is wanted.
func (r *reading) stage(c *lane.Copy, p lane.Part, rec *kgo.Record, keep bool) {
	s := &stored{Record: rec}
	var err error
	s.env, s.user, err = retrytopics.ParseEnvelope(rec.Headers)
	e := &s.env
	*c = lane.Copy{Offset: rec.Offset, Epoch: rec.LeaderEpoch}
	if err != nil && e.Origin.Topic == "" || e.Origin.Topic != r.topic.parts[lane.Source] || e.Origin.Partition != rec.Partition {
		e.Origin = origin.Origin{Topic: rec.Topic, TopicID: r.ids[p], Partition: rec.Partition, LeaderEpoch: rec.LeaderEpoch, Offset: rec.Offset}
		c.Broken = true
	}
	c.ID = lane.ID{Offset: e.Origin.Offset, Run: e.Run, Gen: r.m.Gen(e.Origin.TopicID, e.Origin.LeaderEpoch)}
	c.Hop, c.Attempt, c.Snoozes = e.Hop, clip16(e.Attempt), clip16(e.Snoozes)
	c.Force = e.Force
	if rec.Key != nil && !c.Broken {
		c.Key, c.Keyed = maphash.Bytes(r.seed, rec.Key), true
	}
	if e.IdempotencyKey != "" && r.topic.Mode != lane.Off && !r.topic.Key.Default() {
		c.X, c.HasX = r.hasher.Sum([]byte(e.IdempotencyKey)), true
	}
	if p >= lane.FirstStage {
		due, _ := retrytopics.ClampDue(e.Due, rec.Timestamp, r.topic.delay(p), r.topic.Policy)
		c.Due = ceilMilli(due)
		s.due = c.Due
		c.Until = milli(e.Until)
	}
	c.Since = milli(e.FirstFailedAt)
	if keep {
		c.Payload = s
	}
}

func clip16(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func ceilMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// originOf returns the origin of a record.
func (t *topic) originOf(payload any, topicID origin.TopicID) origin.Origin {
	switch p := payload.(type) {
	case *kgo.Record:
		return origin.Origin{Topic: p.Topic, TopicID: topicID, Partition: p.Partition, LeaderEpoch: p.LeaderEpoch, Offset: p.Offset}
	case *stored:
		return p.env.Origin
	}
	return origin.Origin{}
}

// keyOf returns the idempotency key that the user gave the record; nil if there is none.
func (t *topic) keyOf(payload any) []byte {
	switch p := payload.(type) {
	case *kgo.Record:
		if x, ok, err := t.Key.Of(p); err == nil && ok {
			return x
		}
	case *stored:
		if p.env.IdempotencyKey != "" {
			return []byte(p.env.IdempotencyKey)
		}
	}
	return nil
}

// IdempotencyKey returns what makes two records the same work: the user's key, or the origin.
func (d *Delivery) IdempotencyKey() []byte {
	var payload any = d.Record
	if d.Envelope != nil {
		payload = &stored{Record: d.Record, env: *d.Envelope}
	}
	if x := d.lane.topic.keyOf(payload); x != nil {
		return x
	}
	return dedupe.OriginKey(d.Origin())
}

// Origin returns the name of the source record.
func (d *Delivery) Origin() origin.Origin {
	if d.Envelope != nil {
		return d.Envelope.Origin
	}
	return d.lane.topic.originOf(d.Record, d.lane.sourceID)
}

// userHeaders returns the headers of a source record without those that only look like ours: anyone may write there, and the
// next copy will not carry them either. The slice is a new one only if there are such.
func userHeaders(headers []kgo.RecordHeader) []kgo.RecordHeader {
	for i := range headers {
		if strings.HasPrefix(headers[i].Key, retrytopics.HeaderPrefix) {
			return retrytopics.UserHeaders(headers)
		}
	}
	return headers
}

// slotScratch is what a slot keeps from call to call.
type slotScratch struct {
	delivery Delivery
	user     any
}

// call makes one handler call.
func (t *topic) call(ctx context.Context, slot *dispatch.Slot, task *dispatch.Task) error {
	s, _ := slot.Scratch.(*slotScratch)
	if s == nil {
		s = &slotScratch{}
		slot.Scratch = s
	}
	d, due := &s.delivery, int64(0)
	switch p := task.Payload.(type) {
	case *kgo.Record:
		*d = Delivery{Record: p, Headers: userHeaders(p.Headers)}
	case *stored:
		*d = Delivery{Record: p.Record, Envelope: &p.env, Headers: p.user}
		due = p.due
	}
	owner, _ := slot.Owner().(*tenure) // all owners are
	d.Attempt, d.Fence, d.lane = int(task.Attempt)+1, owner.fence.Load(), owner
	if t.meter.on {
		return t.timed(ctx, &s.user, d, due)
	}
	return t.Handle(ctx, &s.user, d)
}

// Produce writes an output of the handler through the worker's producer; partition and topic are the caller's to choose. The
// promise is called once, from another goroutine.
func (d *Delivery) Produce(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
	d.lane.w.outputs.Produce(ctx, r, promise)
}
