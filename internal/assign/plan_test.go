package assign

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world is a group as its leader sees it, however odd.
type world struct {
	members    []Member
	partitions map[string]int32
}

// limits bound the worlds that are drawn. A topic with no partitions, or fewer, is one that vanished.
type limits struct {
	members, topics, weight between[int]
	partitions              between[int32]
	alike                   bool // all members have one subscription and one weight
}

type between[N int | int32] struct{ low, high N }

func topicNames() []string { return []string{"orders", "payments", "refunds", "visits"} }

func odd() limits {
	return limits{
		members:    between[int]{0, 5},
		topics:     between[int]{0, 4},
		partitions: between[int32]{-1, 7},
		weight:     between[int]{-1, MaxWeight + 2},
	}
}

// small worlds have few enough partitions to try all plans, and enough of the rest for chains of hand-overs.
func small() limits {
	return limits{
		members:    between[int]{2, 3},
		topics:     between[int]{2, 3},
		partitions: between[int32]{1, 3},
		weight:     between[int]{1, 4},
	}
}

func worlds(l limits) *rapid.Generator[world] {
	return rapid.Custom(func(t *rapid.T) world {
		topics := topicNames()[:rapid.IntRange(l.topics.low, l.topics.high).Draw(t, "topics")]
		w := world{partitions: make(map[string]int32)}
		for _, topic := range topics {
			if n := rapid.Int32Range(l.partitions.low, l.partitions.high).Draw(t, topic); n != 0 {
				w.partitions[topic] = n
			}
		}
		weight := rapid.IntRange(l.weight.low, l.weight.high)
		common := weight.Draw(t, "common weight")
		for i := range rapid.IntRange(l.members.low, l.members.high).Draw(t, "members") {
			m := member(t, fmt.Sprintf("m%d", i), topics, l)
			if l.alike {
				m.Sources, m.Weight = topics, common
			} else {
				m.Weight = weight.Draw(t, "weight")
			}
			w.members = append(w.members, m)
		}
		return w
	})
}

func member(t *rapid.T, id string, topics []string, l limits) Member {
	m := Member{
		ID:         id,
		Generation: rapid.Int32Range(-1, 3).Draw(t, "generation"),
		Owned:      make(map[string][]int32),
	}
	if rapid.Bool().Draw(t, "static") {
		m.Instance = "i" + id
	}
	for _, topic := range topics {
		if rapid.Bool().Draw(t, "wants "+topic) {
			m.Sources = append(m.Sources, topic)
		}
		m.Owned[topic] = rapid.SliceOfN(rapid.Int32Range(-1, l.partitions.high+1), 0, int(l.partitions.high)).Draw(t, "owned")
	}
	return m
}

func TestPlanGivesEachPartitionToOneSubscriber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(odd()).Draw(t, "world")
		plan := Plan(w.members, w.partitions)
		owner := make(map[string]string)
		for _, m := range w.members {
			for topic, partitions := range plan[m.ID] {
				if !slices.Contains(m.Sources, topic) {
					t.Fatalf("%s gets %s, which it does not want", m.ID, topic)
				}
				if !slices.IsSorted(partitions) {
					t.Fatalf("%s: partitions of %s are out of order: %v", m.ID, topic, partitions)
				}
				for _, p := range partitions {
					unit := fmt.Sprint(topic, "/", p)
					if other, taken := owner[unit]; taken {
						t.Fatalf("%s goes to %s and %s", unit, other, m.ID)
					}
					owner[unit] = m.ID
				}
			}
		}
		if want := w.assignable(); len(owner) != want || len(plan) != len(w.members) {
			t.Fatalf("plan for %d members with %d partitions, want %d with %d", len(plan), len(owner), len(w.members), want)
		}
	})
}

// assignable counts the partitions that some member wants.
func (w world) assignable() (n int) {
	for topic, count := range w.partitions {
		wanted := slices.ContainsFunc(w.members, func(m Member) bool { return slices.Contains(m.Sources, topic) })
		if wanted {
			n += int(max(count, 0))
		}
	}
	return n
}

func TestPlanIsEvenOverAllAndInEachTopic(t *testing.T) {
	l := odd()
	l.alike = true
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(l).Draw(t, "world")
		plan := Plan(w.members, w.partitions)
		total := func(m Member) (n int) {
			for _, partitions := range plan[m.ID] {
				n += len(partitions)
			}
			return n
		}
		if d := difference(w.members, total); d > 1 {
			t.Fatalf("loads differ by %d: %v", d, plan)
		}
		for topic := range w.partitions {
			if d := difference(w.members, func(m Member) int { return len(plan[m.ID][topic]) }); d > 1 {
				t.Fatalf("shares of %s differ by %d: %v", topic, d, plan)
			}
		}
	})
}

func difference(members []Member, count func(Member) int) int {
	if len(members) == 0 {
		return 0
	}
	var counts []int
	for _, m := range members {
		counts = append(counts, count(m))
	}
	return slices.Max(counts) - slices.Min(counts)
}

// The naive model: of all the plans there are, none is more even, then better spread, then moves less.
func TestPlanIsTheBestThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(small()).Draw(t, "world")
		got := w.price(Plan(w.members, w.partitions))
		best := got
		w.eachPlan(func(plan map[string]map[string][]int32) {
			if p := w.price(plan); slices.Compare(p[:], best[:]) < 0 {
				best = p
			}
		})
		if got != best {
			t.Fatalf("plan costs %v, there is one for %v", got, best)
		}
	})
}

// price adds up load, spread and moves of a whole plan, in twelfths: a multiple of each weight up to 4.
func (w world) price(plan map[string]map[string][]int32) (price [3]int) {
	for _, m := range w.members {
		weight := max(m.Weight, 1)
		var total int
		for topic, partitions := range plan[m.ID] {
			n := len(partitions)
			total += n
			price[1] += n * n * 12 / weight
			for _, p := range partitions {
				if w.owner(topic, p) != m.ID {
					price[2]++
				}
			}
		}
		price[0] += total * total * 12 / weight
	}
	return price
}

// owner says who owns a partition now: the claim of the highest generation counts, then the first by instance and id.
func (w world) owner(topic string, p int32) string {
	var best *Member
	for _, m := range inOrder(w.members) {
		if slices.Contains(m.Owned[topic], p) && (best == nil || m.Generation > best.Generation) {
			best = &m
		}
	}
	if best == nil {
		return ""
	}
	return best.ID
}

// eachPlan calls fn with every way to give each wanted partition to a member that wants it.
func (w world) eachPlan(fn func(map[string]map[string][]int32)) {
	type unit struct {
		topic     string
		partition int32
	}
	var units []unit
	for _, topic := range sourcesOf(w.members, w.partitions) {
		for p := range w.partitions[topic] {
			units = append(units, unit{topic, p})
		}
	}
	plan := make(map[string]map[string][]int32)
	for _, m := range w.members {
		plan[m.ID] = make(map[string][]int32)
	}
	var place func(rest []unit)
	place = func(rest []unit) {
		if len(rest) == 0 {
			fn(plan)
			return
		}
		u := rest[0]
		for _, m := range w.members {
			if !slices.Contains(m.Sources, u.topic) {
				continue
			}
			own := plan[m.ID]
			before := own[u.topic]
			own[u.topic] = append(slices.Clone(before), u.partition)
			place(rest[1:])
			own[u.topic] = before
		}
	}
	place(units)
}

func TestPlanDoesNotDependOnTheOrderOfMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(odd()).Draw(t, "world")
		want := Plan(w.members, w.partitions)
		shuffled := rapid.Permutation(w.members).Draw(t, "shuffled")
		for i := range shuffled {
			shuffled[i].Sources = rapid.Permutation(shuffled[i].Sources).Draw(t, "sources")
			shuffled[i].Owned = maps.Clone(shuffled[i].Owned)
			for topic, partitions := range shuffled[i].Owned {
				shuffled[i].Owned[topic] = slices.Concat(partitions, partitions)
				slices.Reverse(shuffled[i].Owned[topic])
			}
		}
		if diff := cmp.Diff(want, Plan(shuffled, w.partitions)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPlanThatIsCarriedOutIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(odd()).Draw(t, "world")
		want := Plan(w.members, w.partitions)
		for i := range w.members {
			w.members[i].Owned = want[w.members[i].ID]
			w.members[i].Generation = 7
		}
		if diff := cmp.Diff(want, Plan(w.members, w.partitions)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPlanLeavesItsArgumentsAlone(t *testing.T) {
	members := []Member{
		{ID: "b", Sources: []string{"payments", "orders"}, Owned: map[string][]int32{"orders": {2, 0, 1}}},
		{ID: "a", Sources: []string{"orders"}, Owned: map[string][]int32{"orders": {1}}, Generation: 1},
	}
	before := fmt.Sprint(members)
	Plan(members, map[string]int32{"orders": 3, "payments": 1})
	if after := fmt.Sprint(members); after != before {
		t.Fatalf("was %s, is %s", before, after)
	}
}

func TestPlanDecidesWhoOwns(t *testing.T) {
	both := []string{"orders"}
	own := func(ps ...int32) map[string][]int32 { return map[string][]int32{"orders": ps} }
	for name, test := range map[string]struct {
		members []Member
		want    map[string]map[string][]int32
	}{
		"the claim of the highest generation is true": {
			[]Member{{ID: "a", Sources: both, Owned: own(0, 1), Generation: 4}, {ID: "b", Sources: both, Owned: own(1, 2), Generation: 5}},
			map[string]map[string][]int32{"a": own(0, 3), "b": own(1, 2)},
		},
		"in one generation the first member's is": {
			[]Member{{ID: "b", Sources: both, Owned: own(1, 2), Generation: 5}, {ID: "a", Sources: both, Owned: own(1, 0), Generation: 5}},
			map[string]map[string][]int32{"a": own(0, 1), "b": own(2, 3)},
		},
		"a static member comes before others": {
			[]Member{{ID: "a", Sources: both, Owned: own(1, 2), Generation: 5}, {ID: "b", Instance: "z", Sources: both, Owned: own(1, 0), Generation: 5}},
			map[string]map[string][]int32{"a": own(2, 3), "b": own(0, 1)},
		},
		"a stale claim stays stale when the true owner unsubscribes": {
			[]Member{
				{ID: "a", Sources: both, Owned: own(3), Generation: 4},
				{ID: "b", Owned: own(3), Generation: 5},
				{ID: "c", Sources: both, Owned: own(0), Generation: 5},
			},
			map[string]map[string][]int32{"a": own(1, 2), "b": {}, "c": own(0, 3)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.members, map[string]int32{"orders": 4})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanSharesByWeight(t *testing.T) {
	for _, test := range []struct {
		name           string
		light, heavy   int
		partitions     int32
		fewer, greater int // of each topic
	}{
		{"three to one", 1, 3, 8, 2, 6},
		{"the nearest share where none is exact", 3, 7, 13, 4, 9},
		{"no weight is weight 1", 0, 1, 8, 4, 4},
		{"too much is the most", 1, 1000, MaxWeight + 1, 1, MaxWeight},
	} {
		t.Run(test.name, func(t *testing.T) {
			members := []Member{
				{ID: "a", Weight: test.light, Sources: topicNames()[:2]},
				{ID: "b", Weight: test.heavy, Sources: topicNames()[:2]},
			}
			plan := Plan(members, map[string]int32{"orders": test.partitions, "payments": test.partitions})
			for _, topic := range topicNames()[:2] {
				if a, b := len(plan["a"][topic]), len(plan["b"][topic]); a != test.fewer || b != test.greater {
					t.Errorf("%s: shares are %d and %d, want %d and %d", topic, a, b, test.fewer, test.greater)
				}
			}
		})
	}
}

func TestPlanOfNothingIsEmpty(t *testing.T) {
	if plan := Plan(nil, map[string]int32{"orders": 4}); len(plan) != 0 {
		t.Errorf("no members: %v", plan)
	}
	want := map[string]map[string][]int32{"a": {}}
	gone := []Member{{ID: "a", Sources: []string{"orders"}, Owned: map[string][]int32{"orders": {0, 1}}}}
	if diff := cmp.Diff(want, Plan(gone, nil)); diff != "" {
		t.Errorf("topic vanished: %s", diff)
	}
	idle := []Member{{ID: "a"}}
	if diff := cmp.Diff(want, Plan(idle, map[string]int32{"orders": 4})); diff != "" {
		t.Errorf("no sources: %s", diff)
	}
}

// A leader plans on the goroutine that keeps its membership: a big group must not take longer than a heartbeat.
func BenchmarkPlan(b *testing.B) {
	var sources []string
	partitions := make(map[string]int32)
	for i := range 10 {
		topic := fmt.Sprint("topic-", i)
		sources = append(sources, topic)
		partitions[topic] = 200
	}
	var members []Member
	for i := range 100 {
		members = append(members, Member{ID: fmt.Sprint("member-", i), Sources: sources})
	}
	for b.Loop() {
		Plan(members, partitions)
	}
}
