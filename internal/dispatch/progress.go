package dispatch

// progress is how far a slot is with its chunk, in one word. A slot claims each of its tasks with a compare-and-swap of the
// word. Whoever else takes tasks or results out of the chunk (the supervisor, TakeBack) does it with another, and holds the
// pool's lock, without which no chunk begins. So each task and each result has one taker, for one atomic operation a call.
//
//	bits  0– 9  flushed: results that somebody took for delivery
//	bits 10–19  started: tasks that were called
//	bits 20–29  end:     tasks in the chunk
//	bit     30  abandoned: the call that was started last is no longer waited for; the word does not change any more
//
// flushed ≤ started ≤ end. A call runs, or its result is being written, exactly while flushed < started: it is the last one
// started.
type progress uint64

const (
	countBits    = 10
	countMask    = 1<<countBits - 1
	startedOne   = progress(1) << countBits
	abandonedBit = progress(1) << (3 * countBits)
)

func (g progress) flushed() int    { return int(g & countMask) }
func (g progress) started() int    { return int(g >> countBits & countMask) }
func (g progress) end() int        { return int(g >> (2 * countBits) & countMask) }
func (g progress) abandoned() bool { return g&abandonedBit != 0 }
func (g progress) calling() bool   { return g.flushed() < g.started() }

// chunk is the word of a new chunk of n tasks.
func chunk(n int) progress { return progress(n) << (2 * countBits) }

// settled has all results taken.
func (g progress) settled() progress { return g&^countMask | progress(g.end()) }

// cut has nothing behind the running call.
func (g progress) cut() progress {
	return g&^(countMask<<(2*countBits)) | progress(g.started())<<(2*countBits)
}

// flush has the results before the running call taken.
func (g progress) flush() progress {
	return g&^countMask | progress(max(g.flushed(), g.started()-1))
}
