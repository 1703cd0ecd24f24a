package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2) // the second one counts, too
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go watchSignals(signals, os.Stderr, stop, os.Exit)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// errSignal is the cause of a context that a first signal ended.
var errSignal = errors.New("stopped by a signal")

// watchSignals lets the first signal end the context, which drains, and the second one the process.
func watchSignals(signals <-chan os.Signal, stderr io.Writer, stop context.CancelCauseFunc, exit func(code int)) {
	first := <-signals
	fmt.Fprintf(stderr, "processor: %s: stopping; once more exits at once\n", first)
	stop(errSignal)
	<-signals
	exit(exitForced)
}

// run is the whole program but for the process around it. It returns the exit code.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env := &environment{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRoot(env) //nolint:contextcheck // a command gets its context from ExecuteContext
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !env.started {
		err = &exitFailure{code: exitUsage, err: err}
	}
	report(stderr, err)
	return exitCode(err)
}
