//go:build synctests

package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// scene is a small world in which a test tells one story.
type scene struct {
	*world
	t *testing.T
}

// play runs a story in a world with one partition and one broker, unless change says otherwise. What holds in every world is
// checked at its end.
func play(t *testing.T, change func(*setup), story func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := setup{partitions: 1, brokers: 1, disturbed: true}
		cfg.topic = processor.Topic{
			Name: sourceTopic, Concurrency: 8, Timeout: callTimeout, Grace: callGrace,
			Retry: retrytopics.Policy{Tiers: []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}, MaxAttempts: 4},
		}
		if change != nil {
			change(&cfg)
		}
		w, err := newWorld(1, cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := &scene{world: w, t: t}
		defer s.close()
		defer s.killAll()
		story(s)
	})
}

func (s *scene) killAll() {
	for {
		m := s.anyLive()
		if m == nil {
			break
		}
		m.kill()
	}
	for _, m := range s.members {
		<-m.ended
	}
}

// start starts a process.
func (s *scene) start(change ...func(*processor.Config)) *member {
	s.t.Helper()
	m, err := s.spawn(change...)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// put plans records and writes them to the source.
func (s *scene) put(records ...*record) {
	s.t.Helper()
	for _, r := range records {
		s.add(r)
	}
	if err := s.produce(context.Background(), records...); err != nil {
		s.t.Fatal(err)
	}
}

// until waits, in virtual time, for something to become true.
func (s *scene) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Minute); !is(); {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s%s", what, s.lanes())
		}
		pause(20*time.Millisecond, nil)
	}
}

func (s *scene) sleep(d time.Duration) { pause(d, nil) }

// done ends the story: everything comes to rest, all processes end, and what holds always has held.
func (s *scene) done() *verdicts {
	s.t.Helper()
	if err := s.rest(10 * time.Minute); err != nil {
		s.t.Error(err)
	}
	for _, p := range s.end() {
		s.t.Error(p)
	}
	v := s.judge()
	for _, p := range v.found {
		s.t.Error(p)
	}
	return v
}

// settle is done for stories with replays, which may have effects again and follow an order of their own.
func (s *scene) settle() {
	s.t.Helper()
	if err := s.rest(10 * time.Minute); err != nil {
		s.t.Error(err)
	}
	for _, p := range s.end() {
		s.t.Error(p)
	}
	for _, p := range s.watch.shrunk {
		s.t.Error(p)
	}
}

// anyFence returns the newest tenure of partition 0 that has committed; 0 if there is none.
func (s *scene) anyFence() (fence int64) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	for _, c := range s.watch.commits[logPlace{sourceTopic, 0}] {
		fence = max(fence, c.tenure)
	}
	return fence
}

// callsOf returns the calls of a record so far.
func (s *scene) callsOf(r *record) []call {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	var out []call
	for _, c := range s.ledger.calls {
		if c.rec == r {
			out = append(out, *c)
		}
	}
	return out
}

func (s *scene) started(r *record, n int) func() bool {
	return func() bool { return len(s.callsOf(r)) >= n }
}

func (s *scene) hadEffect(r *record) func() bool {
	return func() bool {
		return slices.ContainsFunc(s.callsOf(r), func(c call) bool { return c.ending == effect })
	}
}

// inTopic returns the copies of a record in one of our topics.
func (s *scene) inTopic(topic string, r *record) (found []seen) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	for _, c := range s.watch.logs[logPlace{topic, r.partition}] {
		if c.bad == nil && c.env.Origin.Topic == sourceTopic && c.env.Origin.Offset == r.offset {
			found = append(found, c)
		}
	}
	return found
}

func (s *scene) hasCopy(topic string, r *record) func() bool {
	return func() bool { return len(s.inTopic(topic, r)) > 0 }
}

func (s *scene) stage(d time.Duration) string { return s.names.Stage(d) }

// wantCalls checks how often a record's handler was called.
func (s *scene) wantCalls(what string, r *record, n int) {
	s.t.Helper()
	if calls := s.callsOf(r); len(calls) != n {
		s.t.Errorf("%s was called %d times, want %d", what, len(calls), n)
	}
}

func (s *scene) wantDead(r *record, reasons ...retrytopics.Reason) {
	s.t.Helper()
	var got []retrytopics.Reason
	for _, c := range s.inTopic(s.names.DLT(), r) {
		got = append(got, c.env.Reason)
	}
	if !slices.Equal(got, reasons) {
		s.t.Errorf("dlt copies of %d for %v, want %v", r.offset, got, reasons)
	}
}

// wantOrder checks that no call of a record begins before all calls so far of the ones before it have ended.
func (s *scene) wantOrder(fence int64, records ...*record) {
	s.t.Helper()
	var last time.Time
	for i, r := range records {
		for _, c := range s.callsOf(r) {
			if c.fence < fence {
				continue
			}
			if c.start.Before(last) {
				s.t.Errorf("record %d of %d started at %s, before the one before it had ended at %s", i, len(records), s.clock(c.start), s.clock(last))
			}
		}
		for _, c := range s.callsOf(r) {
			if c.end.After(last) && c.fence >= fence {
				last = c.end
			}
		}
	}
}

// refuse makes the broker refuse requests until the returned function is called.
func (s *scene) refuse(key kmsg.Key, topic string, err *kerr.Error) (h *kfake.FaultHandle) {
	f := kfake.Fault{Keys: []kmsg.Key{key}, Topic: topic, Err: err, Count: -1}
	if key == kmsg.OffsetCommit {
		f.Group = groupName
	}
	return s.cluster.Fault(f)
}

// write appends a record to one of our topics, as whoever else may.
func (s *scene) write(r *kgo.Record) *kgo.Record {
	s.t.Helper()
	if err := s.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// replay writes a record into the replay topic, as the tool does.
func (s *scene) replay(r *record, run uint32, force bool) {
	s.t.Helper()
	info := s.cluster.TopicInfo(sourceTopic)
	env := retrytopics.Envelope{
		Origin: origin.Origin{Topic: sourceTopic, TopicID: info.TopicID, Partition: r.partition, Offset: r.offset},
		Run:    run, Force: force, OriginTimestamp: time.Now(), Group: groupName, ReplayID: fmt.Sprint(run),
	}
	if !s.cfg.topic.Idempotency.Key.Default() {
		env.IdempotencyKey = r.x
	}
	k := &kgo.Record{Topic: s.names.Replay(), Partition: r.partition, Value: []byte("again")}
	if r.key != "" {
		k.Key = []byte(r.key)
	}
	k.Headers = env.Set([]kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, r.id)}, {Key: "x", Value: []byte(r.x)}})
	s.write(k)
}

// hasMarks says whether at least so many marks of work have landed in partition 0, of some kinds or of any.
func (s *scene) hasMarks(n int, kinds ...dedupe.Kind) func() bool {
	return func() bool {
		found := 0
		s.watch.marks(0, func(m *dedupe.Mark, _ seen) {
			if m.Kind != dedupe.Position && (len(kinds) == 0 || slices.Contains(kinds, m.Kind)) {
				found++
			}
		})
		return found >= n
	}
}

func withMode(m processor.Mode) func(*setup) {
	return func(c *setup) { c.topic.Idempotency.Mode = m }
}

func withUserKey(c *setup) { c.topic.Idempotency.Key = userKey() }
