package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/internal/config"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files")
	m.Run()
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// result is what is left of a run of the program.
type result struct {
	code           int
	stdout, stderr string
}

// invocation is one run of the program.
type invocation struct {
	args    []string
	environ []string
	stdin   string
}

func (i invocation) run(t *testing.T) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), i.args, i.environ, strings.NewReader(i.stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func invoke(t *testing.T, args ...string) result {
	t.Helper()
	return invocation{args: args}.run(t)
}

func TestHelp(t *testing.T) {
	eachCommand(newRoot(&environment{}), func(path string) {
		t.Run(path, func(t *testing.T) {
			got := invoke(t, append(strings.Fields(path)[1:], "--help")...)
			if got.code != exitOK || got.stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
			}
			golden(t, filepath.Join("help", strings.ReplaceAll(path, " ", "_")+".txt"), got.stdout)
		})
	})
}

// eachCommand visits the command and those below it, so that none is without a golden help.
func eachCommand(cmd *cobra.Command, visit func(path string)) {
	visit(cmd.CommandPath())
	for _, child := range cmd.Commands() {
		eachCommand(child, visit)
	}
}

func TestAMistakeInTheCommandLineExitsWith2(t *testing.T) {
	for _, args := range []string{
		"chekc", "check --nope", "check extra", "check -o xml", "check --schema --effective",
		"topics aply", "topics plan --execute", "topics plan --timeout 5", "version -c",
	} {
		got := invoke(t, strings.Fields(args)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, "add --help") || got.stdout != "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestExitCodes(t *testing.T) {
	wrapped := fmt.Errorf("run: %w", &exitFailure{code: exitStuck, err: errors.New("stuck")})
	tests := []struct {
		err    error
		code   int
		stderr string
	}{
		{nil, 0, ""},
		{errors.New("boom"), 1, "processor: boom\n"},
		{&exitFailure{code: exitFindings}, 3, ""},
		{wrapped, 5, "processor: run: stuck\n"},
	}
	for _, test := range tests {
		var stderr bytes.Buffer
		report(&stderr, test.err)
		if code := exitCode(test.err); code != test.code || stderr.String() != test.stderr {
			t.Errorf("%v: code %d, stderr %q", test.err, code, stderr.String())
		}
	}
}

func TestFirstSignalStopsAndSecondExits(t *testing.T) {
	signals := make(chan os.Signal)
	exited := make(chan int, 1)
	ctx, stop := context.WithCancelCause(t.Context())
	var stderr bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		watchSignals(signals, &stderr, stop, func(code int) { exited <- code })
	}()
	signals <- syscall.SIGTERM
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, errSignal) {
		t.Errorf("cause %v", cause)
	}
	select {
	case code := <-exited:
		t.Fatalf("the first signal exits with %d", code)
	default:
	}
	signals <- os.Interrupt
	if code := <-exited; code != exitForced {
		t.Errorf("the second signal exits with %d", code)
	}
	<-done
	if want := "processor: terminated: stopping; once more exits at once\n"; stderr.String() != want {
		t.Errorf("stderr %q", stderr.String())
	}
}

func TestVersion(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.time", Value: "2026-01-02T15:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	b := newBuild(info)
	b.Go, b.Platform = "go1.26.0", "linux/amd64"
	if got, want := b.String(), "laneway v1.2.3 (0123abc, modified) go1.26.0 linux/amd64"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := newBuild(nil).String(); !strings.HasPrefix(got, "laneway unknown go1.") {
		t.Errorf("without build info: %q", got)
	}
	if got := invoke(t, "version"); got.code != exitOK || !strings.HasPrefix(got.stdout, "laneway ") {
		t.Errorf("version: %+v", got)
	}
	if got := invoke(t, "version", "-o", "json"); got.code != exitOK || !strings.HasPrefix(got.stdout, `{"version":`) {
		t.Errorf("version -o json: %+v", got)
	}
}

func TestCheckReportsProblemsAndWarnings(t *testing.T) {
	for _, test := range []struct {
		golden string
		code   int
		args   []string
	}{
		{"broken.txt", exitFindings, []string{"-c", "testdata/broken.yaml"}},
		{"broken.jsonl", exitFindings, []string{"-c", "testdata/broken.yaml", "-o", "json"}},
		{"warnings.txt", exitOK, []string{"-c", "testdata/small.yaml"}},
		{"warnings.jsonl", exitOK, []string{"-c", "testdata/small.yaml", "-o", "json"}},
		{"warnings.txt", exitFindings, []string{"-c", "testdata/small.yaml", "--strict"}},
		{"clean.txt", exitOK, []string{"-c", "testdata/clean.yaml", "--strict"}},
		{"effective.yaml", exitOK, []string{"-c", "testdata/small.yaml", "--effective", "-X", "topics.orders.concurrency=8"}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := invoke(t, append([]string{"check"}, test.args...)...)
			if got.code != test.code || got.stderr != "" {
				t.Errorf("exit code %d, want %d; stderr %q", got.code, test.code, got.stderr)
			}
			golden(t, filepath.Join("check", test.golden), got.stdout)
		})
	}
}

func TestCheckPrintsTheSchema(t *testing.T) {
	got := invoke(t, "check", "--schema", "-c", "testdata/missing.yaml")
	if got.code != exitOK || got.stdout != string(config.Schema()) {
		t.Errorf("exit code %d, %d bytes", got.code, len(got.stdout))
	}
}

func TestTheConfigurationIsFound(t *testing.T) {
	small, err := os.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		rule       string
		invocation invocation
		code       int
		output     string
	}{
		{"by -c", invocation{args: []string{"check", "-c", "testdata/clean.yaml"}}, exitOK, "testdata/clean.yaml: no problems"},
		{"on standard input", invocation{args: []string{"check", "-c", "-"}, stdin: string(small)}, exitOK, "-: no problems"},
		{"by a variable", invocation{args: []string{"check"}, environ: []string{"LANEWAY_CONFIG=testdata/clean.yaml"}}, exitOK, "testdata/clean.yaml: no problems"},
		{"by its usual name", invocation{args: []string{"check"}}, exitError, "read the configuration: open laneway.yaml: no such file"},
	}
	for _, test := range tests {
		if got := test.invocation.run(t); got.code != test.code || !strings.Contains(got.stdout+got.stderr, test.output) {
			t.Errorf("%s: %+v", test.rule, got)
		}
	}
}

func TestNoOutputHoldsASecret(t *testing.T) {
	secrets := []string{"SASL_PASSWORD=hunter2-a", "API_TOKEN=hunter2-b", "LANEWAY_OPS_AUTH_OPERATOR_TOKEN=hunter2-c"}
	for _, args := range []string{
		"check", "check -o json", "check --effective", "check --strict -o json -X sasl.mechanism=hunter3",
		"check -X sasl.password=[hunter2-d", "check -X sasl.token={a:hunter2-e}", "check -X ops.auth.viewer=hunter2-f",
		"check -X session.timeout=${API_TOKEN}", "topics plan --timeout 50ms", "topics apply --execute --timeout 50ms -o json",
	} {
		got := invocation{args: append(strings.Fields(args), "-c", "testdata/secrets.yaml"), environ: secrets}.run(t)
		if strings.Contains(got.stdout+got.stderr, "hunter2") {
			t.Errorf("processor %s shows a secret:\n%s%s", args, got.stdout, got.stderr)
		}
		if got.stdout+got.stderr == "" {
			t.Errorf("processor %s says nothing", args)
		}
	}
}
