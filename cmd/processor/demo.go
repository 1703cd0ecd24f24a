package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/handlers/exechandler"
	"github.com/laneway-go/laneway/internal/config"
	"github.com/laneway-go/laneway/internal/demo"
	"github.com/laneway-go/laneway/processor"
)

// demoFlags holds the flags of "processor demo".
type demoFlags struct {
	env     *environment
	output  output
	data    string
	input   string
	handler string
	rate    int
	records int
	tiers   []time.Duration
	seed    uint64
	verbose bool
	ops     string
}

func newDemo(env *environment) *cobra.Command {
	d := &demoFlags{env: env}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the worker on an embedded broker",
		Long: "demo runs the real engine on an embedded broker that speaks Kafka's protocol, with nothing else installed.\n\n" +
			"It makes orders of which some fail once or more, some always, some are invalid, cancelled or sent twice, and prints\n" +
			"what becomes of them. Ctrl-C drains and sums up. With --data the broker keeps its log on disk, and the next demo\n" +
			"goes on where this one ended, also after a kill.\n\n" +
			"--input takes your own records, one JSON object a line: {\"key\": \"k\", \"value\": any JSON, \"headers\": {\"name\": \"text\"}}.\n" +
			"The demo then ends when all of them have settled. A header named order makes two records the same work.",
		Example: "  processor demo\n" +
			"  processor demo --data ./demo-data\n" +
			"  processor demo --input orders.jsonl --handler 'exec:python3 handler.py'\n" +
			"  processor demo --records 200 -o json | tail -n 1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	addOutput(cmd, &d.output)
	f := cmd.Flags()
	f.StringVar(&d.data, "data", "", "folder for the broker's log (default: memory)")
	f.StringVar(&d.input, "input", "", "file with records to use, - for standard input")
	f.StringVar(&d.handler, "handler", "builtin", "builtin, or exec:COMMAND for a program that reads and answers JSON lines")
	f.IntVar(&d.rate, "rate", 20, "records made a second")
	f.IntVar(&d.records, "records", 0, "end when so many were made and have settled (default: go on)")
	f.DurationSliceVar(&d.tiers, "tiers", []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}, "delays of the retry topics")
	f.Uint64Var(&d.seed, "seed", 1, "the same seed makes the same orders")
	f.StringVar(&d.ops, "ops", "off", "address to serve metrics, health and lanes at, such as 127.0.0.1:9464")
	f.BoolVar(&d.verbose, "verbose", false, "log what the worker does")
	return cmd
}

func (d *demoFlags) run(ctx context.Context) error {
	cfg := demo.Config{
		Data: d.data, Rate: d.rate, Records: d.records, Tiers: d.tiers, Seed: d.seed, JSON: d.output == outputJSON, Out: d.env.stdout,
		Logger: slog.New(slog.NewTextHandler(d.env.stderr, &slog.HandlerOptions{Level: d.level()})),
	}
	input, err := d.open()
	if err != nil {
		return err
	}
	if input != nil {
		defer input.Close()
		cfg.Input = input
	}
	closeHandler, err := d.addHandler(&cfg)
	if err != nil {
		return err
	}
	seen, err := openLookout(ctx, config.Ops{Listen: d.ops}, cfg.Logger)
	if err != nil {
		return errors.Join(err, closeHandler())
	}
	cfg.Meters, cfg.Tracers, cfg.Around = seen.Meters, seen.Tracers, func(ctx context.Context, p *processor.Processor) error {
		return seen.during(ctx, p, p.Run)
	}
	_, err = demo.Run(ctx, cfg)
	return exitOf(errors.Join(err, closeHandler()))
}

func (d *demoFlags) level() slog.Level {
	if d.verbose {
		return slog.LevelDebug
	}
	return slog.LevelError
}

func (d *demoFlags) open() (io.ReadCloser, error) {
	switch d.input {
	case "":
		return nil, nil
	case "-":
		return io.NopCloser(d.env.stdin), nil
	}
	f, err := os.Open(d.input)
	if err != nil {
		return nil, fmt.Errorf("open the input: %w", err)
	}
	return f, nil
}

// addHandler sets the handler that was asked for, and returns what ends it.
func (d *demoFlags) addHandler(cfg *demo.Config) (end func() error, err error) {
	nothing := func() error { return nil }
	command, isExec := strings.CutPrefix(d.handler, "exec:")
	switch {
	case d.handler == "builtin":
		return nothing, nil
	case !isExec:
		return nil, &exitFailure{code: exitUsage, err: fmt.Errorf("--handler %q: want builtin or exec:COMMAND", d.handler)}
	}
	h, err := exechandler.New(exechandler.Config{Command: strings.Fields(command), Logger: cfg.Logger})
	if err != nil {
		return nil, &exitFailure{code: exitUsage, err: fmt.Errorf("--handler: %w", err)}
	}
	cfg.Handler = h
	return h.Close, nil
}

// exitOf gives the errors of a worker's end their exit codes.
func exitOf(err error) error {
	for _, known := range []struct {
		err  error
		code int
	}{{processor.ErrFenced, exitFenced}, {processor.ErrStuck, exitStuck}, {processor.ErrForced, exitForced}} {
		if errors.Is(err, known.err) {
			return &exitFailure{code: known.code, err: err}
		}
	}
	return err
}
