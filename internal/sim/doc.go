// Package sim runs whole workers against an embedded broker in virtual time, hurts them, and judges from outside what they did.
//
// A world is one cluster, a few workers in one process, and some hundred records whose handler outcomes are fixed by a seed. The
// seed also chooses what goes wrong: workers that die at any moment, cut or slow connections, answers that are lost after the
// broker did the work, writes that one topic refuses for a minute, leaders and coordinators that move, members that are thrown
// out of the group, commits that are refused, and deploys in between. The clock of a world is virtual, so that an hour of it
// takes as long as the work that is done in it.
//
// The oracle does not ask the worker anything. It has the broker's logs as an ordinary consumer reads them, the committed
// offsets as they were along the run, and a ledger that the handlers themselves keep of every call and every effect. The
// invariants that it checks are those of docs/protocol.md.
//
// A seed fixes the world and its faults. It does not fix the order in which the Go scheduler runs goroutines that are ready at
// the same virtual instant, so that a rare failure may need several runs of its seed to come back.
//
// Everything but this file is a test and needs -tags synctests:
//
//	go test -tags synctests ./internal/sim
//	go test -tags synctests ./internal/sim -run TestSimulation -sim.seed=42
//	LANEWAY_SIM_SEEDS=2000 go test -tags synctests ./internal/sim -run TestSimulation
package sim
