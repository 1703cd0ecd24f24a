// Package lane is the state machine of one lane: one partition of a source topic with its replay, delay, dead letter and
// idempotency partitions. It decides what runs, what is forwarded, what is marked and what may be committed.
//
// The machine is pure. It has no clock, no client, no goroutine and no map order: whoever drives it hands in what happened
// ([Machine.Fetched], [Machine.Returned], [Machine.Acked], …), calls [Machine.Flush], and carries out what [Machine.Out] then
// holds. Times are Unix milliseconds that the driver passes in. The same machine so runs in production, in the simulation and
// under the exhaustive explorer.
//
// The rules R1 to R44 and the invariants L1 to L8, C1 and C2 that comments cite stand in docs/protocol.md.
//
// A machine belongs to one goroutine and to one tenure (one ownership of the lane). On the plain path, a record that is read,
// run and settled, it allocates nothing.
package lane
