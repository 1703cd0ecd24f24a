package dispatch

import "time"

const (
	// chunkWork is how much work a chunk should hold: enough to make its fixed cost (two locks, a clock read, the owner's
	// call, under a microsecond in all) small, and too little to be missed by the slot beside it.
	chunkWork = 50 * time.Microsecond

	// maxChunk bounds a chunk. Above it the fixed cost is a few nanoseconds a call already, and buffers leave the cache.
	maxChunk = 256
)

// pace estimates how long calls take, from whole chunks. The zero value knows nothing.
type pace struct {
	mean  time.Duration
	known bool
}

// observe learns that so many calls took d in all. It goes up fast and down slowly: taking too many slow calls makes
// others wait for a tick, taking too few fast ones only costs a little time.
func (p *pace) observe(calls int, d time.Duration) {
	if calls <= 0 {
		return
	}
	per := d / time.Duration(calls)
	switch {
	case !p.known:
		p.mean, p.known = per, true
	case per > p.mean:
		p.mean += (per - p.mean) / 2
	default:
		p.mean -= (p.mean - per) / 16
	}
}

// chunk returns how many tasks a slot should take at once.
func (p *pace) chunk() int {
	switch {
	case !p.known || p.mean > chunkWork/2:
		return 1
	case p.mean <= chunkWork/maxChunk:
		return maxChunk
	}
	return int(chunkWork / p.mean)
}
