package assign

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

func mustNew(t rapid.TB, cfg Config) kgo.GroupBalancer {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func stages(topics ...string) func() []string { return func() []string { return topics } }

func TestNewNamesEveryProblem(t *testing.T) {
	_, err := New(Config{Weight: MaxWeight + 1, Version: strings.Repeat("v", maxVersion+1)})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"Weight 17", "Version has 129 bytes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
	if _, err := New(Config{Weight: -1}); err == nil {
		t.Error("a negative weight is accepted")
	}
}

func TestJoinMetadataSaysWhatTheMemberWantsAndHas(t *testing.T) {
	b := mustNew(t, Config{Also: stages("orders.retry-5s", "orders"), Weight: 2, Version: "v1"})
	current := map[string][]int32{"payments": {1}, "orders": {3, 0}}
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(b.JoinGroupMetadata([]string{"orders", "payments"}, current, 9)); err != nil {
		t.Fatal(err)
	}
	profile, err := ParseProfile(meta.UserData)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Profile{Weight: 2, Version: "v1", Sources: []string{"orders", "payments"}}, profile); diff != "" {
		t.Error(diff)
	}
	meta.UserData = nil
	want := kmsg.ConsumerMemberMetadata{
		Version: 3,
		Topics:  []string{"orders", "orders.retry-5s", "payments"},
		OwnedPartitions: []kmsg.ConsumerMemberMetadataOwnedPartition{
			{Topic: "orders", Partitions: []int32{0, 3}},
			{Topic: "payments", Partitions: []int32{1}},
		},
		Generation: 9,
	}
	if diff := cmp.Diff(want, meta); diff != "" {
		t.Error(diff)
	}
}

func TestJoinMetadataIsTheSameForTheSameMember(t *testing.T) {
	join := func(also, sources []string, owned []int32) []byte {
		current := map[string][]int32{"a": owned, "b": owned, "c": owned, "d": owned}
		return mustNew(t, Config{Also: stages(also...)}).JoinGroupMetadata(sources, current, 1)
	}
	want := join([]string{"x", "y"}, []string{"a", "b"}, []int32{1, 2, 3})
	for range 20 {
		if got := join([]string{"y", "x", "y"}, []string{"b", "a"}, []int32{3, 1, 2}); !bytes.Equal(got, want) {
			t.Fatalf("%q != %q", got, want)
		}
	}
}

// party is a group without a broker: its rounds are played by the rules of the cooperative protocol.
type party struct {
	balancer   kgo.GroupBalancer
	partitions map[string]int32
	generation int32
	members    map[string]*guest
}

type guest struct {
	sources    []string
	owned      map[string][]int32
	generation int32
	metadata   []byte // in place of what the balancer would write
}

func (p *party) join(id string, sources ...string) *guest {
	p.members[id] = &guest{sources: sources, owned: map[string][]int32{}, generation: -1}
	return p.members[id]
}

// round lets every member join once and carry out what it is told. It reports whether any gave up a partition, after
// which the real members join again, and fails when a partition is taken that its owner has not given up.
func (p *party) round(t rapid.TB) (again bool) {
	t.Helper()
	assigned := p.assignments(t)
	for id, topics := range assigned {
		for unit := range units(topics) {
			for other, g := range p.members {
				if other != id && p.current(g) && units(g.owned)[unit] {
					t.Fatalf("%s goes to %s in generation %d, but %s has it", unit, id, p.generation, other)
				}
			}
		}
	}
	for id, g := range p.members {
		for unit := range units(g.owned) {
			again = again || !units(assigned[id])[unit]
		}
	}
	p.generation++
	for id, g := range p.members {
		g.owned, g.generation = assigned[id], p.generation
	}
	return again
}

// current says whether a guest took part in the last round, so that what it has is really its own.
func (p *party) current(g *guest) bool { return g.generation == p.generation }

func (p *party) assignments(t rapid.TB) map[string]map[string][]int32 {
	t.Helper()
	var joined []kmsg.JoinGroupResponseMember
	for _, id := range slices.Sorted(maps.Keys(p.members)) {
		g := p.members[id]
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.ProtocolMetadata = id, g.metadata
		if g.metadata == nil {
			m.ProtocolMetadata = p.balancer.JoinGroupMetadata(slices.Clone(g.sources), g.owned, g.generation)
		}
		joined = append(joined, m)
	}
	mb, topics, err := p.balancer.MemberBalancer(joined)
	if err != nil {
		t.Fatalf("read members: %v", err)
	}
	counts := make(map[string]int32)
	for topic := range topics {
		counts[topic] = p.partitions[topic]
	}
	into, err := mb.(kgo.GroupMemberBalancerOrError).BalanceOrError(counts)
	if err != nil {
		t.Fatalf("balance: %v", err)
	}
	assigned := make(map[string]map[string][]int32)
	for _, a := range into.IntoSyncAssignment() {
		if assigned[a.MemberID], err = p.balancer.ParseSyncAssignment(a.MemberAssignment); err != nil {
			t.Fatalf("parse assignment: %v", err)
		}
	}
	return assigned
}

// settle plays rounds until no member gives anything up, and returns how many.
func (p *party) settle(t rapid.TB) (rounds int) {
	t.Helper()
	for rounds = 1; p.round(t); rounds++ {
		if rounds == 5 {
			t.Fatalf("no end after %d rounds", rounds)
		}
	}
	return rounds
}

func (p *party) owners() map[string]string {
	owners := make(map[string]string)
	for id, g := range p.members {
		for unit := range units(g.owned) {
			owners[unit] = id
		}
	}
	return owners
}

func units(owned map[string][]int32) map[string]bool {
	set := make(map[string]bool)
	for topic, partitions := range owned {
		for _, p := range partitions {
			set[fmt.Sprint(topic, "/", p)] = true
		}
	}
	return set
}

func moved(before, after map[string]string) (n int) {
	for unit, owner := range before {
		if after[unit] != owner {
			n++
		}
	}
	return n
}

func TestGroupGrowsAndShrinksWithTheFewestMoves(t *testing.T) {
	p := &party{
		balancer:   mustNew(t, Config{Also: stages("orders.retry-5s", "payments.replay")}),
		partitions: map[string]int32{"orders": 12, "payments": 12, "orders.retry-5s": 12, "payments.replay": 12},
		members:    map[string]*guest{},
	}
	before := map[string]string{}
	for _, step := range []struct {
		name          string
		change        func()
		moves, rounds int
	}{
		{"one member", func() { p.join("a", "orders", "payments") }, 0, 1},
		{"a second joins", func() { p.join("b", "orders", "payments") }, 12, 2},
		{"a third joins", func() { p.join("c", "orders", "payments") }, 8, 2},
		{"the first leaves", func() { delete(p.members, "a") }, 8, 1},
		{"nothing happens", func() {}, 0, 1},
	} {
		step.change()
		rounds := p.settle(t)
		owners := p.owners()
		if n := moved(before, owners); n != step.moves || rounds != step.rounds || len(owners) != 24 {
			t.Errorf("%s: %d moves in %d rounds, %d partitions owned; want %d in %d, 24", step.name, n, rounds, len(owners), step.moves, step.rounds)
		}
		before = owners
	}
}

func TestGroupComesToRestInTwoRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &party{balancer: mustNew(t, Config{}), partitions: map[string]int32{}, members: map[string]*guest{}}
		for _, topic := range topicNames() {
			p.partitions[topic] = rapid.Int32Range(0, 12).Draw(t, topic)
		}
		sources := rapid.SliceOfNDistinct(rapid.SampledFrom(topicNames()), 0, -1, rapid.ID[string])
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			for range rapid.IntRange(1, 2).Draw(t, "at once") {
				id := fmt.Sprint("m", rapid.IntRange(0, 5).Draw(t, "member"))
				if p.members[id] != nil && rapid.Bool().Draw(t, "leaves") {
					delete(p.members, id)
					continue
				}
				p.join(id, sources.Draw(t, "sources")...) // a member that is there already has restarted
			}
			if rounds := p.settle(t); rounds > 2 {
				t.Fatalf("%d rounds", rounds)
			}
			var w world
			for _, g := range p.members {
				w.members = append(w.members, Member{Sources: g.sources})
			}
			w.partitions = p.partitions
			if got, want := len(p.owners()), w.assignable(); got != want {
				t.Fatalf("%d partitions have an owner, want %d", got, want)
			}
		}
	})
}

func TestLeaderSharesByTheWeightsThatMembersJoinWith(t *testing.T) {
	b := mustNew(t, Config{})
	p := &party{balancer: b, partitions: map[string]int32{"orders": 8}, members: map[string]*guest{}}
	p.join("a", "orders")
	p.join("b").metadata = mustNew(t, Config{Weight: 3}).JoinGroupMetadata([]string{"orders"}, nil, -1)
	p.round(t)
	if a, b := len(p.members["a"].owned["orders"]), len(p.members["b"].owned["orders"]); a != 2 || b != 6 {
		t.Errorf("shares are %d and %d, want 2 and 6", a, b)
	}
}

// The broker gives a restarted static member a new id. Its place among the others decides who gets the odd partition.
func TestLeaderOrdersStaticMembersByInstance(t *testing.T) {
	b := mustNew(t, Config{})
	instances := []string{"i-2", "i-1"}
	var joined []kmsg.JoinGroupResponseMember
	for i, instance := range instances {
		joined = append(joined, kmsg.JoinGroupResponseMember{
			MemberID:         fmt.Sprint("m", i),
			InstanceID:       &instance,
			ProtocolMetadata: b.JoinGroupMetadata([]string{"orders"}, nil, -1),
		})
	}
	mb, _, err := b.MemberBalancer(joined)
	if err != nil {
		t.Fatal(err)
	}
	into, err := mb.(kgo.GroupMemberBalancerOrError).BalanceOrError(map[string]int32{"orders": 1})
	if err != nil {
		t.Fatal(err)
	}
	plan := into.(*kgo.BalancePlan).AsMemberIDMap()
	if diff := cmp.Diff(map[string]map[string][]int32{"m0": {}, "m1": {"orders": {0}}}, plan); diff != "" {
		t.Error(diff)
	}
}

func TestStaleMemberDoesNotTakeWhatItLost(t *testing.T) {
	p := &party{balancer: mustNew(t, Config{}), partitions: map[string]int32{"orders": 4}, members: map[string]*guest{}}
	stale := p.join("a", "orders")
	p.join("b", "orders")
	p.settle(t)
	delete(p.members, "a") // it hangs; the group goes on without it
	p.settle(t)
	p.members["a"] = stale
	before := p.owners()
	for unit := range units(p.members["b"].owned) {
		before[unit] = "b"
	}
	if rounds := p.settle(t); rounds != 2 {
		t.Errorf("%d rounds, want 2: one to give up, one to take", rounds)
	}
	if n := moved(before, p.owners()); n != 2 {
		t.Errorf("%d partitions moved, want 2", n)
	}
}

func TestStageTopicsAreNeverAssigned(t *testing.T) {
	b := mustNew(t, Config{Also: stages("orders.retry-5s", "payments")})
	joined := []kmsg.JoinGroupResponseMember{{MemberID: "a", ProtocolMetadata: b.JoinGroupMetadata([]string{"orders"}, nil, -1)}}
	mb, topics, err := b.MemberBalancer(joined)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]struct{}{"orders": {}}, topics); diff != "" {
		t.Errorf("the leader asks for the partitions of: %s", diff)
	}
	into, err := mb.(kgo.GroupMemberBalancerOrError).BalanceOrError(map[string]int32{"orders": 2, "orders.retry-5s": 2, "payments": 2})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.ParseSyncAssignment(into.IntoSyncAssignment()[0].MemberAssignment)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]int32{"orders": {0, 1}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMemberThatCannotBeUnderstoodIsTolerated(t *testing.T) {
	foreign := func(userdata string) []byte {
		meta := kmsg.NewConsumerMemberMetadata()
		meta.Version = 1
		meta.Topics = []string{"orders.retry-5s", "orders", "elsewhere"}
		meta.UserData = []byte(userdata)
		return meta.AppendTo(nil)
	}
	for name, test := range map[string]struct {
		metadata []byte
		want     map[string]int
		log      string
	}{
		"no profile: what the others call sources": {foreign(""), map[string]int{"a": 2, "b": 2}, "unreadable profile"},
		"damaged profile: the same":                {foreign("\x01\x02"), map[string]int{"a": 2, "b": 2}, "unreadable profile"},
		"unreadable metadata: nothing":             {[]byte{0, 3, 0xff}, map[string]int{"a": 4, "b": 0}, "unreadable join metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			p := &party{
				balancer:   mustNew(t, Config{Also: stages("orders.retry-5s"), Logger: slog.New(slog.NewTextHandler(&log, nil))}),
				partitions: map[string]int32{"orders": 4, "orders.retry-5s": 4, "elsewhere": 4},
				members:    map[string]*guest{},
			}
			p.join("a", "orders")
			p.join("b").metadata = test.metadata
			got := make(map[string]int)
			for id, topics := range p.assignments(t) {
				got[id] = len(topics["orders"])
				if len(units(topics)) != got[id] {
					t.Errorf("%s gets what is no source: %v", id, topics)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(log.String(), test.log) || !strings.Contains(log.String(), "member_id=b") {
				t.Errorf("log does not tell: %s", &log)
			}
		})
	}
}

// A leader reads what any client of the broker may send.
func FuzzMemberBalancer(f *testing.F) {
	b := mustNew(f, Config{Also: stages("stage")})
	f.Add(b.JoinGroupMetadata([]string{"orders"}, map[string][]int32{"orders": {0, 1}}, 3))
	f.Add([]byte{0, 1})
	f.Add([]byte{0, 3, 0xff})
	f.Fuzz(func(t *testing.T, metadata []byte) {
		p := &party{balancer: b, partitions: map[string]int32{"orders": 3}, members: map[string]*guest{}}
		p.join("a", "orders")
		p.join("b").metadata = bytes.Clone(metadata) // the client may mend it in place
		n := 0
		for _, topics := range p.assignments(t) {
			n += len(topics["orders"])
		}
		if n > 3 {
			t.Fatalf("%d of 3 partitions assigned", n)
		}
	})
}
