// Package processor runs a handler over the records of Kafka topics so that every record settles: it is done, or it waits for
// its next try in a delay topic, or it lies in the dead letter topic with the evidence.
//
//	h := processor.HandlerFunc(func(ctx context.Context, m *processor.Message) error { … })
//	p, err := processor.New(processor.Config{Brokers: brokers, Group: "billing", Topics: []processor.Topic{{Name: "orders"}}}, h)
//	err = p.Run(ctx) // blocks until ctx ends; nil after a clean drain
//
// # Guarantees
//
// An offset is committed only after the record's side effects are finished and marked, or after its copy in a delay topic or
// in the dead letter topic is acknowledged by all in-sync replicas. A record that is marked as done does not run again within
// the idempotency window, across restarts, rebalances and machines. Records of one key run in the order of the source, also
// when one of them is retried. A record is never tried early, and no retry blocks another key.
//
// # What it does not guarantee
//
// A crash between a side effect and its mark repeats the effect ([RecordAfter]) or parks the record for a person
// ([ClaimFirst]). A process that was declared dead but still runs can repeat an effect; [Message.Fence] lets a database refuse
// it. All of this holds within a partition: producers must partition by what the key is made of.
//
// # Concurrency
//
// A [Processor] is used once: New starts nothing, Run starts what it needs and waits for all of it. Handlers are called from
// many goroutines.
package processor
