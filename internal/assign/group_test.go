//go:build synctests

package assign

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	groupName  = "payments-worker"
	partitions = 12
)

func sourceTopics() []string { return []string{"orders", "payments"} }

func stageTopics() []string { return []string{"orders.replay", "orders.retry-5s", "payments.retry-5s"} }

// office is a real group on an embedded broker, in virtual time, with a ledger of who owns what. The ledger is kept from
// the clients' callbacks; it fails the test the moment that a partition has two owners or is no source's.
type office struct {
	*testing.T

	broker  *kfake.Cluster
	network *kfake.VirtualNetwork
	clients map[string]*kgo.Client

	mu     sync.Mutex
	ledger map[string]string
}

func inOffice(t *testing.T, story func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := new(kfake.VirtualNetwork)
		broker, err := kfake.NewCluster(
			kfake.Ports(9092),
			kfake.ListenFn(network.Listen),
			kfake.SeedTopics(partitions, slices.Concat(sourceTopics(), stageTopics())...),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer broker.Close()
		o := &office{T: t, broker: broker, network: network, clients: map[string]*kgo.Client{}, ledger: map[string]string{}}
		defer func() {
			for _, client := range o.clients {
				client.Close()
			}
		}()
		story(o)
	})
}

func (o *office) join(name string, sources []string, opts ...kgo.Opt) {
	o.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(o.broker.ListenAddrs()...),
		kgo.Dialer(o.network.DialContext),
		kgo.ConsumerGroup(groupName),
		kgo.ConsumeTopics(sources...),
		kgo.Balancers(mustNew(o, Config{Also: stages(stageTopics()...)})),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(30 * time.Second),
		kgo.RebalanceTimeout(10 * time.Second), // below the session timeout: the embedded broker expires those who wait in a join
		kgo.MetadataMaxAge(time.Minute),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { o.note(name, got) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { o.strike(name, gone) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { o.strike(name, gone) }),
	}, opts...)...)
	if err != nil {
		o.Fatal(err)
	}
	o.clients[name] = client
}

func (o *office) leave(name string) {
	o.clients[name].Close()
	delete(o.clients, name)
}

func (o *office) note(name string, got map[string][]int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for topic := range got {
		if !slices.Contains(sourceTopics(), topic) {
			o.Errorf("%s is assigned %s, which is no source", name, topic)
		}
	}
	for unit := range units(got) {
		if other, taken := o.ledger[unit]; taken {
			o.Errorf("%s is assigned %s, which %s has", name, unit, other)
		}
		o.ledger[unit] = name
	}
}

func (o *office) strike(name string, gone map[string][]int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for unit := range units(gone) {
		if o.ledger[unit] != name {
			o.Errorf("%s gives up %s, which %q has", name, unit, o.ledger[unit])
		}
		delete(o.ledger, unit)
	}
}

// settled waits until the broker and the ledger agree that the members share all of the partitions, and returns who owns
// what.
func (o *office) settled(members, total int) map[string]string {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), 5*time.Minute)
	defer cancel()
	owners := map[string]string{}
	info, err := o.broker.WaitGroupInfo(ctx, groupName, func(g *kfake.GroupInfo) bool {
		owners = o.owners()
		return g != nil && g.State == "Stable" && len(g.Members) == members && assigned(g) == total && len(owners) == total
	})
	if err != nil {
		o.Fatalf("group of %d does not settle on %d partitions: %+v, owners %v", members, total, info, owners)
	}
	for _, m := range info.Members {
		for _, topic := range stageTopics() {
			if !slices.Contains(m.SubscribedTopics, topic) {
				o.Errorf("%s is not named by %s: the broker would expire its offsets", topic, m.MemberID)
			}
		}
	}
	return owners
}

func (o *office) owners() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.ledger)
}

func assigned(g *kfake.GroupInfo) (n int) {
	for _, m := range g.Members {
		n += m.NumAssigned()
	}
	return n
}

// shares counts what each member owns of each topic.
func shares(owners map[string]string) map[string]int {
	n := make(map[string]int)
	for unit, name := range owners {
		topic, _, _ := strings.Cut(unit, "/")
		n[name+" "+topic]++
	}
	return n
}

func TestGroupOnABrokerGrowsAndShrinksWithTheFewestMoves(t *testing.T) {
	inOffice(t, func(o *office) {
		before := map[string]string{}
		for _, step := range []struct {
			name           string
			change         func()
			members, moves int
			share          int // of each topic, for each member
		}{
			{"one member", func() { o.join("a", sourceTopics()) }, 1, 0, 12},
			{"a second joins", func() { o.join("b", sourceTopics()) }, 2, 12, 6},
			{"a third joins", func() { o.join("c", sourceTopics()) }, 3, 8, 4},
			{"the first leaves", func() { o.leave("a") }, 2, 8, 6},
			{"a fourth joins", func() { o.join("d", sourceTopics()) }, 3, 8, 4},
		} {
			step.change()
			after := o.settled(step.members, 2*partitions)
			if n := moved(before, after); n != step.moves {
				o.Errorf("%s: %d partitions moved, want %d", step.name, n, step.moves)
			}
			for member, n := range shares(after) {
				if n != step.share {
					o.Errorf("%s: %s: %d partitions, want %d", step.name, member, n, step.share)
				}
			}
			before = after
		}
	})
}

func TestGroupOnABrokerSettlesWhenMembersComeAndGoAtOnce(t *testing.T) {
	inOffice(t, func(o *office) {
		o.join("a", sourceTopics())
		o.join("b", sourceTopics())
		o.join("c", sourceTopics())
		o.settled(3, 2*partitions)
		o.join("d", sourceTopics())
		o.leave("a")
		o.join("e", sourceTopics())
		o.leave("b")
		for member, n := range shares(o.settled(3, 2*partitions)) {
			if n != 4 {
				o.Errorf("%s: %d partitions, want 4", member, n)
			}
		}
	})
}

func TestStaticMemberOnABrokerRestartsIntoItsPartitions(t *testing.T) {
	for _, name := range []string{"a", "b"} { // the leader is a
		t.Run(name, func(t *testing.T) {
			inOffice(t, func(o *office) {
				for _, member := range []string{"a", "b", "c"} {
					o.join(member, sourceTopics(), kgo.InstanceID("i-"+member))
				}
				before := o.settled(3, 2*partitions)
				o.leave(name)
				if n := len(o.owners()); n != 16 {
					o.Errorf("while %s is away %d partitions are owned, want the others' 16", name, n)
				}
				o.join(name, sourceTopics(), kgo.InstanceID("i-"+name))
				if diff := cmp.Diff(before, o.settled(3, 2*partitions)); diff != "" {
					o.Error(diff)
				}
			})
		})
	}
}

// Each member is replaced by one that knows a topic more.
func TestRollingDeployOnABrokerAddsATopic(t *testing.T) {
	inOffice(t, func(o *office) {
		old, both := sourceTopics()[:1], sourceTopics()
		o.join("a", old)
		o.join("b", old)
		o.settled(2, partitions)
		o.leave("a")
		o.settled(1, partitions)
		o.join("c", both)
		want := map[string]int{"b orders": 12, "c payments": 12}
		if diff := cmp.Diff(want, shares(o.settled(2, 2*partitions))); diff != "" {
			o.Errorf("in the middle: %s", diff)
		}
		o.leave("b")
		o.settled(1, 2*partitions)
		o.join("d", both)
		want = map[string]int{"c orders": 6, "c payments": 6, "d orders": 6, "d payments": 6}
		if diff := cmp.Diff(want, shares(o.settled(2, 2*partitions))); diff != "" {
			o.Errorf("at the end: %s", diff)
		}
	})
}

func TestGroupOnABrokerSharesAddedPartitionsOnly(t *testing.T) {
	inOffice(t, func(o *office) {
		o.join("a", sourceTopics())
		o.join("b", sourceTopics())
		before := o.settled(2, 2*partitions)
		resp, err := kadm.NewClient(o.clients["a"]).CreatePartitions(o.Context(), 4, sourceTopics()[0], stageTopics()[0])
		if err := errors.Join(err, resp.Error()); err != nil {
			o.Fatal(err)
		}
		after := o.settled(2, 2*partitions+4)
		if n := moved(before, after); n != 0 {
			o.Errorf("%d partitions moved, want none", n)
		}
		want := map[string]int{"a orders": 8, "a payments": 6, "b orders": 8, "b payments": 6}
		if diff := cmp.Diff(want, shares(after)); diff != "" {
			o.Error(diff)
		}
	})
}
