// Package assign decides which member of a consumer group owns which partition of the sources.
//
// [New] returns a balancer for the Kafka client. It is cooperative (a partition that stays is never interrupted), sticky
// (as few partitions move as balance allows), and deterministic (the plan depends on what the members say, not on the
// order in which they say it).
//
// It guarantees, for every round in which the leader knows the partition counts:
//
//   - each partition of a source goes to exactly one member, and that member subscribes to the source;
//   - the members' loads, over all sources together, are as even as their subscriptions permit: with equal subscriptions
//     and weights they differ by at most one partition. A member of weight 2 carries twice the load of a member of
//     weight 1;
//   - within that, each source is spread as evenly as possible, so that no member ends up with all of a busy topic;
//   - within both, the number of partitions that change hands is the least possible.
//
// Only sources are ever assigned. A member joins with more topics than that: the stage topics of its lanes are named in
// the join metadata, because a broker expires the offsets of topics that no member of a live group lists (R22). What a
// member calls a source is in its [Profile], which travels as user data beside the list of topics.
//
// It does not place related partitions together: partition 3 of two sources may have two owners. It does not look at
// racks. It does not notice new topics or partitions: the client does, when its metadata is refreshed. A change of
// [Config.Also] at run time reaches the broker with the next join, which the caller forces when it cannot wait.
//
// [Plan] and [Profile] are plain values and functions. The balancer keeps no state between rounds and may be shared by
// the clients of one process.
//
//	balancer, err := assign.New(assign.Config{Also: stages.Topics})
//	if err != nil {
//		return err
//	}
//	client, err := kgo.NewClient(
//		kgo.ConsumerGroup("payments"),
//		kgo.ConsumeTopics("orders"),
//		kgo.Balancers(balancer),
//	)
package assign
