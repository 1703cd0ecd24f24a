package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/internal/bench"
)

// benchFlags holds the flags of "processor bench".
type benchFlags struct {
	env     *environment
	output  output
	cfg     bench.Config
	profile string
	verbose bool
}

func newBench(env *environment) *cobra.Command {
	b := &benchFlags{env: env}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the worker against a bare client",
		Long: "bench fills a topic of its own and lets a bare client and the worker consume it in turns, each time with a new group and\n" +
			"a handler that does nothing. Clock and processor time run from the first record handled to the last; joining and\n" +
			"taking over are not in them. The first round does not count; figures are medians, the ratio that of the rounds' ratios.\n\n" +
			"Cases: " + strings.Join(bench.Cases(), ", ") + ".",
		Example: "  processor bench --brokers localhost:9092 --records 10000000 --rounds 5\n" +
			"  processor bench --brokers localhost:9092 --case keyed_dedupe -o json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context()) },
	}
	addOutput(cmd, &b.output)
	f := cmd.Flags()
	f.StringSliceVar(&b.cfg.Brokers, "brokers", nil, "the brokers to measure on")
	f.IntVar(&b.cfg.Records, "records", 1_000_000, "records in the topic")
	f.IntVar(&b.cfg.Rounds, "rounds", 5, "rounds that count")
	f.IntVar(&b.cfg.Partitions, "partitions", 12, "partitions of the topic")
	f.StringSliceVar(&b.cfg.Cases, "case", nil, "cases to measure (default: all)")
	f.StringVar(&b.profile, "cpuprofile", "", "file for a processor profile of the whole run")
	f.BoolVar(&b.verbose, "verbose", false, "log what the worker does")
	return cmd
}

func (b *benchFlags) run(ctx context.Context) error {
	level := slog.LevelError
	if b.verbose {
		level = slog.LevelDebug
	}
	b.cfg.Logger = slog.New(slog.NewTextHandler(b.env.stderr, &slog.HandlerOptions{Level: level}))
	b.cfg.Progress = b.env.stderr
	if b.profile != "" {
		f, err := os.Create(b.profile)
		if err != nil {
			return fmt.Errorf("create the profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	return bench.Run(ctx, b.cfg, b.print)
}

func (b *benchFlags) print(result any) error {
	if b.output == outputJSON {
		return writeJSON(b.env.stdout, []any{result})
	}
	var text string
	switch r := result.(type) {
	case bench.Result:
		text = fmt.Sprintf("%-22s bare %9.0f/s %5.2f CPU s/M   worker %9.0f/s %5.2f CPU s/M   ratio %.2f (%.2f to %.2f)",
			r.Case, r.BarePerS, r.BareCPU, r.WorkerPerS, r.WorkerCPU, r.Ratio, r.RatioMin, r.RatioMax)
	case bench.Lateness:
		text = fmt.Sprintf("%-22s of %d retries at %d/s: p50 %.1f ms, p99 %.1f ms, most %.1f ms, early %d",
			r.Case, r.Records, r.PerS, r.P50, r.P99, r.Max, r.Early)
	}
	if _, err := fmt.Fprintln(b.env.stdout, text); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
