package admin_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/retrytopics"
)

// letterCount is how many dead letters the test below makes: 20,000, or what LANEWAY_TEST_LETTERS says.
func letterCount() int {
	if n, err := strconv.Atoi(os.Getenv("LANEWAY_TEST_LETTERS")); err == nil {
		return n
	}
	return 20_000
}

// fill writes dead letters of 1 KiB by hand.
func (w *world) fill(from, n int) {
	w.t.Helper()
	value := make([]byte, 1024)
	for i := range value {
		value[i] = byte('a' + i*7%23)
	}
	records := make([]*kgo.Record, n)
	for i := range records {
		env := retrytopics.Envelope{
			Origin: admin.Origin{Topic: "orders", Offset: int64(from + i)}, Attempt: 5, Reason: retrytopics.ReasonExhausted, ErrorClass: "*net.OpError",
			ErrorMessage: fmt.Sprintf("dial tcp 10.0.0.%d:443: connection refused", i%9), Group: "billing", LastFailedAt: time.Unix(1_700_000_000, 0),
		}
		records[i] = &kgo.Record{Topic: w.names.DLT(), Key: strconv.AppendInt(nil, int64(i%1000), 10), Value: value, Headers: env.Set(nil)}
	}
	w.produce(records...)
}

func TestALargeTopicIsReadInFlatMemory(t *testing.T) {
	w := newWorld(t, 1)
	if err := w.CreateTopic(w.names.DLT(), 1, nil); err != nil {
		t.Fatal(err)
	}
	const part = 10_000
	n := letterCount()
	for done := 0; done < n; done += part {
		w.fill(done, part)
	}
	c := w.admin()
	var least, most uint64
	seen := 0
	begun := time.Now()
	err := c.DeadLetters(t.Context(), admin.Query{Resolved: true}, func(*admin.DeadLetter) error {
		if seen++; seen%(n/4) == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			if least == 0 || m.HeapAlloc < least {
				least = m.HeapAlloc
			}
			most = max(most, m.HeapAlloc)
		}
		return nil
	})
	took := time.Since(begun)
	t.Logf("%d dead letters in %s, heap %d to %d MiB", seen, took, least>>20, most>>20)
	if err != nil || seen != n {
		t.Errorf("%d dead letters, %v", seen, err)
	}
	if grown := most - least; grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}
