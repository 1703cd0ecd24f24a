package assign

import (
	"cmp"
	"slices"
)

// Member is what the leader knows about one member of the group.
type Member struct {
	ID         string             // as the broker names it; no two members of a group share one
	Instance   string             // the static member's own name, else empty
	Weight     int                // share of the load, relative to the others'; below 1 counts as 1, above [MaxWeight] as that
	Sources    []string           // topics of which it may own partitions
	Owned      map[string][]int32 // partitions that it says it owns, by topic
	Generation int32              // in which it owned them; -1 for none
}

// nobody owns a partition that no member claims.
const nobody = -1

// Plan says which member is to own which partition: by member id, by topic, in ascending order. Every member has an
// entry. The counts in partitions are those of whole topics: a topic that is missing there, or has none, is assigned to
// nobody, and so is one that no member has among its sources.
//
// Where two members claim a partition, the claim of the higher generation is the true one (the other member missed a
// rebalance); in one generation, which a sound group never shows, it is the first member's in order of instance and id.
func Plan(members []Member, partitions map[string]int32) map[string]map[string][]int32 {
	members = inOrder(members)
	topics := sourcesOf(members, partitions)
	d := newDeal(members, topics)
	owners := make([][]int, len(topics))
	for t, topic := range topics {
		owners[t] = claims(members, topic, partitions[topic])
		d.enter(t, owners[t])
	}
	d.run()
	for t := range topics {
		resettle(owners[t], d.column(t))
	}
	return spellOut(members, topics, owners)
}

// inOrder returns the members by instance, static ones first, then by id. A static member gets a new id when it
// restarts; its instance keeps its place, and so its luck where the plan could go either way.
func inOrder(members []Member) []Member {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b Member) int {
		if (a.Instance == "") != (b.Instance == "") {
			return cmp.Compare(b.Instance, a.Instance)
		}
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}

// sourcesOf returns the topics there is something to assign of, in order.
func sourcesOf(members []Member, partitions map[string]int32) []string {
	var topics []string
	for _, m := range members {
		for _, topic := range m.Sources {
			if partitions[topic] > 0 {
				topics = append(topics, topic)
			}
		}
	}
	return sortedSet(topics)
}

// claims returns the member that owns each of the topic's n partitions now, or nobody. It may be a member that does not
// want the topic any more: its share will be nothing, but an older claim does not become true by that.
func claims(members []Member, topic string, n int32) []int {
	owner := slices.Repeat([]int{nobody}, int(n))
	for m, member := range members {
		for _, p := range member.Owned[topic] {
			if p < 0 || p >= n {
				continue
			}
			if owner[p] == nobody || member.Generation > members[owner[p]].Generation {
				owner[p] = m
			}
		}
	}
	return owner
}

// resettle turns the owners that a topic's partitions have into those that they get, where member m gets share[m] of them.
// An owner keeps what it has, up to its share; what is left over fills the others' shares.
func resettle(owner, share []int) {
	left := slices.Clone(share)
	for p, m := range owner {
		if m == nobody {
			continue
		}
		if left[m] == 0 {
			owner[p] = nobody
			continue
		}
		left[m]--
	}
	next := 0
	for p, m := range owner {
		if m != nobody {
			continue
		}
		for left[next] == 0 {
			next++
		}
		owner[p] = next
		left[next]--
	}
}

func spellOut(members []Member, topics []string, owners [][]int) map[string]map[string][]int32 {
	plan := make(map[string]map[string][]int32, len(members))
	for _, m := range members {
		plan[m.ID] = make(map[string][]int32)
	}
	for t, topic := range topics {
		for p, m := range owners[t] {
			own := plan[members[m].ID]
			own[topic] = append(own[topic], int32(p))
		}
	}
	return plan
}
