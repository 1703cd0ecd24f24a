package admin_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// world is an embedded broker with a group "billing" that works on "orders".
type world struct {
	*kfake.Cluster
	t      *testing.T
	client *kgo.Client
	names  retrytopics.Names
	topic  processor.Topic
}

func newWorld(t *testing.T, partitions int32) *world {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	names, err := retrytopics.NewNames("", "orders", "billing")
	if err != nil {
		t.Fatal(err)
	}
	return &world{Cluster: k, t: t, client: cl, names: names, topic: processor.Topic{Name: "orders"}}
}

// admin returns a client as a machine of its own would have it.
func (w *world) admin() *admin.Client {
	w.t.Helper()
	c, err := admin.New(admin.Config{Brokers: w.ListenAddrs(), Sources: []admin.Source{{
		Want: retrytopics.Want{Names: w.names, Policy: w.topic.Retry, NoIdempotency: w.topic.Idempotency.Mode == processor.DedupeOff},
		Key:  w.topic.Idempotency.Key,
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

func (w *world) produce(records ...*kgo.Record) {
	w.t.Helper()
	if err := w.client.ProduceSync(w.t.Context(), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// orders produces n records with values "0", "1", ….
func (w *world) orders(n int) {
	w.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{
			Key: fmt.Append(nil, "k", i%7), Value: fmt.Append(nil, i),
			Headers: []kgo.RecordHeader{{Key: "tenant", Value: fmt.Append(nil, "t", i%2)}, {Key: "traceparent", Value: []byte("00-abc")}},
		}
	}
	w.produce(records...)
}

// work runs a processor until stop is called.
func (w *world) work(h processor.HandlerFunc) (stop func()) {
	w.t.Helper()
	p, err := processor.New(processor.Config{
		Brokers: w.ListenAddrs(), Group: "billing", Topics: []processor.Topic{w.topic}, AutoCreateTopics: true,
	}, h)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Errorf("Run: %v", err)
			}
		})
	}
	w.t.Cleanup(stop)
	return stop
}

// refusal is an error of a class of its own.
type refusal struct{ order string }

func (e refusal) Error() string { return "card of order " + e.order + " refused" }

// dieAll lets a processor give up all records of the source, and stops it.
func (w *world) dieAll(n int) {
	w.t.Helper()
	w.orders(n)
	died := make(chan struct{}, n)
	stop := w.work(func(_ context.Context, m *processor.Message) error {
		defer func() { died <- struct{}{} }()
		if strings.HasSuffix(string(m.Value), "3") {
			return processor.Permanent(errors.New("no such customer"))
		}
		return processor.Permanent(refusal{string(m.Value)})
	})
	for range n {
		<-died
	}
	stop()
}

// letters returns the dead letters of a query.
func letters(t *testing.T, c *admin.Client, q admin.Query) []admin.DeadLetter {
	t.Helper()
	var out []admin.DeadLetter
	err := c.DeadLetters(t.Context(), q, func(d *admin.DeadLetter) error { out = append(out, *d); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// counted counts handler calls by value.
type counted struct {
	mu    sync.Mutex
	calls map[string]int
	total int
	want  int
	all   chan struct{} // closed at the wanted total
}

func newCounted(want int) *counted {
	return &counted{calls: map[string]int{}, want: want, all: make(chan struct{})}
}

func (c *counted) handle(_ context.Context, m *processor.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[string(m.Value)]++
	if c.total++; c.total == c.want {
		close(c.all)
	}
	return nil
}
