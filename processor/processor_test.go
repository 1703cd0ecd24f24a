//go:build synctests

package processor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
)

func logger() *slog.Logger {
	if os.Getenv("LANEWAY_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// cluster is an embedded broker on a virtual network.
type cluster struct {
	*kfake.Cluster
	dial   kgo.Opt
	client *kgo.Client
}

func newCluster(t *testing.T, partitions int32) *cluster {
	t.Helper()
	vn := new(kfake.VirtualNetwork)
	k, err := kfake.NewCluster(kfake.ListenFn(vn.Listen), kfake.NumBrokers(1), kfake.Ports(9092), kfake.SeedTopics(partitions, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{Cluster: k, dial: kgo.Dialer(vn.DialContext)}
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...), c.dial, kgo.DefaultProduceTopic("orders")); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) close() {
	c.client.Close()
	c.Close()
}

func (c *cluster) produce(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	if err := c.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// config returns the configuration of a worker of the cluster.
func (c *cluster) config(topic processor.Topic) processor.Config {
	topic.Name = "orders"
	return processor.Config{
		Brokers: c.ListenAddrs(), Group: "billing", Topics: []processor.Topic{topic}, AutoCreateTopics: true,
		ClientOptions: []kgo.Opt{c.dial}, Logger: logger(),
	}
}

// run runs a worker until stop is called, which returns what Run returned.
func run(t *testing.T, cfg processor.Config, h processor.HandlerFunc) (p *processor.Processor, stop func() error) {
	t.Helper()
	p, err := processor.New(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return p, func() error { cancel(); return <-ended }
}

func TestARecordThatFailsComesBackAfterItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.close()
		for i := range 10 {
			c.produce(t, &kgo.Record{Key: fmt.Append(nil, "k", i%3), Value: fmt.Append(nil, i)})
		}
		type handled struct {
			value   string
			attempt int
			after   time.Duration
		}
		calls := make(chan handled, 100)
		start := time.Now()
		_, stop := run(t, c.config(processor.Topic{}), func(_ context.Context, m *processor.Message) error {
			calls <- handled{string(m.Value), m.Attempt, time.Since(start)}
			if string(m.Value) == "4" && m.Attempt < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		var of4, all []handled
		for len(all) < 12 {
			h := <-calls
			if all = append(all, h); h.value == "4" {
				of4 = append(of4, h)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		for i, least := range []time.Duration{0, 5 * time.Second, time.Minute} {
			most := least + min(least/5, 10*time.Second) + 100*time.Millisecond
			since := of4[i].after
			if i > 0 {
				since -= of4[i-1].after
			} else {
				most = 5 * time.Second // joining
			}
			if of4[i].attempt != i+1 || since < least || since > most {
				t.Errorf("call %d: %+v, %v after the one before, want %v to %v", i, of4[i], since, least, most)
			}
		}
		if last := all[len(all)-1]; last.value != "7" {
			t.Errorf("last call %+v, want 7, which has the key of 4", last)
		}
	})
}

func TestSettledRecordsAreTrimmedFromTheStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		c.produce(t, &kgo.Record{Value: []byte("once more")})
		done := make(chan struct{})
		cfg := c.config(processor.Topic{})
		cfg.KeepSettled = time.Minute
		_, stop := run(t, cfg, func(_ context.Context, m *processor.Message) error {
			if m.Attempt == 1 {
				return errors.New("not yet")
			}
			close(done)
			return nil
		})
		<-done
		if info := c.PartitionInfo("orders.billing.retry-5s", 0); info.LogStartOffset != 0 || info.HighWatermark != 1 {
			t.Errorf("before the trim: %+v", info)
		}
		<-time.After(11 * time.Minute) // virtual
		if info := c.PartitionInfo("orders.billing.retry-5s", 0); info.LogStartOffset != 1 {
			t.Errorf("after the trim: %+v", info)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestMarksPastTheWindowAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		cfg := c.config(processor.Topic{Idempotency: processor.Idempotency{Key: dedupe.FromRecordKey(), Window: 12 * 24 * time.Hour}})
		done := make(chan string, 10)
		handle := func(_ context.Context, m *processor.Message) error { done <- string(m.Value); return nil }

		_, stop := run(t, cfg, handle) // makes the topics, and commits so that the marks below are of committed records
		c.produce(t, &kgo.Record{Value: []byte("first")})
		<-done
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		old := dedupe.Mark{Kind: dedupe.Done, Key: []byte("old"), At: time.Now().Add(-13 * 24 * time.Hour).UnixMilli(), Tenure: 1}
		young := dedupe.Mark{Kind: dedupe.Done, Key: []byte("young"), At: time.Now().Add(-11 * 24 * time.Hour).UnixMilli(), Tenure: 1}
		for _, m := range []*dedupe.Mark{&old, &young} {
			c.produce(t, &kgo.Record{Topic: "orders.billing.idempotency", Key: m.AppendKey(nil), Value: m.AppendValue(nil)})
		}
		p, stop := run(t, cfg, handle)
		<-time.After(3 * time.Minute) // virtual
		c.produce(t, &kgo.Record{Key: []byte("young"), Value: []byte("young")}, &kgo.Record{Key: []byte("old"), Value: []byte("old")})
		if got := <-done; got != "old" {
			t.Errorf("%q ran", got)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := p.Counts("orders"); n.Done != 1 || n.Duplicates != 1 {
			t.Errorf("counts %+v", n)
		}
	})
}

func TestTooManyWaitingRecordsStopIntakeUntilSomeHaveSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		cfg := c.config(processor.Topic{})
		cfg.Buffers.Waiting = 20
		var down atomic.Bool
		down.Store(true)
		p, stop := run(t, cfg, func(context.Context, *processor.Message) error {
			if down.Load() {
				return errors.New("down")
			}
			return nil
		})
		for range 100 {
			c.produce(t, &kgo.Record{Value: []byte("v")})
			<-time.After(20 * time.Millisecond) // virtual: each is fetched alone
		}
		if n := p.Counts("orders"); n.Taken < 20 || n.Taken > 30 {
			t.Errorf("took %d records with room for 20 that wait", n.Taken)
		}
		<-time.After(time.Second) // the status may be old
		if why := p.Lanes()[0].Pauses["orders"]; why != "waiting_full" {
			t.Errorf("pause %q", why)
		}
		down.Store(false)
		<-time.After(30 * time.Minute)
		if n := p.Counts("orders"); n.Done != 100 {
			t.Errorf("counts %+v, want all done", n)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
