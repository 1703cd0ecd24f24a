package retrytopics_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	rt "github.com/laneway-go/laneway/retrytopics"
)

// newCluster starts a broker of three nodes with the topic "orders" and returns clients for it.
func newCluster(t *testing.T) (*kfake.Cluster, *kgo.Client, *kadm.Client) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(4, "orders", "orders.audit.dlt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.MetadataMinAge(10*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(1_048_588+rt.HeaderRoom), // what the topics take
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return c, cl, kadm.NewClient(cl)
}

func read(t *testing.T, adm *kadm.Client, want rt.Want) rt.State {
	t.Helper()
	state, err := rt.Read(t.Context(), adm, want)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func apply(t *testing.T, adm *kadm.Client, changes []rt.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := rt.Apply(ctx, adm, changes); err != nil {
		t.Fatal(err)
	}
}

func TestAfterApplyNothingIsLeftToPlan(t *testing.T) {
	_, _, adm := newCluster(t)
	want := ordersWanted(t)
	state := read(t, adm, want)
	if len(state.Topics) != 1 || state.Topics["orders"].Partitions != 4 || state.Topics["orders"].ReplicationFactor != 3 {
		t.Fatalf("read %+v", state.Topics)
	}
	changes := rt.Plan(want, state)
	apply(t, adm, changes)
	done := read(t, adm, want)
	if left := rt.Plan(want, done); len(changes) != 7 || len(left) != 0 {
		t.Errorf("planned %d changes, left: %s", len(changes), lines(left))
	}
	if problems := rt.Verify(want, done); len(problems) != 0 {
		t.Errorf("problems: %s", lines(problems))
	}
	apply(t, adm, changes) // somebody else was faster
}

func TestApplyWidensAndAlters(t *testing.T) {
	_, _, adm := newCluster(t)
	want := ordersWanted(t)
	apply(t, adm, rt.Plan(want, read(t, adm, want)))
	if _, err := adm.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "retention.ms", Value: new("1000")}}, want.Names.Replay()); err != nil {
		t.Fatal(err)
	}
	want.Partitions = 7
	changes := rt.Plan(want, read(t, adm, want))
	if len(changes) != 7 {
		t.Fatalf("planned %s", lines(changes))
	}
	apply(t, adm, changes)
	done := read(t, adm, want)
	if left := rt.Plan(want, done); len(left) != 0 {
		t.Errorf("left: %s", lines(left))
	}
	if got := done.Topics["orders"].Partitions; got != 4 {
		t.Errorf("the source has %d partitions now", got)
	}
	apply(t, adm, changes) // somebody else was faster
}

func TestApplyCreatesInOrderAndStopsAtARefusal(t *testing.T) {
	c, _, adm := newCluster(t)
	want := ordersWanted(t)
	var created []string
	c.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		r, ok := req.(*kmsg.CreateTopicsRequest)
		if !ok {
			return nil, nil, false
		}
		created = append(created, r.Topics[0].Topic)
		if r.Topics[0].Topic != want.Names.Stage(time.Minute) {
			return nil, nil, false
		}
		resp := kmsg.NewCreateTopicsResponse()
		resp.Version = r.Version
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic, topic.ErrorCode, topic.ErrorMessage = r.Topics[0].Topic, kerr.PolicyViolation.Code, new("ask first")
		resp.Topics = append(resp.Topics, topic)
		return &resp, nil, true
	})
	err := rt.Apply(t.Context(), adm, rt.Plan(want, read(t, adm, want)))
	if !errors.Is(err, kerr.PolicyViolation) || !strings.Contains(err.Error(), want.Names.Stage(time.Minute)) || !strings.Contains(err.Error(), "ask first") {
		t.Errorf("error %v", err)
	}
	wantOrder := []string{want.Names.DLT(), want.Names.Idempotency(), want.Names.Stage(5 * time.Second), want.Names.Stage(time.Minute)}
	if diff := cmp.Diff(wantOrder, created); diff != "" {
		t.Error(diff)
	}
}

func TestApplyWaitsForLeadersUntilTheContextEnds(t *testing.T) {
	c, _, adm := newCluster(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	tired := errors.New("waited long enough")
	asked := 0
	c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		r, ok := req.(*kmsg.MetadataRequest)
		if !ok || len(r.Topics) != 1 || r.Topics[0].Topic == nil {
			return nil, nil, false
		}
		asked++
		if asked == 3 {
			cancel(tired)
		}
		return withoutLeader(r), nil, true
	})
	err := rt.Apply(ctx, adm, []rt.Change{{Kind: rt.AddPartitions, Topic: "orders.audit.dlt", Partitions: 5}})
	if !errors.Is(err, tired) && !errors.Is(err, context.Canceled) || asked < 2 {
		t.Errorf("error %v after %d looks", err, asked)
	}
}

// withoutLeader answers that the topic has five partitions, one of which has no leader yet.
func withoutLeader(r *kmsg.MetadataRequest) kmsg.Response {
	resp := kmsg.NewMetadataResponse()
	resp.Version = r.Version
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = r.Topics[0].Topic
	for p := range int32(5) {
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition = p
		if p == 4 {
			part.Leader = -1
		}
		topic.Partitions = append(topic.Partitions, part)
	}
	resp.Topics = append(resp.Topics, topic)
	return &resp
}

func TestAWideningThatSomebodyElseDidCountsAsDone(t *testing.T) {
	c, _, adm := newCluster(t)
	c.ControlKey(int16(kmsg.CreatePartitions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := kmsg.NewCreatePartitionsResponse()
		resp.Version = req.GetVersion()
		topic := kmsg.NewCreatePartitionsResponseTopic()
		topic.Topic, topic.ErrorCode = "orders.audit.dlt", kerr.InvalidPartitions.Code // a real broker's answer: it has as many
		resp.Topics = append(resp.Topics, topic)
		return &resp, nil, true
	})
	widenTo := func(n int) error {
		return rt.Apply(t.Context(), adm, []rt.Change{{Kind: rt.AddPartitions, Topic: "orders.audit.dlt", HasPartitions: 3, Partitions: n}})
	}
	if err := widenTo(4); err != nil {
		t.Errorf("it has four partitions: %v", err)
	}
	if err := widenTo(5); !errors.Is(err, kerr.InvalidPartitions) {
		t.Errorf("it has four partitions, not five: %v", err)
	}
}

func TestApplyRefusesWhatIsNoChange(t *testing.T) {
	_, _, adm := newCluster(t)
	if err := rt.Apply(t.Context(), adm, []rt.Change{{Topic: "orders"}}); err == nil {
		t.Error("accepted")
	}
}

func TestReadSaysWhichTopicCannotBeDescribed(t *testing.T) {
	c, _, adm := newCluster(t)
	c.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := kmsg.NewDescribeConfigsResponse()
		resp.Version = req.GetVersion()
		res := kmsg.NewDescribeConfigsResponseResource()
		res.ResourceType, res.ResourceName, res.ErrorCode = kmsg.ConfigResourceTypeTopic, "orders", kerr.UnknownTopicOrPartition.Code
		resp.Resources = append(resp.Resources, res)
		return &resp, nil, true
	})
	_, err := rt.Read(t.Context(), adm, ordersWanted(t))
	if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), "orders") {
		t.Errorf("error %v", err)
	}
}

// The broker's word on Size and on the headers: a record that fits exactly is taken and comes back bit for bit.
func TestARecordThatFitsIsTakenByTheBroker(t *testing.T) {
	_, cl, adm := newCluster(t)
	want := ordersWanted(t)
	apply(t, adm, rt.Plan(want, read(t, adm, want)))
	const most = 1_048_588 + rt.HeaderRoom
	e := fullEnvelope()
	e.ValueOmitted, e.ErrorStack = false, strings.Repeat("s", rt.MaxErrorStack)
	user := []kgo.RecordHeader{{Key: "nil"}, {Key: "empty", Value: []byte{}}, {Key: "nil", Value: []byte{0xff, 0}}, {Key: ""}}
	rec := &kgo.Record{Topic: want.Names.DLT(), Partition: 2, Key: []byte("k"), Headers: user}
	full := &kgo.Record{Key: rec.Key, Value: bytes.Repeat([]byte("v"), most), Headers: e.Set(user)}
	rec.Value = full.Value[rt.Size(full)-most:]
	fitted := rt.Fit(rec, &e, most)
	if n := rt.Size(fitted); n != most || rt.IsStub(fitted.Headers) {
		t.Fatalf("%d bytes, want %d", n, most)
	}
	if err := cl.ProduceSync(t.Context(), fitted).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{rec.Topic: {2: kgo.NewOffset().AtStart()}})
	records := cl.PollFetches(t.Context()).Records()
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	got, gotUser, err := rt.ParseEnvelope(records[0].Headers)
	if err != nil || !cmp.Equal(got, e) || !bytes.Equal(records[0].Value, rec.Value) {
		t.Errorf("envelope changed: %v, %s", err, cmp.Diff(e, got))
	}
	if diff := cmp.Diff(user, gotUser); diff != "" {
		t.Errorf("user headers: %s", diff)
	}
	rec.Value = append(rec.Value, 'v')
	if env, _, _ := rt.ParseEnvelope(rt.Fit(rec, &e, most).Headers); env.ErrorStack != "" {
		t.Error("one byte more, and the stack is still there")
	}
}
