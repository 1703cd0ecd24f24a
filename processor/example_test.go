package processor_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
	"github.com/laneway-go/laneway/retrytopics"
)

// orders starts a broker that has a topic with the given records.
func orders(values ...string) (brokers []string, stop func()) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	if err != nil {
		panic(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for _, v := range values {
		if err := client.ProduceSync(context.Background(), kgo.StringRecord(v)).FirstErr(); err != nil {
			panic(err)
		}
	}
	return cluster.ListenAddrs(), cluster.Close
}

func Example() {
	brokers, stop := orders("order 17")
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())

	h := processor.HandlerFunc(func(_ context.Context, m *processor.Message) error {
		fmt.Printf("%s, attempt %d\n", m.Value, m.Attempt)
		cancel() // a program would go on until it is told to stop
		return nil
	})
	p, err := processor.New(processor.Config{
		Brokers: brokers, Group: "billing", Topics: []processor.Topic{{Name: "orders"}}, AutoCreateTopics: true,
	}, h)
	if err != nil {
		panic(err)
	}
	fmt.Println("drained:", p.Run(ctx))
	// Output:
	// order 17, attempt 1
	// drained: <nil>
}

func Example_outcomes() {
	brokers, stop := orders("flaky", "invalid")
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())

	h := processor.HandlerFunc(func(_ context.Context, m *processor.Message) error {
		switch {
		case string(m.Value) == "invalid":
			return processor.Permanent(errors.New("no amount")) // to the dead letter topic at once
		case m.Attempt == 1:
			return errors.New("connection refused") // to retry-100ms
		}
		fmt.Println(string(m.Value), "done in attempt", m.Attempt)
		cancel()
		return nil
	})
	p, err := processor.New(processor.Config{
		Brokers: brokers, Group: "billing", AutoCreateTopics: true,
		Topics: []processor.Topic{{Name: "orders", Retry: retrytopics.Policy{Tiers: []time.Duration{100 * time.Millisecond}}}},
		Events: func(e processor.Event) { fmt.Println(e.Origin, e.Kind, e.Reason) },
	}, h)
	if err != nil {
		panic(err)
	}
	if err := p.Run(ctx); err != nil {
		panic(err)
	}
	// Unordered output:
	// orders/0/0 retried retryable
	// orders/0/1 dead permanent
	// flaky done in attempt 2
}
