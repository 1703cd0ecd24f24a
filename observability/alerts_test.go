package observability_test

import (
	"bufio"
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const (
	alertsFile  = "../deploy/prometheus/alerts.yaml"
	runbookFile = "../docs/runbook.md"
	tableFile   = "../docs/observability.md"
	namesFile   = "../internal/worker/testdata/metrics.txt" // of TestNamesOfMetricsStay
)

// alert is one rule of the file.
type alert struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, alertsFile)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no alerts")
	}
	return all
}

// metrics returns the metrics that the worker has, with their kinds.
func metrics(t *testing.T) map[string]string {
	t.Helper()
	kinds := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(read(t, namesFile)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		kinds[fields[0]] = fields[1]
	}
	return kinds
}

var metricName = regexp.MustCompile(`\b(laneway|messaging)_[a-z_]+\b`)

func TestAlertsAskForMetricsThatExist(t *testing.T) {
	known := metrics(t)
	for _, a := range alerts(t) {
		names := metricName.FindAllString(a.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric", a.Alert)
		}
		for _, name := range names {
			kind, ok := known[name]
			if !ok {
				t.Errorf("%s asks for %s, which nobody has", a.Alert, name)
			}
			if rated := strings.Contains(a.Expr, "rate(") || strings.Contains(a.Expr, "increase("); rated != (kind == "counter") {
				t.Errorf("%s treats %s, a %s, as another kind", a.Alert, name, kind)
			}
		}
	}
}

func TestEachAlertSaysWhatToDo(t *testing.T) {
	headings := regexp.MustCompile(`(?m)^## (\w+)$`).FindAllSubmatch(read(t, runbookFile), -1)
	var described, named []string
	for _, h := range headings {
		described = append(described, string(h[1]))
	}
	for _, a := range alerts(t) {
		named = append(named, a.Alert)
		for _, field := range []string{"summary", "description"} {
			if a.Annotations[field] == "" {
				t.Errorf("%s has no %s", a.Alert, field)
			}
		}
		if !slices.Contains([]string{"critical", "warning"}, a.Labels["severity"]) {
			t.Errorf("%s has the severity %q", a.Alert, a.Labels["severity"])
		}
		if _, err := time.ParseDuration(a.For); a.For != "" && err != nil {
			t.Errorf("%s: for: %v", a.Alert, err)
		}
		if want := "docs/runbook.md#" + strings.ToLower(a.Alert); !strings.HasSuffix(a.Annotations["runbook_url"], want) {
			t.Errorf("%s links to %s, want …%s", a.Alert, a.Annotations["runbook_url"], want)
		}
	}
	slices.Sort(described)
	slices.Sort(named)
	if diff := cmp.Diff(named, described); diff != "" {
		t.Errorf("runbook (-alerts +headings):\n%s", diff)
	}
}

func TestTheTableHasEveryMetric(t *testing.T) {
	var want, got []string
	for name := range metrics(t) {
		want = append(want, name)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(read(t, tableFile), -1) {
		got = append(got, string(row[1]))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-metrics +rows):\n%s", diff)
	}
}

func TestTextsNameMetricsThatExist(t *testing.T) {
	known := metrics(t)
	for _, file := range []string{runbookFile, tableFile} {
		for _, name := range metricName.FindAllString(string(read(t, file)), -1) {
			if known[name] == "" {
				t.Errorf("%s names %s, which nobody has", file, name)
			}
		}
	}
}
