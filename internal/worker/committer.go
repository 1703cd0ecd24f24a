package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/internal/lane"
)

// maxCommitBytes bounds one commit request: the client sends one at a time, and all lanes wait for it (R22).
const maxCommitBytes = 512 << 10

// commitTimeout bounds how long an answer is waited for. A commit that is still out then is sent again, as it is by then; the
// client itself may hold commits back while the group rebalances.
const commitTimeout = 20 * time.Second

// committer sends the lanes' snapshots, many in one request and one request at a time, off the lanes' goroutines.
type committer struct {
	w     *Worker
	mu    sync.Mutex
	queue []snapshot
	wake  chan struct{} // holds one token
}

type snapshot struct {
	lane   *tenure
	commit lane.Commit
}

func newCommitter(w *Worker) *committer { return &committer{w: w, wake: make(chan struct{}, 1)} }

// submit queues a snapshot; its answer comes into the lane's inbox.
func (c *committer) submit(s snapshot) {
	c.mu.Lock()
	c.queue = append(c.queue, s)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *committer) run(ctx context.Context) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		for {
			group := c.next()
			if len(group) == 0 {
				break
			}
			c.send(ctx, group)
		}
	}
}

// next takes whole lanes off the queue, as many as fit into one request.
func (c *committer) next() []snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes, n := 0, 0
	for ; n < len(c.queue); n++ {
		for _, p := range c.queue[n].commit.Parts {
			bytes += len(p.Metadata) + 64
		}
		if n > 0 && bytes > maxCommitBytes {
			break
		}
	}
	group := c.queue[:n:n]
	c.queue = c.queue[n:]
	return group
}

var (
	errMemberChanged = errors.New("the member id has changed since the lane was assigned")
	errLaneOver      = errors.New("a lane of the commit has ended")
)

// send commits a group of lanes. Each gets one answer: all of its partitions were stored, or not (R22).
func (c *committer) send(ctx context.Context, group []snapshot) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	member, generation := c.w.group.GroupMetadata()
	var sentIn atomic.Int32
	sentIn.Store(generation)
	live := group[:0:0]
	for _, s := range group {
		if s.lane.member != member {
			s.answer(generation, errMemberChanged)
			continue
		}
		live = append(live, s)
	}
	if len(live) == 0 {
		return
	}
	offsets := map[string]map[int32]kgo.EpochOffset{}
	metadata := map[topicPartition]string{}
	for _, s := range live {
		s.addTo(offsets, metadata)
	}
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		sentIn.Store(req.Generation)
		switch {
		case req.MemberID != member:
			return errMemberChanged // R23: under a new id it would succeed, and rewind the new owner
		case slices.ContainsFunc(live, snapshot.isOver):
			return errLaneOver // the client has held the commit back, and the lane may be somebody else's by now
		}
		for i := range req.Topics {
			t := &req.Topics[i]
			for j := range t.Partitions {
				text := metadata[topicPartition{t.Topic, t.Partitions[j].Partition}]
				t.Partitions[j].Metadata = &text
			}
		}
		return nil
	})
	var failed map[topicPartition]error
	var whole error
	answered := false
	c.w.group.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		answered, whole = true, err
		if err == nil {
			failed = partitionErrors(resp)
		}
	})
	if !answered && whole == nil {
		whole = errors.Join(context.Cause(ctx), errors.New("commit was not answered"))
	}
	for _, s := range live {
		s.answer(sentIn.Load(), errors.Join(whole, s.firstError(failed)))
	}
}

func partitionErrors(resp *kmsg.OffsetCommitResponse) map[topicPartition]error {
	failed := map[topicPartition]error{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				failed[topicPartition{t.Topic, p.Partition}] = fmt.Errorf("commit %s/%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	return failed
}

func (s snapshot) addTo(offsets map[string]map[int32]kgo.EpochOffset, metadata map[topicPartition]string) {
	for p, part := range s.commit.Parts {
		name := s.lane.topic.parts[p]
		if offsets[name] == nil {
			offsets[name] = map[int32]kgo.EpochOffset{}
		}
		offsets[name][s.lane.partition] = kgo.EpochOffset{Epoch: part.Epoch, Offset: part.Offset}
		metadata[topicPartition{name, s.lane.partition}] = part.Metadata
	}
}

func (s snapshot) firstError(failed map[topicPartition]error) error {
	for p := range s.commit.Parts {
		if err := failed[topicPartition{s.lane.topic.parts[p], s.lane.partition}]; err != nil {
			return err
		}
	}
	return nil
}

// isOver says whether the tenure has ended.
func (s snapshot) isOver() bool {
	select {
	case <-s.lane.done:
		return true
	default:
		return false
	}
}

func (s snapshot) answer(generation int32, err error) {
	s.lane.in.put(func(n *news) {
		n.commits = append(n.commits, answer{number: s.commit.Number, generation: generation, err: err})
	})
}

// isLoss says whether a commit's error means that the lane is not ours any more (R23).
func isLoss(err error) bool {
	return errors.Is(err, errMemberChanged) || errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) ||
		errors.Is(err, kerr.FencedInstanceID)
}

// repeatCommit is how often an idle lane commits what it has committed before: the broker forgets offsets that nobody repeats
// (R22); the shortest sensible offsets.retention.minutes is far longer.
const repeatCommit = 5 * time.Minute

// commitBackoff is the wait before a refused commit is sent again: a rebalance that is under way takes about so long.
const commitBackoff = 200 * time.Millisecond

// maybeCommit hands a snapshot to the committer if one is wanted by now.
func (t *tenure) maybeCommit() {
	now := false
	switch t.m.WantsCommit() {
	case lane.CommitNow:
		now = true
	case lane.CommitSoon:
		now = t.now.Sub(t.lastCommit) >= t.w.cfg.CommitInterval
	case lane.NoCommit:
		now = t.m.Phase() == lane.Running && t.m.MayRepeatCommit() && t.now.Sub(t.lastCommit) >= repeatCommit
	}
	if !now || t.now.Before(t.commitAfter) {
		return
	}
	t.lastCommit = t.now
	t.sentCommit = t.m.Commit()
	t.figures.commitOut = true
	t.w.commits.submit(snapshot{t, t.sentCommit})
}

// committed hands the answers to commits to the machine.
func (t *tenure) committed(answers []answer) {
	for _, a := range answers {
		t.figures.commitOut = false
		switch {
		case a.err == nil:
			t.figures.covered = t.lastCommit
			t.clean = t.m.Phase() == lane.Leaving
			t.m.Committed(a.number)
			t.fence.Store(t.m.Tenure())
			t.noteCommitted(a.number)
		case isLoss(a.err):
			t.log.Warn("lane is lost", slog.Any("error", a.err))
			t.w.refused(t, a.generation)
			t.lost()
		default:
			t.log.Warn("commit was refused", slog.Any("error", a.err))
			t.m.CommitFailed(a.number)
			t.commitAfter = t.now.Add(commitBackoff)
		}
	}
}

// noteCommitted publishes what is committed, for trimming.
func (t *tenure) noteCommitted(number uint64) {
	if number != t.sentCommit.Number {
		return
	}
	at := make([]int64, len(t.sentCommit.Parts))
	for p := range at {
		at[p] = t.sentCommit.Parts[p].Offset
	}
	t.committedTo.Store(&at)
}
