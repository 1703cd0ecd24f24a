package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/config"
)

// environment is what the process gives to a command.
type environment struct {
	environ        []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer

	file      string   // -c
	overrides []string // -X
	started   bool     // a command runs: its errors are no longer about the command line
}

// newRoot returns the command tree.
func newRoot(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "processor",
		Short: "Process Kafka records so that every one settles",
		Long: "processor runs a handler for each record of Kafka topics, retries what fails through delay topics, and keeps\n" +
			"what cannot be done in a dead letter topic.\n\n" +
			"Exit codes: 0 ok, 1 error, 2 usage, 3 a check found problems, 4 forced shutdown, 5 a handler is stuck,\n" +
			"6 another process has this instance id.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	flags := root.PersistentFlags()
	flags.StringVarP(&env.file, "config", "c", "", "configuration file, - for standard input (default: $"+config.FileVariable+", or "+defaultFile+")")
	flags.StringArrayVarP(&env.overrides, "override", "X", nil, "set one setting by its path, such as -X topics.orders.concurrency=8; may be repeated")
	root.AddCommand(newRun(env), newDemo(env), newBench(env), newCheck(env), newTopics(env), newHealthcheck(env), newVersion(env))
	root.AddCommand(newStatus(env), newDLT(env), newReplay(env), newTask(env), newTrail(env), newKey(env))
	env.markStart(root)
	return root
}

const defaultFile = "laneway.yaml"

// markStart wraps every command, so that a mistake in the command line can be told from a failure of the command.
func (env *environment) markStart(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		env.markStart(child)
	}
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			env.started = true
			return inner(cmd, args)
		}
	}
}

// group makes a command that only has others below it: alone it prints its help, and an unknown word is a mistake.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.Run = func(cmd *cobra.Command, _ []string) { _ = cmd.Help() } // it fails only as standard output does
	cmd.AddCommand(children...)
	return cmd
}

// loadConfig reads the configuration that the flags and variables name. With an error of type [config.Error] the
// configuration holds what could be read.
func (env *environment) loadConfig() (*config.Config, error) {
	name := env.configFile()
	read := func() ([]byte, error) { return os.ReadFile(name) } //nolint:gosec // the user names the file
	if name == "-" {
		read = func() ([]byte, error) { return io.ReadAll(env.stdin) }
	}
	data, err := read()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return config.Load(config.Source{Name: name, Data: data, Environ: env.environ, Overrides: env.overrides})
}

func (env *environment) configFile() string {
	if env.file != "" {
		return env.file
	}
	for _, variable := range env.environ {
		if value, ok := strings.CutPrefix(variable, config.FileVariable+"="); ok && value != "" {
			return value
		}
	}
	return defaultFile
}

// connect returns a client for the configuration's brokers. It connects to none before its first request; close it.
func connect(cfg *config.Config, opts ...kgo.Opt) (*kgo.Client, error) {
	security, err := cfg.ClientOptions()
	if err != nil {
		return nil, err
	}
	all := append([]kgo.Opt{kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID("laneway")}, security...)
	client, err := kgo.NewClient(append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make a Kafka client: %w", err)
	}
	return client, nil
}
