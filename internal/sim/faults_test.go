//go:build synctests

package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fault is a kind of thing that goes wrong.
type fault uint8

const (
	killMember fault = iota
	isolateMember
	deploy       // every member is replaced, one after the other, in good order
	joinAndLeave // one more member comes, and one goes
	loseAnswers  // the broker does the work, the connection breaks before the answer comes
	delays       // answers are late, requests are long on their way
	refuseWrites // one of our topics takes no write for a while
	refuseCommits
	moveLeaders
	moveCoordinator
	kickMember // the broker throws a member out that is alive
	forgetMember
	nFaults
)

var faultNames = [...]string{
	"killMember", "isolateMember", "deploy", "joinAndLeave", "loseAnswers", "delays", "refuseWrites", "refuseCommits", "moveLeaders",
	"moveCoordinator", "kickMember", "forgetMember",
}

func (f fault) String() string { return faultNames[f] }

// disturbs says whether the fault makes members lose lanes without an end in good order.
func (f fault) disturbs() bool {
	switch f {
	case killMember, isolateMember, loseAnswers, delays, kickMember, forgetMember, refuseCommits, refuseWrites, moveCoordinator, moveLeaders:
		return true
	}
	return false
}

// hurt makes things go wrong for a while, then lets the world heal.
func (w *world) hurt(kinds []fault, rng *rand.Rand, d time.Duration) {
	end := time.Now().Add(d)
	var out sync.WaitGroup
	for len(kinds) > 0 && time.Now().Before(end) {
		pause(time.Duration(rng.Int64N(int64(5*time.Second))), nil)
		kind := kinds[rng.IntN(len(kinds))]
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		w.count(func(s *stats) { s.faults++ })
		out.Go(func() { w.inject(kind, own) })
	}
	out.Wait()
}

func (w *world) count(add func(*stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.stats)
}

func (w *world) inject(kind fault, rng *rand.Rand) {
	switch kind {
	case killMember:
		w.crash(rng)
	case isolateMember:
		if m := w.anyLive(); m != nil {
			w.count(func(s *stats) { s.isolations++ })
			m.isolate(time.Duration(rng.Int64N(int64(14 * time.Second))))
		}
	case deploy:
		w.deploy()
	case joinAndLeave:
		w.joinAndLeave(rng)
	case loseAnswers, delays:
		w.badNetwork(kind, rng)
	case refuseWrites:
		w.refuseWrites(rng)
	case refuseCommits:
		w.refuseCommits(rng)
	case moveLeaders:
		w.moveLeaders()
	case moveCoordinator:
		w.count(func(s *stats) { s.moves++ })
		w.cluster.RehashCoordinators()
	case kickMember:
		w.kick(rng)
	case forgetMember:
		w.forget(rng)
	}
}

func (w *world) moveLeaders() {
	w.count(func(s *stats) { s.moves++ })
	w.watch.mu.Lock()
	w.watch.moves++
	w.watch.mu.Unlock()
	w.cluster.ShufflePartitionLeaders()
}

// crash kills a member; another process takes its place after a while.
func (w *world) crash(rng *rand.Rand) {
	m := w.anyLive()
	if m == nil {
		return
	}
	w.count(func(s *stats) { s.kills++ })
	m.kill()
	pause(time.Duration(rng.Int64N(int64(10*time.Second))), nil)
	w.replace()
}

func (w *world) replace() {
	if _, err := w.spawn(); err != nil {
		panic(err)
	}
}

func (w *world) deploy() {
	w.mu.Lock()
	all := append([]*member(nil), w.live...)
	w.mu.Unlock()
	w.count(func(s *stats) { s.deploys++ })
	for _, m := range all {
		if !w.isLive(m) {
			continue
		}
		m.leave()
		w.replace()
		pause(time.Second, nil)
	}
}

func (w *world) isLive(m *member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.live, m)
}

func (w *world) joinAndLeave(rng *rand.Rand) {
	w.count(func(s *stats) { s.joins++ })
	w.replace()
	pause(time.Duration(rng.Int64N(int64(5*time.Second))), nil)
	if m := w.anyLive(); m != nil {
		m.leave()
	}
}

func (w *world) badNetwork(kind fault, rng *rand.Rand) {
	m := w.anyLive()
	if m == nil {
		return
	}
	var loss float64
	var late, slow time.Duration
	var keys []int16
	switch {
	case kind == loseAnswers:
		loss, keys = 0.3, []int16{keyProduce, keyCommit}
	case rng.IntN(2) == 0:
		late, keys = time.Duration(rng.Int64N(int64(2*time.Second))), []int16{keyProduce, keyCommit}
	default:
		slow, keys = time.Duration(rng.Int64N(int64(4*time.Second))), []int16{keyProduce}
	}
	m.host.trouble(loss, late+time.Millisecond, slow, keys...)
	pause(time.Duration(rng.Int64N(int64(8*time.Second))), nil)
	m.host.trouble(0, 0, 0)
}

// refusals are errors that a broker can answer a write with; some of them do the work all the same.
func refusals() []*kerr.Error {
	return []*kerr.Error{
		kerr.RequestTimedOut, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.TopicAuthorizationFailed,
		kerr.KafkaStorageError, kerr.UnknownServerError, kerr.PolicyViolation,
	}
}

func (w *world) refuseWrites(rng *rand.Rand) {
	topics := []string{w.names.DLT(), w.names.Idempotency(), w.names.Stage(time.Second), w.names.Stage(5 * time.Second)}
	errs := refusals()
	h := w.cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: topics[rng.IntN(len(topics))], Err: errs[rng.IntN(len(errs))], Count: -1,
	})
	pause(time.Duration(rng.Int64N(int64(20*time.Second))), nil)
	h.Remove()
	w.count(func(s *stats) { s.produceFaults += h.Hits() })
}

func (w *world) refuseCommits(rng *rand.Rand) {
	errs := []*kerr.Error{kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.RequestTimedOut, kerr.UnknownServerError, kerr.OffsetMetadataTooLarge}
	topics := []string{sourceTopic, w.names.Stage(time.Second), ""}
	h := w.cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: topics[rng.IntN(len(topics))], Group: groupName, Err: errs[rng.IntN(len(errs))],
		Count: 1 + rng.IntN(10),
	})
	pause(time.Duration(rng.Int64N(int64(6*time.Second))), nil)
	h.Remove()
	w.count(func(s *stats) { s.commitFaults += h.Hits() })
}

// kick throws a member out of the group; it learns of it from the answer to its next commit or heartbeat.
func (w *world) kick(rng *rand.Rand) {
	info := w.cluster.GroupInfo(groupName)
	if info == nil || len(info.Members) == 0 {
		return
	}
	w.count(func(s *stats) { s.kicks++ })
	w.expel(context.Background(), info.Members[rng.IntN(len(info.Members))].MemberID)
}

func (w *world) expel(ctx context.Context, member string) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = groupName, member
	k := kmsg.NewLeaveGroupRequestMember()
	k.MemberID = member
	req.Members = append(req.Members, k)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, _ = req.RequestWith(ctx, w.client)
}

// reap does what the embedded broker forgets at times: a member that died while the group was joining never expires there.
func (w *world) reap(ctx context.Context) {
	info := w.cluster.GroupInfo(groupName)
	if info == nil {
		return
	}
	w.mu.Lock()
	gone := map[string]bool{}
	for _, m := range w.members {
		m.mu.Lock()
		gone[m.name] = !m.deadAt.IsZero() && time.Since(m.deadAt) > sessionTimeout+rebalanceTimeout
		m.mu.Unlock()
	}
	w.mu.Unlock()
	for _, k := range info.Members {
		if gone[k.ClientID] {
			w.expel(ctx, k.MemberID)
		}
	}
}

// forget answers heartbeats or commits as if the member were unknown.
func (w *world) forget(rng *rand.Rand) {
	keys := []kmsg.Key{kmsg.Heartbeat, kmsg.OffsetCommit}
	errs := []*kerr.Error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress}
	w.count(func(s *stats) { s.kicks++ })
	h := w.cluster.Fault(kfake.Fault{Keys: keys[rng.IntN(2):], Group: groupName, Err: errs[rng.IntN(len(errs))], Count: 1})
	pause(5*time.Second, nil)
	h.Remove()
}

var _ = fmt.Sprint
