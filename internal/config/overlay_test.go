package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaterSourcesWin(t *testing.T) {
	file := smallest + "session: {timeout: 20s, heartbeat: 1s}\nshutdown: {total: '${TOTAL:-40s}'}\n"
	c, err := Load(Source{
		Name: "laneway.yaml", Data: []byte(file),
		Environ: []string{
			"LANEWAY_BROKERS=a:1, b:2", "LANEWAY_GROUP=fromenv", "LANEWAY_SESSION_TIMEOUT=30s", "LANEWAY_SESSION_REBALANCE=",
			"LANEWAY_INSTANCE_ID=${POD}", "TOTAL=50s",
		},
		Overrides: []string{
			"session.timeout=40s", "topics.orders.retry.tiers=[1s, 2s]", `topics."eu.orders".handler={exec: {command: [cat]}}`,
			"logging.level=debug", "logging.level=warn",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:1", "b:2"}, c.Brokers); diff != "" {
		t.Errorf("brokers (-want +got):\n%s", diff)
	}
	got := []any{
		c.Group, c.InstanceID, c.Session.Timeout.String(), c.Session.Heartbeat.String(), c.Session.Rebalance.String(),
		c.Shutdown.Total.String(), c.Logging.Level, fmt.Sprint(c.Topics["orders"].Retry.Tiers), c.Topics["eu.orders"].Handler.Exec.Command[0],
	}
	want := []any{"fromenv", "${POD}", "40s", "1s", "30s", "50s", "warn", "[1s 2s]", "cat"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestVariablesCoverEverySettingWithAFixedPath(t *testing.T) {
	all := variables()
	golden(t, "variables.txt", strings.Join(slices.Sorted(maps.Keys(all)), "\n")+"\n")
}
