package worker

import "time"

// ages knows about when the records of a partition were made, by samples of those that were admitted. It answers for offsets
// that only grow.
type ages struct {
	samples []ageSample // by growing offset
	first   int         // of samples: the first that may still be asked for
}

type ageSample struct{ offset, at int64 } // at in ms

const (
	// ageStride is how many records are passed over between two looks at a record's time.
	ageStride = 8
	// ageSpan is how many offsets one sample may speak for if their times are close.
	ageSpan = 64
	// ageError is how far, in ms, a time may be from its sample's before it becomes one.
	ageError = 1000
)

// note takes in the time of a record whose offset is above all that were noted.
func (a *ages) note(offset int64, at time.Time) {
	ms := at.UnixMilli()
	if n := len(a.samples); n > a.first {
		last := a.samples[n-1]
		if offset < last.offset+ageSpan && ms-last.at <= ageError && last.at-ms <= ageError {
			return
		}
	}
	if a.first > len(a.samples)/2 {
		a.samples = a.samples[:copy(a.samples, a.samples[a.first:])]
		a.first = 0
	}
	a.samples = append(a.samples, ageSample{offset, ms})
}

// of returns about when the record at an offset was made; false for one below everything that was noted. Lower offsets are
// not asked for again.
func (a *ages) of(offset int64) (at time.Time, ok bool) {
	for a.first+1 < len(a.samples) && a.samples[a.first+1].offset <= offset {
		a.first++
	}
	if a.first >= len(a.samples) || a.samples[a.first].offset > offset {
		return time.Time{}, false
	}
	return time.UnixMilli(a.samples[a.first].at), true
}
