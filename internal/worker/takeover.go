package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/lane"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/internal/origin"
)

// takeOver reads what the group has committed for the lane, makes the machine, and scans the marks, the replay topic and the
// stages to their present ends (R24, R25, R41). Nothing starts before all of that is done; ctx ends it early.
func (t *tenure) takeOver(ctx context.Context) error {
	began := time.Now()
	t.now = began
	in, err := t.inherit(ctx)
	if err != nil {
		return err
	}
	cfg := t.topic.laneConfig()
	t.m = lane.New(cfg, in, began.UnixMilli())
	t.reading = reading{
		topic: t.topic, m: t.m, id: t.sourceID, seed: t.w.seed, hasher: t.w.hasher, ids: make([]origin.TopicID, len(t.topic.parts)),
	}
	for p := range in.Parts {
		t.reading.ids[p] = in.Parts[p].Topic
	}
	t.epoch = -1
	if epochs := in.Parts[lane.Source].Epochs; len(epochs) > 0 {
		t.epoch = epochs[0].Epoch // a log that is cut while the scans run is noticed by the first record (R41)
	}
	t.report()
	if err := t.scanAll(ctx); err != nil {
		return err
	}
	if err := t.askEpochEnds(ctx); err != nil {
		return err
	}
	t.log.Info("lane taken over", slog.Int64("source_offset", in.Parts[lane.Source].Offset), slog.Duration("scan", time.Since(began)))
	t.in.signal()
	return nil
}

func (t *tenure) scanAll(ctx context.Context) error {
	if t.topic.Mode != lane.Off {
		if err := t.scanMarks(ctx); err != nil {
			return err
		}
		t.m.MarksScanned()
	}
	for p := lane.Replay; int(p) < len(t.topic.parts); p++ {
		copies := t.copies[:0]
		err := t.w.scan(ctx, t.topic.parts[p], t.partition, t.m.Position(p), func(rec *kgo.Record) {
			var c lane.Copy
			t.reading.stage(&c, p, rec, false)
			t.figures.reaches(p, rec.Offset)
			copies = append(copies, c)
			if len(copies) == admitAtOnce {
				t.m.Scanned(p, copies)
				copies = copies[:0]
			}
		})
		if err != nil {
			return err
		}
		t.m.Scanned(p, copies)
		t.m.PartScanned(p)
	}
	return nil
}

// scanMarks reads the idempotency partition from its start.
func (t *tenure) scanMarks(ctx context.Context) error {
	var m dedupe.Mark
	damaged := 0
	err := t.w.scan(ctx, t.topic.Names.Idempotency(), t.partition, 0, func(rec *kgo.Record) {
		if err := m.Decode(rec.Key, rec.Value); err != nil {
			damaged++
			return
		}
		t.mark(&m)
	})
	if damaged > 0 {
		t.log.Warn("marks were not readable", slog.Int("records", damaged))
	}
	return err
}

// mark hands a mark to the machine.
func (t *tenure) mark(m *dedupe.Mark) {
	if k, ok := t.laneMark(m); ok {
		t.m.Marked(k)
	}
}

// laneMark returns a mark in the machine's terms; false for one that means nothing to it.
func (t *tenure) laneMark(m *dedupe.Mark) (k lane.Mark, ok bool) {
	k = lane.Mark{Tenure: m.Tenure, At: m.At, Tries: uint32(max(m.Tries, 0)), Reason: lane.ParseReason(m.Reason)}
	switch m.Kind {
	case dedupe.Done:
		k.Kind = lane.DoneMark
	case dedupe.Terminal:
		k.Kind = lane.TerminalMark
	case dedupe.Claim:
		k.Kind = lane.ClaimMark
		if m.Tombstone {
			k.Kind = lane.ClaimRelease
		}
	case dedupe.Dense:
		k.Kind = lane.ChunkMark
		k.Chunk = lane.ChunkID{Index: m.Chunk.Index, Gen: t.m.Gen(m.Chunk.TopicID, m.Chunk.Epoch)}
		k.Bits = &m.Bits
	case dedupe.Position:
		return k, false
	}
	if m.Tombstone && m.Kind != dedupe.Claim {
		return k, false
	}
	if m.Kind != dedupe.Dense {
		k.ID = lane.ID{Offset: m.Identity.Offset, Run: m.Identity.Run, Gen: t.m.Gen(m.Identity.TopicID, m.Identity.LeaderEpoch)}
	}
	if len(m.Key) > 0 {
		k.X, k.HasX = t.w.hasher.Sum(m.Key), true
	}
	return k, true
}

// inherit reads the committed offsets and fits them to the logs of today.
func (t *tenure) inherit(ctx context.Context) (lane.Inherited, error) {
	ids, err := t.w.topicIDs(ctx, t.topic.parts)
	if err != nil {
		return lane.Inherited{}, err
	}
	t.sourceID = ids[0]
	committed, err := t.w.admin.FetchOffsetsForTopics(kadm.RequireStable(ctx), t.w.cfg.Group, t.topic.parts...)
	if err != nil {
		return lane.Inherited{}, fmt.Errorf("fetch committed offsets of %s/%d: %w", t.topic.parts[0], t.partition, err)
	}
	bounds, err := t.w.bounds(ctx, t.topic.parts, t.partition)
	if err != nil {
		return lane.Inherited{}, err
	}
	in := lane.Inherited{Topic: ids[0], Parts: make([]lane.InheritedPart, len(t.topic.parts))}
	for p := range in.Parts {
		o, _ := committed.Lookup(t.topic.parts[p], t.partition)
		part, state, err := t.inheritPart(ctx, lane.Part(p), o, ids[p], bounds[p])
		if err != nil {
			return lane.Inherited{}, err
		}
		in.Parts[p] = part
		if p == 0 && state != nil {
			in.Lane = *state
		}
	}
	if o, _ := committed.Lookup(t.topic.parts[0], t.partition); o.At < 0 {
		in.Parts[0].Offset, err = t.resolveStart(ctx, committed, ids[0], bounds[0])
	}
	return in, err
}

// span is the first offset of a partition's log and the one behind the last.
type span struct{ start, end int64 }

// inheritPart fits what was committed for a part to its log (R24, R41).
func (t *tenure) inheritPart(ctx context.Context, p lane.Part, o kadm.OffsetResponse, id origin.TopicID, log span) (lane.InheritedPart, *offsets.LaneState, error) {
	fresh := lane.InheritedPart{Topic: id, Offset: log.start}
	if o.At < 0 {
		return fresh, nil, nil
	}
	meta, err := offsets.Decode(o.Metadata, o.At)
	if err != nil && !errors.Is(err, offsets.ErrForeign) {
		t.log.Warn("commit metadata is not readable, nothing counts as settled",
			slog.String("topic", t.topic.parts[p]), slog.Any("error", err))
	}
	if meta.TopicID != (origin.TopicID{}) && id != (origin.TopicID{}) && meta.TopicID != id {
		t.log.Warn("topic was created anew since the last commit", slog.String("topic", t.topic.parts[p]))
		return fresh, meta.Lane, nil
	}
	if o.At < log.start {
		// What the broker deleted is nobody's any more. What had settled above it stays settled.
		t.log.Warn("records were deleted before they were read", slog.String("topic", t.topic.parts[p]), slog.Int64("records", log.start-o.At))
	}
	at, settled, epochs := o.At, meta.Settled, meta.Epochs
	fork, known, err := t.fork(ctx, p, epochs)
	switch {
	case err != nil:
		return fresh, nil, err
	case !known:
		return fresh, meta.Lane, nil
	case fork < at || fork < settled.Upto:
		// The metadata speaks beyond the end of the log, of what was not there yet as unsettled: that alone is no cut.
		if kept := settled.Below(fork); fork < at || kept.Len() < settled.Len() {
			t.log.Warn("log was cut", slog.String("topic", t.topic.parts[p]), slog.Int64("fork", fork))
		}
		at, settled, epochs = min(at, fork), settled.Below(fork), epochs.Below(fork)
	case at > log.end:
		at, settled = log.end, settled.Below(log.end)
	}
	return lane.InheritedPart{Topic: id, Offset: max(at, log.start), Settled: settled, Epochs: epochs}, meta.Lane, nil
}

// fork finds out from where on the log of a part is not the one that was read (R41).
func (t *tenure) fork(ctx context.Context, p lane.Part, epochs offsets.Epochs) (fork int64, known bool, err error) {
	fork, known = offsets.Fork(epochs, func(epoch int32) (int32, int64, bool) {
		if err != nil {
			return 0, 0, false
		}
		var answered int32
		var end int64
		answered, end, err = t.w.epochEnd(ctx, t.topic.parts[p], t.partition, epoch)
		return answered, end, err == nil && answered >= 0
	})
	return fork, known, err
}

// sameLog looks, at the first source record of another leader epoch, whether the log was cut below what was read (R41). If so
// the tenure ends.
func (t *tenure) sameLog(rec *kgo.Record) bool {
	if t.epoch >= 0 {
		fork, known, err := t.fork(t.w.ctx, lane.Source, t.m.Epochs(lane.Source))
		if err != nil {
			t.log.Warn("leader epoch was not found out, trying again", slog.Any("error", err))
			t.in.signal()
			return false
		}
		if !known || fork < t.m.Position(lane.Source) {
			t.restart(errTruncated)
			return false
		}
	}
	t.epoch = rec.LeaderEpoch
	return true
}

// askEpochEnds learns where the older leader epochs end whose records wait in the stages (R10).
func (t *tenure) askEpochEnds(ctx context.Context) error {
	for _, epoch := range t.m.Generations() {
		answered, end, err := t.w.epochEnd(ctx, t.topic.parts[0], t.partition, epoch)
		if err != nil {
			return err
		}
		if current, err := t.w.leaderEpoch(ctx, t.topic.parts[0], t.partition); err != nil {
			return err
		} else if epoch != current && answered >= 0 {
			t.m.EpochEnds(epoch, end)
		}
	}
	return nil
}

// resolveStart finds the first offset of a source partition that the group has never committed (R24).
func (t *tenure) resolveStart(ctx context.Context, committed kadm.OffsetResponses, id origin.TopicID, log span) (int64, error) {
	if t.topic.Mode != lane.Off {
		if at, ok, err := t.remembered(ctx, id); err != nil {
			return 0, err
		} else if ok {
			t.log.Info("group had lost its offsets, going on from the remembered position", slog.Int64("offset", at))
			return min(max(at, log.start), log.end), nil
		}
	}
	if t.isNewer(committed) {
		return log.start, nil
	}
	s := t.topic.Start
	switch {
	case s.Latest:
		return log.end, nil
	case s.At.IsZero():
		return log.start, nil
	}
	listed, err := t.w.admin.ListOffsetsAfterMilli(ctx, s.At.UnixMilli(), t.topic.parts[0])
	if err != nil {
		return 0, fmt.Errorf("list offsets of %s after %s: %w", t.topic.parts[0], s.At, err)
	}
	o, ok := listed.Lookup(t.topic.parts[0], t.partition)
	if !ok || o.Err != nil {
		return 0, fmt.Errorf("list offsets of %s/%d after %s: %w", t.topic.parts[0], t.partition, s.At, errors.Join(o.Err, kerr.UnknownTopicOrPartition))
	}
	return max(o.Offset, log.start), nil
}

// isNewer says whether the partition has appeared after the group's first commit: those that have a commit all come before it. A
// lane of a new group that is slow to take over lies among them.
func (t *tenure) isNewer(committed kadm.OffsetResponses) bool {
	last := int32(-1)
	for p, o := range committed[t.topic.parts[0]] {
		if o.At >= 0 {
			last = max(last, p)
		}
	}
	if last < 0 {
		t.topic.first.Store(int32(len(committed[t.topic.parts[0]]))) // this is the group's first start
	}
	return last >= 0 && t.partition > last && t.partition >= t.topic.first.Load()
}

// remembered looks for a position that an earlier owner has written down, for a group that lost its offsets (R24).
func (t *tenure) remembered(ctx context.Context, id origin.TopicID) (at int64, ok bool, err error) {
	var m dedupe.Mark
	tenure := int64(-1)
	err = t.w.scan(ctx, t.topic.Names.Idempotency(), t.partition, 0, func(rec *kgo.Record) {
		if m.Decode(rec.Key, rec.Value) != nil || m.Kind != dedupe.Position || m.Tombstone || m.Tenure < tenure {
			return
		}
		if m.Identity.TopicID == id || m.Identity.TopicID == (origin.TopicID{}) {
			at, ok, tenure = m.Position, true, m.Tenure
		}
	})
	return at, ok, err
}
