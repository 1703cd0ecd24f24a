package retrytopics_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	rt "github.com/laneway-go/laneway/retrytopics"
)

const (
	week   = 7 * 24 * time.Hour
	weekMS = "604800000"
)

// ordersOnly is a cluster with the source alone, as users have it.
func ordersOnly() rt.State {
	return rt.State{Topics: map[string]rt.TopicState{"orders": {
		Partitions: 6, ReplicationFactor: 3,
		Configs: map[string]string{
			"cleanup.policy": "delete", "retention.ms": weekMS, "max.message.bytes": "1048588", "min.insync.replicas": "2",
		},
	}}}
}

func ordersWanted(tb testing.TB) rt.Want {
	tb.Helper()
	return rt.Want{Names: mustNames(tb, "orders")}
}

// after returns the state that the changes lead to.
func after(s rt.State, changes []rt.Change) rt.State {
	out := rt.State{Topics: make(map[string]rt.TopicState)}
	for name, t := range s.Topics {
		t.Configs = maps.Clone(t.Configs)
		out.Topics[name] = t
	}
	for _, c := range changes {
		t := out.Topics[c.Topic]
		switch c.Kind {
		case rt.CreateTopic:
			t = rt.TopicState{Partitions: c.Partitions, ReplicationFactor: c.ReplicationFactor, Configs: make(map[string]string)}
		case rt.AddPartitions:
			t.Partitions = c.Partitions
		case rt.AlterConfig:
		}
		for _, setting := range c.Settings {
			t.Configs[setting.Name] = setting.Wants
		}
		out.Topics[c.Topic] = t
	}
	return out
}

func lines[T interface{ String() string }](list []T) string {
	var b strings.Builder
	for _, x := range list {
		b.WriteString(x.String() + "\n")
	}
	return b.String()
}

func TestPlanCreatesDeadLettersFirst(t *testing.T) {
	kept := "6 partitions, replication factor 3, cleanup.policy=delete, retention.ms=-1, retention.bytes=-1, " +
		"message.timestamp.type=LogAppendTime, max.message.bytes=1114124, min.insync.replicas=2, unclean.leader.election.enable=false\n"
	// 7 d of the source, 21m36s of retries, 1 d of snoozes, 2 d of margin.
	window := (week + 21*time.Minute + 36*time.Second + 3*24*time.Hour).Milliseconds()
	want := "create topic orders.billing.dlt: " + kept +
		"create topic orders.billing.idempotency: 6 partitions, replication factor 3, cleanup.policy=compact,delete, " +
		"retention.ms=" + strconv.FormatInt(window, 10) + ", retention.bytes=-1, segment.bytes=67108864, " +
		"max.compaction.lag.ms=21600000, min.insync.replicas=2, unclean.leader.election.enable=false\n" +
		"create topic orders.billing.retry-5s: " + kept +
		"create topic orders.billing.retry-1m: " + kept +
		"create topic orders.billing.retry-10m: " + kept +
		"create topic orders.billing.replay: " + kept +
		"create topic billing.control: 1 partitions, replication factor 3, cleanup.policy=compact, " +
		"min.insync.replicas=2, unclean.leader.election.enable=false\n"
	if diff := cmp.Diff(want, lines(rt.Plan(ordersWanted(t), ordersOnly()))); diff != "" {
		t.Error(diff)
	}
}

func TestPlanOfNoSourceIsEmptyAndVerifyRefuses(t *testing.T) {
	want, none := ordersWanted(t), rt.State{}
	if got := rt.Plan(want, none); len(got) != 0 {
		t.Errorf("planned %v", got)
	}
	got := rt.Verify(want, none)
	if len(got) != 1 || got[0].Topic != "orders" || got[0].Has != "missing" || rt.Refuse(got) == nil {
		t.Errorf("problems %v", got)
	}
}

func TestPlanWithoutIdempotencyHasNoTopicForIt(t *testing.T) {
	want := ordersWanted(t)
	want.NoIdempotency = true
	if got := lines(rt.Plan(want, ordersOnly())); strings.Contains(got, "idempotency") {
		t.Error(got)
	}
	if got := rt.Verify(want, after(ordersOnly(), rt.Plan(want, ordersOnly()))); len(got) != 0 {
		t.Error(got)
	}
}

func TestPlanGrowsAheadOfTheSource(t *testing.T) {
	want := ordersWanted(t)
	state := after(ordersOnly(), rt.Plan(want, ordersOnly()))
	want.Partitions = 12
	got := rt.Plan(want, state)
	for _, c := range got {
		if c.Kind != rt.AddPartitions || c.HasPartitions != 6 || c.Partitions != 12 || c.Topic == "orders" || c.Topic == "billing.control" {
			t.Errorf("%s", c)
		}
	}
	if len(got) != 6 || got[0].Topic != "orders.billing.dlt" || got[1].Topic != "orders.billing.idempotency" {
		t.Errorf("planned %s", lines(got))
	}
	grown := after(state, got)
	want.Partitions = 0
	if problems := rt.Verify(want, grown); rt.Refuse(problems) != nil || len(problems) != 6 {
		t.Errorf("while the source grows: %s", lines(problems))
	}
	if again := rt.Plan(want, grown); len(again) != 0 {
		t.Errorf("shrinks: %s", lines(again))
	}
}

func TestStagesThatAreNoLongerConfiguredAreLookedAfter(t *testing.T) {
	want := ordersWanted(t)
	state := after(ordersOnly(), rt.Plan(want, ordersOnly()))
	old := state.Topics["orders.billing.retry-1m"]
	old.Partitions, old.Configs = 4, maps.Clone(old.Configs)
	old.Configs["retention.ms"] = "3600000"
	state.Topics["orders.billing.retry-1h"] = old

	wantStages := []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}
	if diff := cmp.Diff(wantStages, want.Stages(state)); diff != "" {
		t.Errorf("stages: %s", diff)
	}
	wantPlan := "add partitions orders.billing.retry-1h: 4 -> 6\nalter config orders.billing.retry-1h: retention.ms 3600000 -> -1\n"
	if diff := cmp.Diff(wantPlan, lines(rt.Plan(want, state))); diff != "" {
		t.Error(diff)
	}
	want.Policy.Tiers = []time.Duration{5 * time.Second}
	delete(state.Topics, "orders.billing.retry-10m")
	if got := lines(rt.Plan(want, state)); strings.Contains(got, "retry-10m") {
		t.Errorf("a stage that is not configured is created:\n%s", got)
	}
}

// broken is one thing that went wrong with a topic that was as wanted.
type broken struct {
	name           string
	topic          string
	setting, value string
	partitions     int
	refuse         bool
	planned        bool
}

func TestVerifyNamesWhatIsWrongAndPlanRepairsIt(t *testing.T) {
	const stage, dlt, marks, replay, control = "orders.billing.retry-1m", "orders.billing.dlt", "orders.billing.idempotency", "orders.billing.replay", "billing.control"
	for _, tt := range []broken{
		{name: "narrower", topic: stage, setting: "partitions", partitions: 5, refuse: true, planned: true},
		{name: "wider", topic: stage, setting: "partitions", partitions: 7},
		{name: "two control partitions", topic: control, setting: "partitions", partitions: 2, refuse: true},
		{name: "retention loses a waiting record", topic: stage, setting: "retention.ms", value: weekMS, refuse: true, planned: true},
		{name: "retention loses a replay", topic: replay, setting: "retention.ms", value: weekMS, refuse: true, planned: true},
		{name: "retention loses a dead letter", topic: dlt, setting: "retention.ms", value: weekMS, refuse: true, planned: true},
		{name: "size loses a waiting record", topic: stage, setting: "retention.bytes", value: "1000000", refuse: true, planned: true},
		{name: "compaction of a stage", topic: stage, setting: "cleanup.policy", value: "compact", refuse: true, planned: true},
		{name: "compaction beside deletion", topic: stage, setting: "cleanup.policy", value: "compact,delete", refuse: true, planned: true},
		{name: "producer's clock", topic: stage, setting: "message.timestamp.type", value: "CreateTime", refuse: true, planned: true},
		{name: "producer's clock", topic: replay, setting: "message.timestamp.type", value: "CreateTime", refuse: true, planned: true},
		{name: "producer's clock", topic: dlt, setting: "message.timestamp.type", value: "CreateTime", refuse: true, planned: true},
		{name: "too narrow for the envelope", topic: dlt, setting: "max.message.bytes", value: "1048588", refuse: true, planned: true},
		{name: "wide enough", topic: dlt, value: "2097152", setting: "max.message.bytes"},
		{name: "acked by one of three", topic: stage, setting: "min.insync.replicas", value: "1", refuse: true, planned: true},
		{name: "more careful", topic: stage, setting: "min.insync.replicas", value: "3"},
		{name: "unclean elections", topic: marks, setting: "unclean.leader.election.enable", value: "true", refuse: true, planned: true},
		{name: "marks not compacted", topic: marks, setting: "cleanup.policy", value: "delete", refuse: true, planned: true},
		{name: "marks not deleted", topic: marks, setting: "cleanup.policy", value: "compact", planned: true},
		{name: "the same list", topic: marks, setting: "cleanup.policy", value: "delete, compact"},
		{name: "marks shorter than the window", topic: marks, setting: "retention.ms", value: weekMS, refuse: true, planned: true},
		{name: "marks longer than the window", topic: marks, setting: "retention.ms", value: "9999999999"},
		{name: "marks for ever", topic: marks, setting: "retention.ms", value: "-1"},
		{name: "large segments", topic: marks, setting: "segment.bytes", value: "1073741824", planned: true},
		{name: "no compaction lag", topic: marks, setting: "max.compaction.lag.ms", value: "9223372036854775807", planned: true},
		{name: "tasks deleted", topic: control, setting: "cleanup.policy", value: "delete", refuse: true, planned: true},
		{name: "unreadable", topic: stage, setting: "retention.ms", value: "soon", refuse: true, planned: true},
	} {
		t.Run(tt.name+"/"+tt.topic, func(t *testing.T) { tt.check(t) })
	}
}

func (b broken) check(t *testing.T) {
	t.Helper()
	want := ordersWanted(t)
	state := after(ordersOnly(), rt.Plan(want, ordersOnly()))
	if got := rt.Verify(want, state); len(got) != 0 {
		t.Fatalf("before: %s", lines(got))
	}
	topic := state.Topics[b.topic]
	if b.partitions > 0 {
		topic.Partitions = b.partitions
	} else {
		topic.Configs[b.setting] = b.value
	}
	state.Topics[b.topic] = topic

	plan := rt.Plan(want, state)
	if (len(plan) == 1) != b.planned || len(plan) > 1 {
		t.Errorf("planned %s", lines(plan))
	}
	problems := rt.Verify(want, state)
	if fine := !b.planned && b.partitions == 0; fine != (len(problems) == 0) || len(problems) > 1 {
		t.Fatalf("problems: %s", lines(problems))
	}
	if refused := rt.Refuse(problems) != nil; refused != b.refuse {
		t.Errorf("refused: %t, %s", refused, lines(problems))
	}
	for _, p := range problems {
		if p.Topic != b.topic || p.Setting != b.setting || p.Has == "" || p.Wants == "" || p.Repair == "" {
			t.Errorf("problem %+v", p)
		}
		if b.planned && p.Repair != "processor topics apply" {
			t.Errorf("repaired by %q", p.Repair)
		}
	}
	if left := rt.Plan(want, after(state, plan)); len(left) != 0 {
		t.Errorf("left after the plan: %s", lines(left))
	}
}

func TestVerifyNamesEveryMissingTopic(t *testing.T) {
	got := rt.Verify(ordersWanted(t), ordersOnly())
	if len(got) != 7 || strings.Count(rt.Refuse(got).Error(), "missing") != 7 {
		t.Errorf("problems: %s", lines(got))
	}
}

func TestSettingsThatABrokerDoesNotKnowAreAWarning(t *testing.T) {
	want := ordersWanted(t)
	state := after(ordersOnly(), rt.Plan(want, ordersOnly()))
	delete(state.Topics["orders.billing.dlt"].Configs, "unclean.leader.election.enable")
	if plan := rt.Plan(want, state); len(plan) != 0 {
		t.Errorf("planned %s", lines(plan))
	}
	got := rt.Verify(want, state)
	if len(got) != 1 || !got[0].Warning || got[0].Setting != "unclean.leader.election.enable" {
		t.Errorf("problems: %s", lines(got))
	}
}

func TestFewerReplicasThanTheSourceAreAWarning(t *testing.T) {
	want := ordersWanted(t)
	state := after(ordersOnly(), rt.Plan(want, ordersOnly()))
	dlt := state.Topics["orders.billing.dlt"]
	dlt.ReplicationFactor = 1
	state.Topics["orders.billing.dlt"] = dlt
	got := rt.Verify(want, state)
	if len(got) != 1 || !got[0].Warning || got[0].Setting != "replication factor" {
		t.Errorf("problems: %s", lines(got))
	}
}

func TestMinInSyncReplicasFollowTheSource(t *testing.T) {
	for _, tt := range []struct {
		replicas int
		source   string
		want     string
	}{
		{3, "1", "2"}, // a source may be careless; a mark may not
		{3, "2", "2"},
		{3, "3", "3"},
		{5, "", "2"},
		{2, "1", "1"},
		{1, "1", "1"},
		{1, "2", "1"}, // cannot be had
	} {
		state := ordersOnly()
		source := state.Topics["orders"]
		source.ReplicationFactor = tt.replicas
		source.Configs["min.insync.replicas"] = tt.source
		state.Topics["orders"] = source
		for _, c := range rt.Plan(ordersWanted(t), state) {
			i := slices.IndexFunc(c.Settings, func(s rt.Setting) bool { return s.Name == "min.insync.replicas" })
			if c.Settings[i].Wants != tt.want {
				t.Errorf("%d replicas, source %q: %s has %s, want %s", tt.replicas, tt.source, c.Topic, c.Settings[i].Wants, tt.want)
			}
		}
	}
}

func TestWindowIsComparedWithTheSourcesRetention(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cleanup   string
		retention string
		window    time.Duration
		problems  int
		refuse    bool
	}{
		{"auto", "delete", weekMS, 0, 0, false},
		{"long enough", "delete", weekMS, 2 * week, 0, false},
		{"shorter than auto", "delete", weekMS, week, 1, true},
		{"kept for ever", "delete", "-1", 0, 1, false},
		{"compacted", "compact", weekMS, 0, 1, false},
		{"kept for ever, short", "delete", "-1", week, 1, false},
	} {
		want, state := ordersWanted(t), ordersOnly()
		want.Window = tt.window
		state.Topics["orders"].Configs["cleanup.policy"] = tt.cleanup
		state.Topics["orders"].Configs["retention.ms"] = tt.retention
		got := rt.Verify(want, after(state, rt.Plan(want, state)))
		if len(got) != tt.problems || (rt.Refuse(got) != nil) != tt.refuse {
			t.Errorf("%s: %s", tt.name, lines(got))
		}
	}
}

func TestDeadLettersMayHaveARetention(t *testing.T) {
	want := ordersWanted(t)
	want.DLTRetention = 90 * 24 * time.Hour
	state := after(ordersOnly(), rt.Plan(want, ordersOnly()))
	if got := state.Topics["orders.billing.dlt"].Configs["retention.ms"]; got != "7776000000" {
		t.Errorf("retention.ms=%s", got)
	}
	if got := state.Topics["orders.billing.replay"].Configs["retention.ms"]; got != "-1" {
		t.Errorf("replay has retention.ms=%s", got)
	}
	if got := rt.Verify(want, state); len(got) != 0 {
		t.Error(lines(got))
	}
}

func TestMergeKeepsTheSharedControlTopicOnce(t *testing.T) {
	state := ordersOnly()
	state.Topics["returns"] = state.Topics["orders"]
	other := rt.Want{Names: mustNames(t, "returns")}
	got := rt.Merge(rt.Plan(ordersWanted(t), state), rt.Plan(other, state))
	if n := strings.Count(lines(got), "billing.control"); n != 1 || len(got) != 13 {
		t.Errorf("merged: %s", lines(got))
	}
}

// Whatever is there, one plan is enough, it leaves nothing that refuses a start but what cannot be repaired, and it never
// names the source or makes anything smaller.
func TestPlanConverges(t *testing.T) {
	names := mustNames(t, "orders")
	settings := []string{
		"cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", "max.message.bytes", "min.insync.replicas",
		"unclean.leader.election.enable", "segment.bytes", "max.compaction.lag.ms",
	}
	values := []string{"-1", "0", "1", "2", "delete", "compact", "delete,compact", "true", "false", "LogAppendTime", "CreateTime", "604800000", "9223372036854775807", "x", ""}
	rapid.Check(t, func(t *rapid.T) {
		topic := rapid.Custom(func(t *rapid.T) rt.TopicState {
			return rt.TopicState{
				Partitions: rapid.IntRange(1, 9).Draw(t, "partitions"), ReplicationFactor: rapid.IntRange(1, 5).Draw(t, "replicas"),
				Configs: rapid.MapOf(rapid.SampledFrom(settings), rapid.SampledFrom(values)).Draw(t, "configs"),
			}
		})
		state := rt.State{Topics: map[string]rt.TopicState{"orders": topic.Draw(t, "source")}}
		for _, name := range []string{names.DLT(), names.Idempotency(), names.Stage(time.Minute), names.Stage(time.Hour), names.Replay(), names.Control()} {
			if rapid.Bool().Draw(t, "exists") {
				state.Topics[name] = topic.Draw(t, name)
			}
		}
		want := rt.Want{Names: names, Partitions: rapid.IntRange(0, 9).Draw(t, "want"), NoIdempotency: rapid.Bool().Draw(t, "off")}
		plan := rt.Plan(want, state)
		for _, c := range plan {
			if c.Topic == "orders" || c.Kind == rt.AddPartitions && c.Partitions <= c.HasPartitions {
				t.Fatalf("planned %s", c)
			}
		}
		done := after(state, plan)
		if left := rt.Plan(want, done); len(left) != 0 {
			t.Fatalf("left: %s", lines(left))
		}
		for _, p := range rt.Verify(want, done) {
			tooWide := p.Topic == names.Control() && p.Setting == "partitions" // nothing takes partitions away
			if !p.Warning && !tooWide {
				t.Fatalf("after the plan: %s", p)
			}
		}
	})
}
