//go:build synctests

package processor_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/processor"
)

// Pitfall 24: small records that wait together make a batch that is larger than the topic takes.
func TestABurstOfFollowersIsWrittenInBatchesThatFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		const n = 3000
		for i := range n {
			v := make([]byte, 2000)
			_, _ = rand.Read(v)
			if i == 0 {
				v = []byte("poison")
			}
			c.produce(t, &kgo.Record{Key: []byte("k"), Value: v})
		}
		var done atomic.Int64
		p, stop := run(t, c.config(processor.Topic{}), func(_ context.Context, m *processor.Message) error {
			if string(m.Value) == "poison" && m.Attempt == 1 {
				return errors.New("not yet")
			}
			done.Add(1)
			return nil
		})
		<-time.After(3 * time.Minute)
		info := c.PartitionInfo("orders.billing.dlt", 0)
		l := p.Lanes()
		t.Logf("done %d, dlt %d records, lanes %+v, counts %+v", done.Load(), info.HighWatermark, l, p.Counts("orders"))
		if done.Load() != n || info.HighWatermark > 0 {
			t.Errorf("of %d records that fail at most once %d are done and %d are dead", n, done.Load(), info.HighWatermark)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// R24: start latest, one lane a little slower than the other.
func TestALaneThatIsSlowToStartAtTheLatestReadsNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.close()
		for p := range int32(2) {
			for i := range 5 {
				c.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: p, Key: fmt.Append(nil, p, i), Value: []byte("old")})
			}
		}
		var old atomic.Int64
		cfg := c.config(processor.Topic{Start: processor.StartLatest()})
		var once atomic.Bool
		c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			req := r.(*kmsg.ListOffsetsRequest)
			if len(req.Topics) < 3 || once.Swap(true) { // only a lane asks for the source and its stages
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
			for _, rt := range req.Topics {
				st := kmsg.NewListOffsetsResponseTopic()
				st.Topic = rt.Topic
				for _, p := range rt.Partitions {
					sp := kmsg.NewListOffsetsResponseTopicPartition()
					sp.Partition, sp.ErrorCode = p.Partition, kerr.UnknownServerError.Code
					st.Partitions = append(st.Partitions, sp)
				}
				resp.Topics = append(resp.Topics, st)
			}
			return resp, nil, true
		})
		_, stop := run(t, cfg, func(_ context.Context, _ *processor.Message) error {
			old.Add(1)
			return nil
		})
		<-time.After(time.Minute)
		if n := old.Load(); n > 0 {
			t.Errorf("%d records from before the start ran", n)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// L8: a tenure that begins anew in the same process while a handler runs.
func TestATenureThatBeginsAnewWaitsForTheCallsOfTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		c.produce(t, &kgo.Record{Key: []byte("k"), Value: []byte("one")})
		var now, most atomic.Int64
		_, stop := run(t, c.config(processor.Topic{}), func(_ context.Context, _ *processor.Message) error {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			<-time.After(20 * time.Second) // shorter than its time limit of 30 s
			return nil
		})
		<-time.After(5 * time.Second)
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: kerr.OffsetOutOfRange, Count: 1})
		<-time.After(time.Minute)
		if n := most.Load(); n > 1 {
			t.Errorf("%d handlers of one record at once", n)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// L6: what is settled above the log start stays so when the broker deletes the record at the commit offset.
func TestWhatSettledAboveTheLogStartStaysSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		for i := range 10 {
			c.produce(t, &kgo.Record{Key: fmt.Append(nil, i), Value: fmt.Append(nil, i)})
		}
		cfg := c.config(processor.Topic{Idempotency: processor.Idempotency{Mode: processor.DedupeOff}})
		_, stop := run(t, cfg, func(ctx context.Context, m *processor.Message) error {
			if string(m.Value) == "0" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		<-time.After(5 * time.Second)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := c.DeleteRecords("orders", 0, 5); err != nil {
			t.Fatal(err)
		}
		var again atomic.Int64
		_, stop = run(t, cfg, func(_ context.Context, _ *processor.Message) error { again.Add(1); return nil })
		<-time.After(30 * time.Second)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if again.Load() > 0 {
			t.Errorf("%d records ran again that were committed as settled", again.Load())
		}
	})
}
