//go:build synctests

package sim_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/internal/offsets"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

func TestAnOutageOfOneOfOurTopicsLosesNothingAndShows(t *testing.T) {
	for _, which := range []retrytopics.Role{retrytopics.RoleStage(time.Second), retrytopics.RoleDLT, retrytopics.RoleIdempotency} {
		for _, err := range []*kerr.Error{kerr.UnknownServerError, kerr.TopicAuthorizationFailed} {
			t.Run(fmt.Sprint(which, "/", err.Message), func(t *testing.T) {
				play(t, func(c *setup) { c.partitions, c.disturbed = 2, false }, func(s *scene) {
					m := s.start()
					s.until("the lane is taken", func() bool { return s.anyFence() > 0 })
					h := s.refuse(kmsg.Produce, s.names.Topic(which), err)
					var all []*record
					for i := range 30 {
						all = append(all, &record{key: fmt.Sprint("k", i%5), will: []will{succeed, failTimes, permanent}[i%3], times: 1})
					}
					s.put(all...)
					s.sleep(5 * time.Second)
					shows := slices.ContainsFunc(m.p.Lanes(), func(l processor.Lane) bool { return l.Trouble != "" })
					if !shows {
						t.Errorf("no lane shows its trouble: %+v", m.p.Lanes())
					}
					if which != retrytopics.RoleIdempotency {
						other := &record{partition: 1, key: "other"}
						s.put(other)
						s.sleep(2 * time.Second)
						if !s.hasHadEffect(other) {
							t.Error("the other lane stands still")
						}
					}
					s.sleep(53 * time.Second)
					h.Remove()
					s.done()
					select {
					case <-m.ended:
						if m.err != nil {
							t.Errorf("the process ended with: %v", m.err)
						}
					default:
					}
				})
			})
		}
	}
}

func TestRecordsTravelBitForBit(t *testing.T) {
	play(t, nil, func(s *scene) {
		long := bytes.Repeat([]byte{0, 1, 254, 255}, 5000)
		stamp := s.cfg.start.Add(-40 * 365 * 24 * time.Hour).Truncate(time.Millisecond)
		in := []*kgo.Record{
			{Value: []byte("no key")},
			{Key: []byte{}, Value: nil, Headers: []kgo.RecordHeader{{Key: "h", Value: nil}}},
			{Key: []byte{0, 255}, Value: []byte{}, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{}}, {Key: "h", Value: []byte{0xff, 0}}, {Key: "", Value: []byte("x")}}},
			{Key: []byte("long"), Value: long, Headers: []kgo.RecordHeader{{Key: "laneway-origin", Value: []byte("a stranger's")}}},
			{Key: []byte("old"), Value: []byte("v"), Timestamp: stamp},
		}
		type got struct {
			Key, Value []byte
			Headers    []kgo.RecordHeader
			Timestamp  time.Time
		}
		var seenAt [][]got
		for range in {
			seenAt = append(seenAt, nil)
		}
		s.onMessage = func(m *processor.Message) error {
			seenAt[m.Offset] = append(seenAt[m.Offset], got{bytes.Clone(m.Key), bytes.Clone(m.Value), slices.Clone(m.Headers), m.Timestamp})
			return errors.New("no")
		}
		s.cfg.topic.Concurrency = 1
		s.start()
		for _, r := range in {
			r.Topic = sourceTopic
			s.write(r)
		}
		if err := s.rest(time.Hour); err != nil {
			t.Fatal(err)
		}
		for i, r := range in {
			if len(seenAt[i]) != 4 {
				t.Fatalf("record %d was handled %d times", i, len(seenAt[i]))
			}
			first := seenAt[i][0]
			for n, g := range seenAt[i] {
				if d := cmp.Diff(first.Headers, g.Headers); len(first.Headers)+len(g.Headers) > 0 && d != "" {
					t.Errorf("record %d, attempt %d: headers differ (-first +this):\n%s", i, n+1, d)
				}
				if !sameBytes(g.Key, r.Key) || !sameBytes(g.Value, r.Value) || !g.Timestamp.Equal(r.Timestamp.Truncate(time.Millisecond)) {
					t.Errorf("record %d, attempt %d: got key %v, %d bytes, %s; want %v, %d, %s", i, n+1, g.Key, len(g.Value), g.Timestamp, r.Key, len(r.Value), r.Timestamp)
				}
			}
		}
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		for i, d := range s.watch.logs[logPlace{s.names.DLT(), 0}] {
			r := in[d.env.Origin.Offset]
			if !sameBytes(d.Key, r.Key) || !sameBytes(d.Value, r.Value) {
				t.Errorf("dlt copy %d differs from its record", i)
			}
			was, is := retrytopics.UserHeaders(r.Headers), retrytopics.UserHeaders(d.Headers)
			if d := cmp.Diff(was, is); len(was)+len(is) > 0 && d != "" {
				t.Errorf("dlt copy %d: headers differ (-record +copy):\n%s", i, d)
			}
		}
	})
}

// sameBytes tells nil from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func TestGarbageInOurTopicsIsDeadLetteredAndFreezesNothing(t *testing.T) {
	play(t, nil, func(s *scene) {
		garbage := []*kgo.Record{
			{},
			{Key: []byte("k"), Value: []byte("v")},
			{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: retrytopics.HeaderOrigin, Value: []byte("orders/0/99999999999999999999")}}},
			{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: retrytopics.HeaderOrigin, Value: []byte("another/0/1")}}},
			{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: retrytopics.HeaderOrigin, Value: []byte("orders/7/1")}}},
			{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: retrytopics.HeaderDue, Value: []byte("99999-01-01T00:00:00Z")}}},
			{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: retrytopics.HeaderHop, Value: []byte("-1")}, {Key: retrytopics.HeaderRun, Value: []byte("x")}}},
		}
		n := 0
		for _, topic := range []string{s.names.Replay(), s.stage(time.Second), s.stage(20 * time.Second)} {
			for _, g := range garbage {
				c := *g
				c.Topic = topic
				s.write(&c)
				n++
			}
		}
		for _, g := range garbage[1:] {
			s.write(&kgo.Record{Topic: s.names.Idempotency(), Key: append([]byte{1, 'd'}, g.Key...), Value: []byte("garbage")})
		}
		s.start()
		q := &record{key: "k", will: failTimes, times: 3}
		s.put(q)
		s.until("q is done", s.hadEffect(q))
		if err := s.rest(time.Hour); err != nil {
			t.Error(err)
		}
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		dead := s.watch.logs[logPlace{s.names.DLT(), 0}]
		if len(dead) != n {
			t.Errorf("%d dlt copies, want %d", len(dead), n)
		}
		for _, d := range dead {
			if d.env.Reason != retrytopics.ReasonUndecodable {
				t.Errorf("dlt@%d for %q", d.Offset, d.env.Reason)
			}
		}
	})
}

func TestForeignCommitMetadataMeansNothingSettled(t *testing.T) {
	for _, text := range []string{"", "consumer-7", "lw9:AAAA", "lw1:!!!!", "lw1:AAAAAAAA", string(bytes.Repeat([]byte("x"), offsets.MaxMetadata))} {
		play(t, nil, func(s *scene) {
			var all []*record
			for i := range 4 {
				all = append(all, &record{key: fmt.Sprint("k", i)})
			}
			s.put(all...)
			var commit kadm.Offsets
			commit.Add(kadm.Offset{Topic: sourceTopic, At: 1, LeaderEpoch: -1, Metadata: text})
			if resp, err := s.admin.CommitOffsets(s.t.Context(), groupName, commit); err != nil || resp.Error() != nil {
				t.Fatal(err, resp.Error())
			}
			s.start()
			for _, r := range all[1:] {
				s.until("a record is done", s.hadEffect(r))
			}
			if err := s.rest(time.Hour); err != nil {
				t.Error(err)
			}
			s.wantCalls("what was committed", all[0], 0)
		})
	}
}

func TestARecordThatFillsItsTopicIsRetriedOrDeadLettered(t *testing.T) {
	play(t, nil, func(s *scene) {
		handled := 0
		s.onMessage = func(*processor.Message) error {
			handled++
			return errors.New(string(bytes.Repeat([]byte("long "), 2000)))
		}
		s.start()
		s.write(&kgo.Record{Topic: sourceTopic, Key: []byte("k"), Value: bytes.Repeat([]byte{7}, 1_000_000-200)})
		small := &kgo.Record{Topic: sourceTopic, Key: []byte("k"), Value: []byte("small")}
		s.write(small)
		if err := s.rest(time.Hour); err != nil {
			t.Fatal(err)
		}
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		if dead := s.watch.logs[logPlace{s.names.DLT(), 0}]; len(dead) != 2 || handled != 8 {
			t.Errorf("%d dlt copies after %d calls, want 2 after 8", len(dead), handled)
		}
	})
}

func TestARecordThatNoStageTakesIsDeadLettered(t *testing.T) {
	play(t, nil, func(s *scene) {
		h := s.refuse(kmsg.Produce, s.stage(time.Second), kerr.MessageTooLarge)
		defer h.Remove()
		s.start()
		q, r := &record{key: "k", will: failTimes, times: 1}, &record{key: "other"}
		s.put(q, r)
		s.until("q is in the dlt", s.hasCopy(s.names.DLT(), q))
		s.until("r is done", s.hadEffect(r))
	})
}

func TestADrainEndsThoughAHandlerIgnoresItsContext(t *testing.T) {
	play(t, nil, func(s *scene) {
		m := s.start(func(c *processor.Config) { c.Topics[0].Timeout = time.Minute })
		q := &record{key: "k", gate: make(chan struct{})}
		q.script = func(c *call) (ending, error) {
			if c.member == m {
				return failed, errNotYet
			}
			return effect, nil
		}
		ignore := make(chan struct{})
		s.onCall = func(c *call) {
			if c.rec == q && c.member == m {
				<-ignore
			}
		}
		s.put(q, &record{key: "other"})
		s.until("q runs", s.started(q, 1))
		began := time.Now()
		m.leave()
		if took := time.Since(began); took > drainTime+6*time.Second {
			t.Errorf("the drain took %v", took)
		}
		if !errors.Is(m.err, processor.ErrForced) {
			t.Errorf("Run ended with %v, want %v", m.err, processor.ErrForced)
		}
		close(ignore)
		close(q.gate)
		s.start()
		s.until("q is done", s.hadEffect(q))
		calls := s.callsOf(q)
		if last := calls[len(calls)-1]; last.attempt != 1 {
			t.Errorf("the drain used an attempt: the next one is %d", last.attempt)
		}
	})
}
