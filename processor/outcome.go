package processor

import (
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

// Permanent marks err as one that no further attempt can cure: the record goes to the dead letter topic at once. It returns
// nil if err is nil.
func Permanent(err error) error { return retrytopics.Permanent(err) }

// RetryAfter puts the record off for at least d, as a rate limit asks for, without using up an attempt; err says why and may
// be nil. The first delay tier is the shortest wait there is a topic for, a shorter d ends earlier.
func RetryAfter(err error, d time.Duration) error { return retrytopics.RetryAfter(err, d) }

// Skip finishes the record without an effect and without a dead letter. The reason is kept with its mark.
func Skip(reason string) error { return retrytopics.Skip(reason) }

// Uncertain marks err as one that leaves it open whether the effect took place. In [ClaimFirst] mode such a record is not run
// again by itself but goes to the dead letter topic; in [RecordAfter] mode it is retried. It returns nil if err is nil.
func Uncertain(err error) error { return retrytopics.Uncertain(err) }
