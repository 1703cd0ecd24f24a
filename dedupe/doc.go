// Package dedupe remembers which work of a Kafka consumer is finished, so that a record that comes twice takes effect
// once.
//
// It has the parts and leaves the wiring to the caller:
//
//   - [Key] says what makes two records the same work: the record's origin, its key, a header, a JSON path, a function.
//   - [Hasher] and [Table] remember finished keys in memory, in about 28 bytes a key.
//   - [Bits] and [Chunk] remember finished offsets, one bit each.
//   - [Mark] is what goes into a compacted topic, so that the memory outlives the process.
//   - [AutoWindow] says for how long to remember.
//
// # Guarantees
//
// A mark is a truth about the past: write it after the effect took place, wait for its acknowledgement, and only then
// commit the offset. Whoever reads the topic to its end before it starts work then knows everything that was
// acknowledged. Every mark names in its key the tenure that wrote it, one ownership of a partition, so that a late
// write of an owner that was replaced lands beside the new owner's marks and never on them.
//
// A decoder never panics, whatever the bytes, and allocates no more than the input is long. A release reads what the
// release before it wrote.
//
// # What it does not do
//
// It does not make an effect and its mark one step. A process that dies between the two repeats the effect, once, when
// the record comes again. It reads no clock, opens no connection and starts no goroutine: times are arguments, in Unix
// milliseconds. It knows keys within one partition only: producers must partition by what the key is made of.
//
// # Concurrency
//
// [Key] and [Hasher] are values, safe for concurrent use. [Table], [Bits] and [Mark] belong to one goroutine at a time.
//
// # Smallest use
//
//	hasher := dedupe.NewHasher(dedupe.NewSeed())
//	var done dedupe.Table
//
//	x, ok, err := key.Of(record)
//	switch h := hasher.Sum(x); {
//	case err != nil || !ok: // no key of its own: the record's origin is its key
//	case done.Has(h): // finished before: skip it
//	default: // run it, write its mark, then done.Put(h, mark.At)
//	}
package dedupe

import "github.com/laneway-go/laneway/internal/origin"

// Origin names one record of a source topic the way Kafka does.
type Origin = origin.Origin

// Identity is one life of a record: run 0 is its first, each replay gives it another.
type Identity = origin.Identity

// TopicID is the id that Kafka gave a topic when it was created; zero where the broker told none.
type TopicID = origin.TopicID
