//go:build synctests

package sim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/retrytopics"
)

// seen is a record of one of our topics, and when it was first seen in the log.
type seen struct {
	*kgo.Record
	at  time.Time
	env retrytopics.Envelope
	bad error
}

type logPlace struct {
	topic     string
	partition int32
}

// committed is what the group had committed for a partition at a time.
type committed struct {
	at       time.Time
	offset   int64
	settled  offsets.Settled
	tenure   int64
	metadata string
}

// watcher reads everything that the workers write, as it comes, and notes the commits.
type watcher struct {
	w    *world
	cl   *kgo.Client
	stop func()

	mu      sync.Mutex
	logs    map[logPlace][]seen
	epochs  map[logPlace]int32 // leader epoch of the newest record
	commits map[logPlace][]committed
	owners  map[tenureID]string
	moves   int // of leaders
	shrunk  []string
}

type tenureID struct {
	partition int32
	number    int64
}

func (v *watcher) start(w *world) error {
	v.w = w
	v.epochs, v.owners = map[logPlace]int32{}, map[tenureID]string{}
	v.logs, v.commits = map[logPlace][]seen{}, map[logPlace][]committed{}
	var err error
	v.cl, err = kgo.NewClient(
		kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.vn.DialContext), kgo.DisableClientMetrics(),
		kgo.ConsumeRegex(), kgo.ConsumeTopics(`^orders`), kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(2*time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { v.read(ctx) })
	loops.Go(func() { v.sample(ctx) })
	v.stop = func() {
		cancel()
		v.cl.Close()
		loops.Wait()
	}
	return nil
}

func (v *watcher) read(ctx context.Context) {
	for ctx.Err() == nil {
		f := v.cl.PollFetches(ctx)
		if f.IsClientClosed() {
			return
		}
		v.mu.Lock()
		n := 0
		f.EachRecord(func(r *kgo.Record) {
			n++
			s := seen{Record: r, at: time.Now()}
			s.env, _, s.bad = retrytopics.ParseEnvelope(r.Headers)
			at := logPlace{r.Topic, r.Partition}
			v.logs[at] = append(v.logs[at], s)
			v.epochs[at] = r.LeaderEpoch
		})
		v.mu.Unlock()
		if n == 0 {
			pause(100*time.Millisecond, ctx.Done())
		}
	}
}

// sample looks at the committed offsets again and again: knowledge that was committed never shrinks (L6).
func (v *watcher) sample(ctx context.Context) {
	for ctx.Err() == nil {
		v.look()
		v.w.reap(ctx)
		pause(500*time.Millisecond, ctx.Done())
	}
}

func (v *watcher) look() {
	info := v.w.cluster.GroupInfo(groupName)
	if info == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for topic, partitions := range info.Commits {
		for p, c := range partitions {
			v.note(logPlace{topic, p}, c)
		}
	}
}

func (v *watcher) note(at logPlace, c kfake.GroupCommit) {
	offset, metadata := c.Offset, c.Metadata
	past := v.commits[at]
	if n := len(past); n > 0 && past[n-1].offset == offset && past[n-1].metadata == metadata {
		return
	}
	m, err := offsets.Decode(metadata, offset)
	if err != nil {
		v.shrunk = append(v.shrunk, fmt.Sprintf("L6: metadata of %s/%d at %d: %v", at.topic, at.partition, offset, err))
	}
	now := committed{at: c.At, offset: offset, settled: m.Settled, metadata: metadata}
	if m.Lane != nil {
		now.tenure = m.Lane.Tenure
	}
	if n := len(past); n > 0 {
		if off, shrinks := shrink(past[n-1], now); shrinks {
			v.shrunk = append(v.shrunk, fmt.Sprintf("L6: %s/%d knew %d as settled at %s (commit at %d), and not any more at %s (commit at %d)",
				at.topic, at.partition, off, v.w.clock(past[n-1].at), past[n-1].offset, v.w.clock(now.at), offset))
		}
	}
	v.commits[at] = append(past, now)
}

// shrink returns an offset that was known as settled before and is not now.
func shrink(before, now committed) (offset int64, shrinks bool) {
	for off := now.offset; off < before.offset; off++ {
		if !now.settled.Contains(off) {
			return off, true
		}
	}
	before.settled.Each(func(off int64) {
		if off >= now.offset && !now.settled.Contains(off) {
			offset, shrinks = off, true
		}
	})
	return offset, shrinks
}

// ownedUntil returns a time at which another process than the owner of a tenure still owned the partition before it: it
// committed then. What was in the log by that time, the tenure has scanned. One process may have several numbers in a row.
func (v *watcher) ownedUntil(partition int32, fence int64) (at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	owner := v.owners[tenureID{partition, fence}]
	for _, c := range v.commits[logPlace{sourceTopic, partition}] {
		if c.tenure > 0 && c.tenure < fence && v.owners[tenureID{partition, c.tenure}] != owner && c.at.After(at) {
			at = c.at
		}
	}
	return at
}

// sent notes whose tenure a commit shows.
func (v *watcher) sent(process string, request []byte) {
	r := kbin.Reader{Src: request[6:]}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.SetVersion(r.Int16())
	r.Int32()
	r.NullableString()
	if req.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	if req.ReadFrom(r.Src) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			if p.Metadata == nil {
				continue
			}
			if m, err := offsets.Decode(*p.Metadata, p.Offset); err == nil && m.Lane != nil {
				v.owners[tenureID{p.Partition, m.Lane.Tenure}] = process
			}
		}
	}
}

// lastCommit returns when a tenure was last seen to commit.
func (v *watcher) lastCommit(partition int32, fence int64) (at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.commits[logPlace{sourceTopic, partition}] {
		if c.tenure == fence {
			at = c.at
		}
	}
	return at
}

// marks returns what the idempotency partition says, in the order of the log.
func (v *watcher) marks(partition int32, each func(*dedupe.Mark, seen)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.logs[logPlace{v.w.names.Idempotency(), partition}] {
		m := new(dedupe.Mark)
		if m.Decode(s.Key, s.Value) == nil {
			each(m, s)
		}
	}
}

// copies calls each for every readable record of our data topics.
func (v *watcher) copies(each func(role retrytopics.Role, s seen)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for at, log := range v.logs {
		role, ok := v.w.names.Role(at.topic)
		if !ok || role == retrytopics.RoleIdempotency || strings.HasSuffix(at.topic, ".control") {
			continue
		}
		for _, s := range log {
			each(role, s)
		}
	}
}

// clock returns a time as it is since the world began.
func (w *world) clock(t time.Time) string {
	return fmt.Sprintf("%.3fs", t.Sub(w.cfg.start).Seconds())
}

// epochEnd answers in the broker's place what it gets wrong: after an election that no record has followed yet, it does not
// know the epoch before it. A real one notes each epoch when its leader begins. It is called on the cluster's goroutine.
func (v *watcher) epochEnd(r kmsg.Request) (kmsg.Response, error, bool) {
	v.w.cluster.KeepControl()
	req := r.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			newest, ok := v.epochs[logPlace{t.Topic, p.Partition}]
			if !ok || p.LeaderEpoch < newest || v.moves == 0 {
				return nil, nil, false
			}
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, p.LeaderEpoch, int64(1)<<40
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil, true
}
