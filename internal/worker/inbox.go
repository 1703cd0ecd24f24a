package worker

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/dispatch"
	"github.com/laneway-go/laneway/internal/lane"
)

// news is what has happened to a lane since its last round.
type news struct {
	fetched   []batch
	ok        []lane.Ref
	other     []dispatch.Result
	writes    []written
	commits   []answer
	old       []oldMark // past their window
	truncated bool      // the log was cut, or its topic is another one: the tenure has to begin anew (R41)
}

// batch is consecutive records of one part.
type batch struct {
	part    lane.Part
	records []*kgo.Record
	bytes   int64
}

// written is the answer to a write.
type written struct {
	token  lane.Ref
	offset int64

	err    error // the others below are of a failure
	topic  string
	size   int // of the record alone, in bytes
	client *kgo.Client
}

// answer is the answer to a commit.
type answer struct {
	number     uint64
	generation int32 // that it was sent in
	err        error
}

// inbox collects the news of a lane from all goroutines. Nothing that puts something in ever blocks on the lane.
type inbox struct {
	mu    sync.Mutex
	news  news
	spare news
	wake  chan struct{} // holds one token: there is news
}

func (b *inbox) init() { b.wake = make(chan struct{}, 1) }

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) put(add func(*news)) {
	b.mu.Lock()
	add(&b.news)
	b.mu.Unlock()
	b.signal()
}

// take returns the news, to be given back with recycle before the next take.
func (b *inbox) take() news {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news, b.spare = b.spare, news{}
	return n
}

func (b *inbox) recycle(n news) {
	clear(n.fetched)
	clear(n.other)
	clear(n.writes)
	clear(n.commits)
	clear(n.old)
	b.spare = news{fetched: n.fetched[:0], ok: n.ok[:0], other: n.other[:0], writes: n.writes[:0], commits: n.commits[:0], old: n.old[:0]}
}

// Returned takes in the results of handler calls.
func (t *tenure) Returned(results []dispatch.Result) {
	t.in.mu.Lock()
	for i := range results {
		if r := &results[i]; r.Kind == dispatch.Done && r.Err == nil {
			t.in.news.ok = append(t.in.news.ok, lane.Ref(r.Token))
		} else {
			t.in.news.other = append(t.in.news.other, *r)
		}
	}
	t.in.mu.Unlock()
	t.in.signal()
}
