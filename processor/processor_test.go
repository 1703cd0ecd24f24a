//go:build synctests

package processor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/processor"
)

func logger() *slog.Logger {
	if os.Getenv("LANEWAY_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestARecordThatFailsComesBackAfterItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vn := new(kfake.VirtualNetwork)
		cluster, err := kfake.NewCluster(kfake.ListenFn(vn.Listen), kfake.NumBrokers(1), kfake.Ports(9092), kfake.SeedTopics(2, "orders"))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		dial := kgo.Dialer(vn.DialContext)
		producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), dial)
		if err != nil {
			t.Fatal(err)
		}
		defer producer.Close()
		for i := range 10 {
			r := &kgo.Record{Topic: "orders", Key: fmt.Append(nil, "k", i%3), Value: fmt.Append(nil, i)}
			if err := producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		var calls []string
		done := make(chan struct{})
		start := time.Now()
		h := processor.HandlerFunc(func(_ context.Context, m *processor.Message) error {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, fmt.Sprintf("%s attempt %d at %v", m.Value, m.Attempt, time.Since(start).Round(time.Second)))
			if string(m.Value) == "4" && m.Attempt < 3 {
				return errors.New("not yet")
			}
			if len(calls) == 12 {
				close(done)
			}
			return nil
		})
		p, err := processor.New(processor.Config{
			Brokers: cluster.ListenAddrs(), Group: "billing", Topics: []processor.Topic{{Name: "orders"}},
			AutoCreateTopics: true, ClientOptions: []kgo.Opt{dial}, Logger: logger(),
		}, h)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		select {
		case <-done:
		case err := <-ended:
			t.Fatalf("ended early: %v", err)
		case <-time.After(5 * time.Minute):
			mu.Lock()
			t.Errorf("timed out with calls %v", calls)
			mu.Unlock()
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, c := range calls {
			t.Log(c)
		}
	})
}
