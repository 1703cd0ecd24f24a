package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/laneway-go/laneway/internal/lane"
)

// The stages and the replay topic keep their records for ever as far as the broker goes: its clock must not delete what is
// still owed (R36). So the owner deletes what has settled, is committed, and is old enough that nobody asks for its story.

// trimEvery is the time between two trims; they need not be punctual.
const trimEvery = 5 * time.Minute

func (w *Worker) trim(ctx context.Context) {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	warned := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := w.trimOnce(ctx, time.Now().Add(-w.cfg.KeepSettled))
		if err != nil && !warned && ctx.Err() == nil {
			w.cfg.Logger.Warn("settled records of the delay topics were not trimmed, they stay", slog.Any("error", err))
		}
		warned = err != nil
	}
}

// trimOnce deletes, in all lanes that this process owns, settled and committed records that were appended before a time.
func (w *Worker) trimOnce(ctx context.Context, before time.Time) error {
	upTo := kadm.Offsets{}
	w.lanes.each(func(t *tenure) {
		committed := t.committedTo.Load()
		if committed == nil {
			return
		}
		for p := lane.Replay; int(p) < len(*committed); p++ {
			upTo.AddOffset(t.topic.parts[p], t.partition, (*committed)[p], -1)
		}
	})
	if len(upTo) == 0 {
		return nil
	}
	var names []string
	for name := range upTo {
		names = append(names, name)
	}
	starts, err := w.admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return fmt.Errorf("list start offsets: %w", err)
	}
	young, err := w.admin.ListOffsetsAfterMilli(ctx, before.UnixMilli(), names...)
	if err != nil {
		return fmt.Errorf("list offsets by time: %w", err)
	}
	upTo.Each(func(o kadm.Offset) {
		start, ok := starts.Lookup(o.Topic, o.Partition)
		first, found := young.Lookup(o.Topic, o.Partition)
		if !ok || !found || start.Err != nil || first.Err != nil || min(o.At, first.Offset) <= start.Offset {
			delete(upTo[o.Topic], o.Partition)
			return
		}
		o.At = min(o.At, first.Offset)
		upTo[o.Topic][o.Partition] = o
	})
	deleted, err := w.admin.DeleteRecords(ctx, upTo)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		return fmt.Errorf("delete records: %w", err)
	}
	return nil
}
