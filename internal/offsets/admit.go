package offsets

import "math/bits"

// The limits of R20. A window of 20,000 offsets is a bitmap of 2,500 bytes, and 2,700 bytes of gaps leave room for the
// rest of the metadata as well: 3,072 bytes make 4,096 characters of base64, which is what a broker takes.
const (
	DefaultWindow   = 20_000  // offsets
	DefaultMaxSpan  = 1 << 20 // offsets
	DefaultGapBytes = 2_700   // bytes
)

// Config holds the limits of admission (R20). The zero value of a field means its default. Larger values than the
// defaults are cut down to them: the metadata would not fit.
type Config struct {
	Window  int64 // a record is admitted while the span is below this many offsets; default 20,000
	MaxSpan int64 // a record is never admitted at this span, except below the inherited position; default 2^20 offsets

	// GapBytes admits a record between Window and MaxSpan while the unsettled offsets, written as gaps, take no more
	// bytes; default 2,700. Negative: never.
	GapBytes int
}

func (c Config) filled() Config {
	if c.Window <= 0 || c.Window > DefaultWindow {
		c.Window = DefaultWindow
	}
	if c.MaxSpan <= 0 || c.MaxSpan > DefaultMaxSpan {
		c.MaxSpan = DefaultMaxSpan
	}
	if c.GapBytes == 0 || c.GapBytes > DefaultGapBytes {
		c.GapBytes = DefaultGapBytes
	}
	return c
}

// Admits reports whether the next record may be received (R20): below the inherited position always, else while the span
// is below Window, or while it is below MaxSpan and few enough offsets are unsettled. It is cheap enough to be asked
// before every record.
func (t *Tracker) Admits() bool {
	return t.position < t.speaksTo || t.Span() < t.cfg.Window || t.Span() < t.cfg.MaxSpan && t.gapsWithin(t.cfg.GapBytes)
}

// Resumes reports whether at least half of the room is free again: a partition that was paused when Admits said no is
// resumed then and not before, because frequent pauses are dear.
func (t *Tracker) Resumes() bool {
	return t.position < t.speaksTo || t.Span() <= t.cfg.Window/2 ||
		t.Span() <= t.cfg.MaxSpan/2 && t.cfg.GapBytes >= 0 && t.gapsWithin(t.cfg.GapBytes/2)
}

// Admit returns how many of n records that follow each other without a gap, from the position on, may be received before
// anything else settles. It counts each of them as owed, so more may fit if some were settled before they were read.
func (t *Tracker) Admit(n int) int {
	room := max(t.speaksTo-t.position, t.cfg.Window-t.Span(), 0)
	if int64(n) > room && t.Span() < t.cfg.MaxSpan {
		room = max(room, t.wideRoom(n))
	}
	return int(min(int64(n), room))
}

// wideRoom is the part of Admit that lies between Window and MaxSpan.
func (t *Tracker) wideRoom(n int) int64 {
	limit, span := int64(t.cfg.GapBytes), t.cfg.MaxSpan-t.Span()
	if int64(n) <= span && mostGapBytes(t.unsettled+n, t.Span()+int64(n)) <= limit {
		return int64(n)
	}
	if !t.gapsWithin(t.cfg.GapBytes) {
		return 0
	}
	first := int64(1) // bytes of the first of them; each that follows takes one
	if last, ok := t.owed.prev(t.position); ok {
		first = uvarintLen(t.position - last - 1)
	}
	return min(span, max(1, limit-t.gaps.count(t)-first+2))
}

// gapsWithin reports whether the unsettled offsets, written as gaps, take at most limit bytes. The span must be below
// MaxSpan. Two bounds that need no counting decide most cases.
func (t *Tracker) gapsWithin(limit int) bool {
	if t.unsettled > limit {
		return false
	}
	return mostGapBytes(t.unsettled, t.Span()) <= int64(limit) || t.gaps.count(t) <= int64(limit)
}

// mostGapBytes bounds what n gaps within a span below 2^21 take: a gap of two bytes covers at least 2^7 offsets and one
// of three at least 2^14, so there is no room for many of them.
func mostGapBytes(n int, span int64) int64 {
	u := int64(n)
	return u + min(u, span>>7) + min(u, span>>14)
}

// gapBytes is how many bytes the unsettled offsets of a tracker take in the metadata as gaps: for each, as a varint, how
// many settled ones lie between it and the one below. The lowest has gap 0, because it is the commit offset. Settling
// one never makes the list longer. The number is first counted when it is asked for, and kept up to date from then on
// until nothing is unsettled. It says nothing, and is not asked for, while an owed offset lies outside the ring.
type gapBytes struct {
	counted bool
	n       int64
}

func (g *gapBytes) count(t *Tracker) int64 {
	if g.counted {
		return g.n
	}
	*g = gapBytes{counted: true}
	at := t.low
	t.EachUnsettled(func(off int64) bool {
		g.n += uvarintLen(off - at)
		at = off + 1
		return true
	})
	return g.n
}

// owed is told of an offset that is about to be owed, above all others. Asked only when counted, as is released.
func (g *gapBytes) owed(t *Tracker, off int64) {
	at := off
	if last, ok := t.owed.prev(off); ok {
		at = last + 1
	}
	g.n += uvarintLen(off - at)
}

// released is told of an offset that was owed, while low still stands where it stood before.
func (g *gapBytes) released(t *Tracker, off int64) {
	below, between := t.owed.prev(off)
	if !between {
		below = off - 1
	}
	g.n -= uvarintLen(off - below - 1)
	above, ok := t.owed.next(off)
	if !ok {
		return
	}
	g.n -= uvarintLen(above - off - 1)
	if between {
		g.n += uvarintLen(above - below - 1)
	} else {
		g.n++ // it is the lowest now, with gap 0
	}
}

func uvarintLen(n int64) int64 { return int64(bits.Len64(uint64(n)|1)+6) / 7 }
