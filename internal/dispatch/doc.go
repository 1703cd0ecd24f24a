// Package dispatch runs the handler calls of one topic: a fixed number of goroutines, the slots, that take tasks from the
// queues of many owners. It knows nothing of Kafka, of lanes or of messages.
//
// # What it guarantees
//
//   - A task that was submitted comes back exactly once: as a [Result], or from [Queue.TakeBack]. Closing its queue, giving
//     up all calls with [Pool.Abandon], and a stuck call under [Crash] are the exceptions, and each says so.
//   - Any free slot takes any task that is ready; queues take turns, and urgent tasks of a queue go before its others.
//   - A call that ignores its time limit holds up nobody for ever: its task comes back as [Stuck], its slot is replaced, and
//     the number of goroutines left behind is bounded by [Config.MaxAbandoned].
//   - A panic, or [runtime.Goexit], in a call ends that call and nothing else.
//
// # How it is fast and fair at once
//
// Tasks are handed to a slot in chunks, and results go back in chunks, so that a lock, a clock read and a wake-up are paid
// once for many calls. How many depends on how long calls took lately: about 50 µs of work make a chunk, and slow calls, or
// unknown ones, travel alone. When a guess is wrong, because one call of a chunk takes long, the supervisor breaks the
// chunk up after one tick (5 ms): what has not started goes back to the queue, what is finished is returned. So a slow
// call holds up its neighbours for two ticks at the most.
//
// A call's context costs nothing until it is looked at: see [Func].
//
// # Concurrency
//
// All exported methods are safe for concurrent use. [Pool.Run] owns every goroutine; there is none before it. Nothing here
// blocks on a call except Run itself and, for as long as an [Owner] takes to take results, [Queue.Close].
//
//	pool := dispatch.New(dispatch.Config{Slots: 64}, call)
//	queue := pool.Owner(lane)
//	go pool.Run(ctx)
//	queue.Submit(tasks) // lane.Returned has the results
package dispatch
