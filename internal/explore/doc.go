// Command explore tries every order of events in small worlds on the real lane machine and checks, from outside, that what the
// protocol promises holds in every state (L1 to L8, C1, C2 of docs/protocol.md).
//
// A world is two or three records, a few stages, and an environment with a budget: so many crashes, failed writes, snoozes,
// replays, late landings of a dead owner's writes, steps of an owner that does not know that it is dead, elections that cut the
// source. The environment is a plain model of a broker and of handlers; the machine in it is the one that runs in production,
// cloned at every branch. States are told apart by a 64-bit hash of the machine's own canonical form and of everything
// around it, and are visited breadth first, so that the story of a failure is a shortest one.
//
//	go run ./internal/explore                      # all worlds, some minutes at most
//	go run ./internal/explore -list
//	go run ./internal/explore -world shared-x -big # one of them, without a cut
//	go run ./internal/explore -walks 20000 -seed 7 # random walks instead
//
// What is checked is seen from outside: in the logs, the commits (written and read back by internal/offsets) and a ledger of
// handler calls and effects. The machine's own counters prove nothing here.
//
// The last line says "explored N states in M worlds: ok", or ends with FAILED, and the exit code is 1 then. "cut" in the table
// means that the budget of states ended a world before all of its states were seen; breadth first, everything up to the depth
// shown has been.
package main
