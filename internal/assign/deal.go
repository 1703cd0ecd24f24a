package assign

import (
	"cmp"
	"slices"
)

// deal shares out the partitions in numbers: how many of each topic each member gets. Which ones is a detail for later.
//
// What makes one deal better than another is a cost with three parts, the first of which counts before the second, and
// the second before the third:
//
//	load    sum over members of total² / weight
//	spread  sum over members and topics of count² / weight
//	moves   sum over members and topics of what it gets beyond what it had
//
// A sum of squares is least when its parts are as even as they can be, so the best deal is balanced, then spread, then
// sticky, whatever the subscriptions and weights are. Each part only ever grows faster with a count (it is convex). For
// such costs, dealing one partition after the other, each along the cheapest chain of hand-overs, leaves the cheapest
// deal of all after every step: these are the successive shortest paths of a flow from topics to members.
type deal struct {
	weight []int64  // [member]
	may    [][]bool // [member][topic]: whether the topic is one of its sources
	had    [][]int  // [member][topic]: partitions it owns now
	has    [][]int  // [member][topic]: partitions dealt to it so far
	total  []int    // [member]: the sum of its row of has
	count  []int    // [topic]: partitions to deal
}

// unit is divisible by every weight up to MaxWeight (it is the least such number), so that shares are exact integers and
// no rounding decides who gets a partition.
const unit = 720720

// cost is compared part by part. Sums stay far below the range of int64: a million partitions at one member cost a
// chain some 1e12 a hop.
type cost struct{ load, spread, moves int64 }

func (c cost) plus(d cost) cost {
	return cost{c.load + d.load, c.spread + d.spread, c.moves + d.moves}
}

func (c cost) minus(d cost) cost {
	return cost{c.load - d.load, c.spread - d.spread, c.moves - d.moves}
}

func (c cost) less(d cost) bool {
	return cmp.Or(cmp.Compare(c.load, d.load), cmp.Compare(c.spread, d.spread), cmp.Compare(c.moves, d.moves)) < 0
}

func newDeal(members []Member, topics []string) *deal {
	d := &deal{total: make([]int, len(members)), count: make([]int, len(topics))}
	for _, m := range members {
		d.weight = append(d.weight, int64(min(max(m.Weight, 1), MaxWeight)))
		may := make([]bool, len(topics))
		for t, topic := range topics {
			may[t] = slices.Contains(m.Sources, topic)
		}
		d.may = append(d.may, may)
		d.had = append(d.had, make([]int, len(topics)))
		d.has = append(d.has, make([]int, len(topics)))
	}
	return d
}

// enter tells the deal who owns the partitions of topic t now.
func (d *deal) enter(t int, owner []int) {
	d.count[t] = len(owner)
	for _, m := range owner {
		if m != nobody {
			d.had[m][t]++
		}
	}
}

// column returns how many partitions of topic t each member gets.
func (d *deal) column(t int) []int {
	column := make([]int, len(d.has))
	for m := range d.has {
		column[m] = d.has[m][t]
	}
	return column
}

// run deals every partition of every topic. Each topic needs a member that may have it.
func (d *deal) run() {
	for t, n := range d.count {
		for range n {
			d.one(t)
		}
	}
}

// one deals a partition of topic t: to the member where a cheapest chain ends that starts with t.
func (d *deal) one(t int) {
	c := d.chains(t)
	end := nobody
	var best cost
	for m := range c.member {
		if !c.member[m].reached {
			continue
		}
		if total := c.member[m].cost.plus(d.loadOf(m)); end == nobody || total.less(best) {
			end, best = m, total
		}
	}
	d.total[end]++
	for m := end; ; {
		got := c.member[m].via
		d.has[m][got]++
		if got == t {
			return
		}
		m = c.topic[got].via
		d.has[m][got]--
	}
}

// chains are the cheapest ways to pass a partition on, from one topic. A chain goes to a member, which takes a partition
// of that topic; it ends there, or the member gives one of another topic to a further member, and so on.
type chains struct {
	topic  []hop // [topic], reached when a member gives one of it; via is that member
	member []hop // [member], reached when it takes a partition; via is the partition's topic
}

type hop struct {
	reached bool
	cost    cost
	via     int
}

// improve makes the hop lead through via, if that is cheaper than what it knew.
func (h *hop) improve(c cost, via int) bool {
	if h.reached && !c.less(h.cost) {
		return false
	}
	*h = hop{reached: true, cost: c, via: via}
	return true
}

// chains searches all chains from topic t (Bellman and Ford's way, as giving saves cost). It comes to an end because no
// circle of hand-overs saves anything: the deal so far is the cheapest.
func (d *deal) chains(t int) chains {
	c := chains{topic: make([]hop, len(d.count)), member: make([]hop, len(d.has))}
	c.topic[t] = hop{reached: true, via: nobody}
	for changed := true; changed; {
		changed = d.take(c)
		changed = d.give(c) || changed
	}
	return c
}

// take lengthens every chain by a member that takes a partition.
func (d *deal) take(c chains) (changed bool) {
	for t, from := range c.topic {
		if !from.reached {
			continue
		}
		for m := range c.member {
			if d.may[m][t] {
				changed = c.member[m].improve(from.cost.plus(d.costOf(m, t, d.has[m][t])), t) || changed
			}
		}
	}
	return changed
}

// give lengthens every chain by a member that gives a partition away.
func (d *deal) give(c chains) (changed bool) {
	for m, from := range c.member {
		if !from.reached {
			continue
		}
		for t := range c.topic {
			if d.has[m][t] > 0 {
				changed = c.topic[t].improve(from.cost.minus(d.costOf(m, t, d.has[m][t]-1)), m) || changed
			}
		}
	}
	return changed
}

// loadOf is the cost of one partition more at member m.
func (d *deal) loadOf(m int) cost {
	return cost{load: (2*int64(d.total[m]) + 1) * unit / d.weight[m]}
}

// costOf is the cost of one partition more of topic t at member m, when it has n of it.
func (d *deal) costOf(m, t, n int) cost {
	c := cost{spread: (2*int64(n) + 1) * unit / d.weight[m]}
	if n >= d.had[m][t] {
		c.moves = 1
	}
	return c
}
