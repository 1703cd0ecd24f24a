package assign

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Protocol is the name under which the members of a group agree on this balancer. All members of a group must offer it;
// a group that used another balancer moves over in two rolling restarts, the first with both.
const Protocol = "laneway"

// maxVersion is the longest [Config.Version], in bytes: the whole group's join metadata is one record in a topic of the
// broker, of 1 MB by default.
const maxVersion = 128

// Config is what a member brings to its group. The zero value is usable.
type Config struct {
	// Also returns topics to join with besides the subscription, in any order: those that the owner of a lane commits
	// offsets of (R22). It is asked at each join, on the client's goroutine, and must not block. Nil means none. What is
	// both here and in the subscription is a source.
	Also func() []string

	// Weight is this member's share of the load, relative to the other members': 1 to [MaxWeight]. 0 means 1.
	Weight int

	// Version of the worker, at most 128 bytes. It decides nothing.
	Version string

	// Logger hears, from the leader, of members that it cannot understand. Nil means silence.
	Logger *slog.Logger
}

// New returns the balancer, or an error that names everything that is wrong with the configuration.
func New(cfg Config) (kgo.GroupBalancer, error) {
	var problems []error
	if cfg.Weight < 0 || cfg.Weight > MaxWeight {
		problems = append(problems, fmt.Errorf("assign: Weight %d is not in 0 to %d", cfg.Weight, MaxWeight))
	}
	if len(cfg.Version) > maxVersion {
		problems = append(problems, fmt.Errorf("assign: Version has %d bytes, more than %d", len(cfg.Version), maxVersion))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if cfg.Also == nil {
		cfg.Also = func() []string { return nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Weight = max(cfg.Weight, 1)
	return &balancer{cfg}, nil
}

type balancer struct{ cfg Config }

func (*balancer) ProtocolName() string { return Protocol }

func (*balancer) IsCooperative() bool { return true }

// JoinGroupMetadata tells the group what this member wants and what it has. Equal arguments give equal bytes.
func (b *balancer) JoinGroupMetadata(sources []string, current map[string][]int32, generation int32) []byte {
	profile := Profile{Weight: b.cfg.Weight, Version: b.cfg.Version, Sources: sources}
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version = 3
	meta.Topics = sortedSet(slices.Concat(sources, b.cfg.Also()))
	meta.UserData = profile.AppendTo(nil)
	meta.Generation = generation
	for _, topic := range slices.Sorted(maps.Keys(current)) {
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic = topic
		owned.Partitions = slices.Sorted(slices.Values(current[topic]))
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
	}
	return meta.AppendTo(nil)
}

func (*balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	assigned, err := kgo.ParseConsumerSyncAssignment(assignment)
	if err != nil {
		return nil, fmt.Errorf("read assignment of this member: %w", err)
	}
	return assigned, nil
}

// MemberBalancer prepares a round. The topics that it returns are the sources alone: the leader need not know, or watch,
// the partition counts of anything else.
func (b *balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	r := new(round)
	cb, err := kgo.NewConsumerBalancer(r, b.readable(members))
	if err != nil {
		return nil, nil, fmt.Errorf("read join metadata of the group: %w", err)
	}
	r.members = b.members(cb)
	topics := make(map[string]struct{})
	for _, m := range r.members {
		for _, topic := range m.Sources {
			topics[topic] = struct{}{}
		}
	}
	return cb, topics, nil
}

// readable returns the members, with metadata that wants and has nothing in place of any that cannot be read: one broken
// member must not stop the others.
func (b *balancer) readable(members []kmsg.JoinGroupResponseMember) []kmsg.JoinGroupResponseMember {
	members = slices.Clone(members)
	for i := range members {
		if _, err := kgo.NewConsumerBalancer(nil, members[i:i+1]); err != nil {
			b.cfg.Logger.Error("group member has unreadable join metadata, it gets nothing",
				slog.String("member_id", members[i].MemberID), slog.Any("error", err))
			nothing := kmsg.NewConsumerMemberMetadata()
			members[i].ProtocolMetadata = nothing.AppendTo(nil)
		}
	}
	return members
}

// members turns the group's metadata into the plain values that [Plan] works on. A member whose profile cannot be read
// does not say which of its topics are sources; the others know.
func (b *balancer) members(cb *kgo.ConsumerBalancer) []Member {
	var members []Member
	var strangers []int
	var known []string
	cb.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		m := Member{ID: member.MemberID, Generation: meta.Generation, Owned: owned(meta)}
		if member.InstanceID != nil {
			m.Instance = *member.InstanceID
		}
		profile, err := ParseProfile(meta.UserData)
		if err != nil {
			b.cfg.Logger.Warn("group member has an unreadable profile",
				slog.String("member_id", m.ID), slog.Any("error", err))
			m.Sources = meta.Topics
			strangers = append(strangers, len(members))
		} else {
			m.Weight = profile.Weight
			m.Sources = common(profile.Sources, meta.Topics)
			known = append(known, m.Sources...)
		}
		members = append(members, m)
	})
	for _, i := range strangers {
		members[i].Sources = common(members[i].Sources, known)
	}
	return members
}

func owned(meta *kmsg.ConsumerMemberMetadata) map[string][]int32 {
	all := make(map[string][]int32, len(meta.OwnedPartitions))
	for _, o := range meta.OwnedPartitions {
		all[o.Topic] = append(all[o.Topic], o.Partitions...)
	}
	return all
}

// common returns what a and b have in common, in order.
func common(a, b []string) []string {
	return slices.DeleteFunc(sortedSet(a), func(s string) bool { return !slices.Contains(b, s) })
}

// round is one rebalance as its leader sees it.
type round struct{ members []Member }

// Balance plans the round. What moves is withheld from its new owner until the old one has given it up and the group
// joins again; what nobody owned is handed out at once.
func (r *round) Balance(cb *kgo.ConsumerBalancer, partitions map[string]int32) kgo.IntoSyncAssignment {
	planned := Plan(r.members, partitions)
	plan := cb.NewPlan()
	for id, topics := range plan.AsMemberIDMap() {
		maps.Copy(topics, planned[id])
	}
	plan.AdjustCooperative(cb)
	return plan
}
