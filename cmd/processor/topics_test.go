package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// topicsOf returns the arguments of a topics command against a cluster.
func topicsOf(cluster *kfake.Cluster, args ...string) []string {
	return append([]string{"topics"}, append(args, "-c", "testdata/clean.yaml", "-X", "brokers="+strings.Join(cluster.ListenAddrs(), ","))...)
}

func startCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func expect(t *testing.T, got result, code int, goldenFile string) {
	t.Helper()
	if got.code != code || got.stderr != "" {
		t.Errorf("exit code %d, want %d; stderr %q", got.code, code, got.stderr)
	}
	golden(t, filepath.Join("topics", goldenFile), got.stdout)
}

func TestTopicsAreMadeOnlyWithExecute(t *testing.T) {
	cluster := startCluster(t, kfake.SeedTopics(3, "orders"))
	expect(t, invoke(t, topicsOf(cluster, "plan")...), exitFindings, "missing.txt")
	expect(t, invoke(t, topicsOf(cluster, "plan", "-o", "json")...), exitFindings, "missing.jsonl")
	expect(t, invoke(t, topicsOf(cluster, "apply")...), exitFindings, "missing.txt")
	expect(t, invoke(t, topicsOf(cluster, "apply", "--execute")...), exitOK, "applied.txt")
	expect(t, invoke(t, topicsOf(cluster, "plan")...), exitOK, "fine.txt")
	if info := cluster.TopicInfo("orders.billing.retry-5s"); info == nil {
		t.Error("the cluster has no retry topic")
	}
	if info := cluster.PartitionInfos("orders.billing.dlt"); len(info) != 3 {
		t.Errorf("the dead letter topic has %d partitions", len(info))
	}
}

func TestTopicsThatDifferAreWidenedAndSet(t *testing.T) {
	cluster := startCluster(t, kfake.SeedTopics(3, "orders"))
	if err := cluster.CreateTopic("orders.billing.retry-5s", 1, map[string]string{"cleanup.policy": "compact", "retention.ms": "-1"}); err != nil {
		t.Fatal(err)
	}
	expect(t, invoke(t, topicsOf(cluster, "apply", "--execute")...), exitOK, "differ.txt")
	expect(t, invoke(t, topicsOf(cluster, "plan")...), exitOK, "widened.txt")
}

func TestASourceIsNeverMade(t *testing.T) {
	cluster := startCluster(t)
	expect(t, invoke(t, topicsOf(cluster, "apply", "--execute")...), exitFindings, "no-source.txt")
	expect(t, invoke(t, topicsOf(cluster, "plan", "-o", "json")...), exitFindings, "no-source.jsonl")
	if info := cluster.TopicInfo("orders"); info != nil {
		t.Error("the source exists")
	}
}

func TestAClusterThatDoesNotAnswerIsAnError(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // connections are made, and nobody reads them
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for address, want := range map[string]string{
		silent.Addr().String(): "processor: not done within 50ms: read topics from 127.0.0.1:",
		"127.0.0.1:1":          "processor: read topics from 127.0.0.1:1: list topics: ",
	} {
		got := invoke(t, "topics", "plan", "-c", "testdata/clean.yaml", "-X", "brokers="+address, "--timeout", "50ms")
		if got.code != exitError || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

func TestTopicsNeedAConfigurationWithoutProblems(t *testing.T) {
	got := invoke(t, "topics", "plan", "-c", "testdata/broken.yaml")
	if got.code != exitError || !strings.Contains(got.stderr, "testdata/broken.yaml:8:5: topics.orders.concurency: there is no such setting") {
		t.Errorf("%+v", got)
	}
}
