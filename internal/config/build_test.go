package config

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/laneway-go/laneway/processor"
)

func TestBuildMapsEverySetting(t *testing.T) {
	c := mustLoad(t, `
brokers: [a:1]
group: billing
topics:
  b: {handler: {http: {url: "https://localhost/b", headers: {x-a: b}, tls: {}}}, ordering: none, stuck: crash, idempotency: {mode: off, window: 2d}, start: latest, retry: {jitter: 0}}
  a:
    handler: {exec: {command: [cat]}}
    ordering: partition
    concurrency: 3
    timeout: 4s
    grace: 5s
    retry: {tiers: [1s, 2s], max_attempts: 7, jitter: 0.5, max_jitter: 6s, max_snoozes: 8, max_snooze_age: 9h}
    idempotency: {key: record_key, mode: claim_first}
    start: 2026-01-02T15:04:05Z
session: {timeout: 10s, heartbeat: 1s, rebalance: 11s}
instance_id: pod-1
shutdown: {drain: 12s, total: 13s}
buffers: {lane: 14MiB, total: 15MiB, waiting: 2000000}
commit_interval: 16ms
topic_template: "{group}.{source}.{role}"
auto_create_topics: true
`)
	w, err := c.Build(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := w.Config
	got.Logger = nil
	for i := range got.Topics {
		if got.Topics[i].Handler == nil {
			t.Errorf("topic %s has no handler", got.Topics[i].Name)
		}
		got.Topics[i].Handler = nil
	}
	a, b := got.Topics[0], got.Topics[1]
	topics := fmt.Sprint(a.Name, a.Ordering, a.Concurrency, a.Timeout, a.Grace, a.Stuck, a.Retry, a.Idempotency.Key, a.Idempotency.Mode, a.Idempotency.Window, a.Start,
		"; ", b.Name, b.Ordering, b.Stuck, b.Retry.Jitter, b.Idempotency.Mode, b.Idempotency.Window, b.Start)
	want := "apartition 3 4s 5s 0 {[1s 2s] 7 0.5 6s 8 9h0m0s} record_key claim_first 0s 2026-01-02T15:04:05Z; bnone 1 -1 off 48h0m0s latest"
	if topics != want {
		t.Errorf("topics\n%s, want\n%s", topics, want)
	}
	got.Topics = nil
	if diff := cmp.Diff(processor.Config{
		Brokers: []string{"a:1"}, Group: "billing", InstanceID: "pod-1",
		Session:        processor.Session{Timeout: 10 * time.Second, Heartbeat: time.Second, Rebalance: 11 * time.Second},
		Shutdown:       processor.Shutdown{Drain: 12 * time.Second, Total: 13 * time.Second},
		Buffers:        processor.Buffers{Lane: 14 << 20, Total: 15 << 20, Waiting: 2_000_000},
		CommitInterval: 16 * time.Millisecond, TopicTemplate: "{group}.{source}.{role}", AutoCreateTopics: true,
	}, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}
