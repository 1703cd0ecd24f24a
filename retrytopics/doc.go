// Package retrytopics holds what a failed record goes through: what an error means, how long the record waits, in which
// topic, and what it carries on the way.
//
//   - Outcomes ([Permanent], [RetryAfter], [Skip], [Uncertain]) let a handler say what it knows; [Classify] decides for
//     every other error, by a table of rules with names.
//   - [Policy] is the schedule: the tiers, the attempts, the jitter, the limits of a snooze.
//   - [Template] and [Names] map a source topic and a consumer group to the names of the stage, replay, dead letter and
//     idempotency topics, and back.
//   - [Envelope] is the state of a record in flight, as headers that people and other tools can read. Key, value and the
//     user's own headers stay as they were, bit for bit; [Fit] says what is given up when a record grows too large.
//   - [Read], [Plan], [Verify] and [Apply] compare the topics of a cluster with what the protocol needs of them, and
//     create and widen. They never shrink or delete anything and never touch a source topic.
//
// Values and functions only: nothing here keeps a connection, starts a goroutine or reads a clock, apart from Read and
// Apply, which talk to the cluster through a client of the caller. All of it is safe for concurrent use.
//
// Rules (R…) and invariants (L…) named in comments are those of the lane protocol.
package retrytopics
