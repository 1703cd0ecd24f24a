package worker

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/lane"
)

// maxOut bounds the calls of a lane that are handed to the slots and not back yet, beyond twice the number of slots. What is
// handed over stays in the processor's cache that way: with 4,096 a record costs a third more on twelve lanes. And due retries
// are not held up by what has been handed over before.
const maxOut = 512

// admitAtOnce bounds the records that are turned into copies at a time.
const admitAtOnce = 512

// backlog holds the fetched records of one part that the machine has not admitted yet.
type backlog struct {
	batches []batch
	first   int // of batches: the first that is left
	skip    int // records of it that were admitted
	bytes   int64
	open    bool // its partition is fetched
	added   bool // the reader knows it
}

func (b *backlog) add(n batch) {
	if b.first > 0 && b.first == len(b.batches) {
		clear(b.batches)
		b.batches, b.first = b.batches[:0], 0
	}
	b.batches = append(b.batches, n)
	b.bytes += n.bytes
}

func (b *backlog) empty() bool { return b.first == len(b.batches) }

// next returns up to n records that are consecutive in the backlog.
func (b *backlog) next(n int) []*kgo.Record {
	r := b.batches[b.first].records[b.skip:]
	return r[:min(n, len(r))]
}

// drop forgets the first n of the records that next returned.
func (b *backlog) drop(n int) {
	b.skip += n
	if batch := &b.batches[b.first]; b.skip == len(batch.records) {
		b.bytes -= batch.bytes
		*batch = batch.zero()
		b.first++
		b.skip = 0
	}
}

func (batch) zero() batch { return batch{} }

func (b *backlog) clear() { *b = backlog{open: b.open, added: b.added} }

// admit hands records to the machine, due retries before new records, and says whether it may be worth while to go on after
// the machine has flushed.
func (t *tenure) admit() (more bool) {
	if t.m.Phase() != lane.Running {
		return false
	}
	for p := len(t.backlog) - 1; p >= 0; p-- {
		b := &t.backlog[p]
		for !b.empty() && (p > 0 || t.out < t.maxOut) {
			n := t.admitSome(lane.Part(p), b)
			if n == 0 {
				break
			}
			if p == 0 {
				return true // let what is ready go to the slots first
			}
		}
	}
	return false
}

func (t *tenure) admitSome(p lane.Part, b *backlog) (admitted int) {
	records := b.next(admitAtOnce)
	if cap(t.copies) < len(records) {
		t.copies = make([]lane.Copy, admitAtOnce)
	}
	copies := t.copies[:0]
	position := t.m.Position(p)
	taken := 0
	t.touch(records)
	for _, rec := range records {
		if rec.Offset < position {
			t.restart(errTruncated) // fetched in order, so the log is another one
			return 0
		}
		position = rec.Offset + 1
		taken++
		if rec.Attrs.IsControl() {
			continue
		}
		if p == lane.Source && rec.LeaderEpoch != t.epoch && !t.sameLog(rec) {
			return 0
		}
		copies = append(copies, lane.Copy{})
		if p == lane.Source {
			t.reading.source(&copies[len(copies)-1], rec)
		} else {
			t.reading.stage(&copies[len(copies)-1], p, rec, true)
		}
	}
	n := t.m.Fetched(p, copies, position)
	if n < len(copies) {
		taken = t.recordsOf(records, copies[n].Offset)
	}
	clear(copies)
	if p == lane.Source {
		t.figures.admitted(records[:taken])
	}
	b.drop(taken)
	return taken
}

// touch reads something of every record before the records are worked on one by one. They were decoded a while ago, and waiting
// for memory once for many of them is far cheaper than once for each.
func (t *tenure) touch(records []*kgo.Record) {
	var sum int64
	for _, r := range records {
		sum += r.Offset
		if len(r.Key) > 0 {
			sum += int64(r.Key[0])
		}
	}
	t.touched = sum
}

// recordsOf returns how many of the records lie before an offset.
func (t *tenure) recordsOf(records []*kgo.Record, offset int64) int {
	for i, r := range records {
		if r.Offset >= offset {
			return i
		}
	}
	return len(records)
}

// control opens and pauses the lane's partitions at the readers.
func (t *tenure) control() {
	for p := range t.backlog {
		b := &t.backlog[p]
		want := t.m.Fetch(lane.Part(p)) == lane.Open
		budget := t.w.laneBudget()
		switch {
		case b.bytes > budget:
			want = false
		case b.added && !b.open && (b.bytes > budget/2 || !t.m.Resumes(lane.Part(p))):
			want = false // resume at half: frequent pauses collapse a partition (R20)
		}
		if p == 0 {
			t.crowded = want && t.tooManyWait()
			want = want && !t.crowded
		}
		if want == b.open && (b.added || !want) {
			continue
		}
		r := t.w.readerOf(lane.Part(p))
		if !b.added {
			r.add(t, lane.Part(p), t.m.Position(lane.Part(p)))
			b.added = true
		} else {
			r.pause(t.topic.parts[p], t.partition, !want)
		}
		b.open = want
	}
}

// tooManyWait says whether the process remembers so many waiting records that its lanes take no new ones (R44). A lane that is
// stopped goes on once a tenth of the room is free again.
func (t *tenure) tooManyWait() bool {
	limit := t.w.cfg.MaxWaiting
	if source := &t.backlog[lane.Source]; source.added && !source.open {
		limit -= limit / 10
	}
	return t.w.waiting.Load() >= limit && t.m.IsPastWaiting()
}

// closeParts takes the lane's partitions from the readers.
func (t *tenure) closeParts() {
	for p := range t.backlog {
		if t.backlog[p].added {
			t.w.readerOf(lane.Part(p)).remove(t, lane.Part(p))
		}
	}
}
