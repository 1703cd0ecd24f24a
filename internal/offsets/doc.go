// Package offsets knows which offsets of a partition are settled, and writes that knowledge into the metadata string of
// an offset commit so that the next owner of the partition can go on from it.
//
//   - A [Tracker] follows one partition while it is read: what was received, what is still owed, from where to commit
//     (R21), and whether one more record may be taken without outgrowing the metadata (R20).
//   - [Settled] is the part of that knowledge which lies above the commit offset, as an immutable value.
//   - [Epochs] and [ForkSearch] find out how far a partition is still the log that the knowledge is about (R41).
//   - [Metadata] is the text form of all this, with [Metadata.Encode] and [Decode].
//
// What is guaranteed: whatever was received with the consent of [Tracker.Admits] and then settled fits in the metadata,
// and neither the commit offset nor the settled set ever shrinks (L6). What is not: the package does not read a clock,
// talk to a broker or decide what settles a record, and it does not check that an offset exists.
//
// A Tracker belongs to one goroutine. The other types are values; those that were built are safe to share.
//
//	t := offsets.NewTracker(commit, metadata.Settled)
//	for _, record := range fetched {
//		if !t.Admits() {
//			break // keep the rest, and pause the partition
//		}
//		if t.Receive(record.Offset) {
//			start(record) // calls t.Settle(record.Offset) in the end
//		}
//	}
//	metadata.Settled = t.SettledSet()
//	send(t.Commit(), metadata.Encode(t.Commit()))
package offsets
