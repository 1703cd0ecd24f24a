package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/processor"
)

func newRun(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Process the records of the configured topics",
		Long: "run joins the consumer group and processes records until it is told to stop. It first compares the topics with what\n" +
			"they have to be, and refuses with the whole list of what is wrong; \"processor topics plan\" shows how to repair it.\n\n" +
			"The first SIGINT or SIGTERM drains: no new record is taken, handlers are waited for, offsets are committed. A second\n" +
			"one exits at once with code 4.",
		Example: "  processor run -c laneway.yaml\n" +
			"  LANEWAY_BROKERS=kafka-1:9092,kafka-2:9092 processor run -c laneway.yaml",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), env) },
	}
}

func runWorker(ctx context.Context, env *environment) error {
	cfg, err := env.loadConfig()
	if err != nil {
		return err
	}
	log := cfg.Logging.Logger(env.stderr)
	built, err := cfg.Build(log)
	if err != nil {
		return err
	}
	seen, err := openLookout(ctx, cfg.Ops, log)
	if err != nil {
		return errors.Join(err, built.Close())
	}
	built.Config.MeterProvider, built.Config.TracerProvider = seen.Meters, seen.Tracers
	p, err := processor.New(built.Config, nil)
	if err != nil {
		seen.close(ctx)
		return errors.Join(err, built.Close())
	}
	return exitOf(errors.Join(seen.during(ctx, p, p.Run), built.Close()))
}
