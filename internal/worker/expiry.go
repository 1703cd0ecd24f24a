package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/origin"
)

// A topic that is compacted does not lose its old keys by retention as long as it is written to, so the owner removes the
// marks that are older than the window (R36): now and then it reads its idempotency partition, and writes tombstones for what
// the machine may forget, at a bounded rate.

const (
	expireEvery = time.Hour   // between two readings of the partition
	expireAfter = time.Minute // after the take-over, the first one
	expireBatch = 200         // marks looked at in a round of the lane; each may cost a look at all waiting records
	expirePause = time.Second // between two such rounds
)

// positionEvery is how often an owner writes down how far it has read the source, for a group that loses its offsets (R24).
const positionEvery = time.Hour

// expire reads the marks of the lane again and again, and hands the old ones to the lane's goroutine.
func (t *tenure) expire(ctx context.Context) {
	timer := time.NewTimer(expireAfter)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		t.expireOnce(ctx, timer)
		timer.Reset(expireEvery)
	}
}

// expireOnce goes through the partition once. Marks of chunks go last: their newest record decides, and it is read by then.
func (t *tenure) expireOnce(ctx context.Context, timer *time.Timer) {
	var old []oldMark
	before := time.Now().Add(-t.topic.MarkWindow).UnixMilli()
	err := t.w.scan(ctx, t.topic.Names.Idempotency(), t.partition, 0, func(rec *kgo.Record) {
		var m dedupe.Mark
		if m.Decode(rec.Key, rec.Value) != nil || m.Tombstone || m.At >= before {
			return
		}
		m.Key = append([]byte(nil), m.Key...)
		old = append(old, oldMark{key: append([]byte(nil), rec.Key...), mark: m})
	})
	if err != nil {
		if ctx.Err() == nil {
			t.log.Warn("old marks were not read", slog.Any("error", err))
		}
		return
	}
	for len(old) > 0 {
		n := min(len(old), expireBatch)
		some := old[:n:n]
		old = old[n:]
		t.in.put(func(n *news) { n.old = append(n.old, some...) })
		timer.Reset(expirePause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// oldMark is a mark older than the window, and the key of its record.
type oldMark struct {
	key  []byte
	mark dedupe.Mark
}

// forget removes old marks, from the machine's memory and, by a tombstone of their exact key, from the topic. A tombstone that
// is lost is written by the next reading.
func (t *tenure) forget(old []oldMark) {
	before := t.now.Add(-t.topic.MarkWindow).UnixMilli()
	for i := range old {
		m := &old[i].mark
		if m.Kind == dedupe.Position {
			if m.Tenure < t.m.Tenure() {
				t.bury(old[i].key)
			}
			continue
		}
		k, ok := t.laneMark(m)
		if !ok || !t.m.MayForget(k, before) {
			continue
		}
		t.m.Forget(k)
		t.bury(old[i].key)
	}
}

// bury writes a tombstone.
func (t *tenure) bury(key []byte) {
	t.w.marker.TryProduce(t.w.ctx, &kgo.Record{Topic: t.topic.Names.Idempotency(), Partition: t.partition, Key: key}, nil)
}

// writePosition writes down how far the source has been settled, in a mark that outlives the group's offsets.
func (t *tenure) writePosition() {
	if t.topic.Mode == lane.Off || t.m.Tenure() == 0 {
		return
	}
	t.lastPosition = t.now
	_, lowest := t.m.Lag(lane.Source)
	m := dedupe.Mark{
		Kind: dedupe.Position, Tenure: t.m.Tenure(), At: t.now.UnixMilli(), Position: lowest,
		Identity: dedupe.Identity{Origin: origin.Origin{TopicID: t.sourceID, Partition: t.partition, LeaderEpoch: t.epoch}},
	}
	t.w.marker.TryProduce(t.w.ctx, t.marked(&m), nil)
}
