package exechandler

import (
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Config describes a [Handler]. Only Command is needed; the zero value of any other field means the default that its
// comment names.
type Config struct {
	// Command is the program and its arguments. A name without a slash is looked up in PATH.
	Command []string
	// Dir is the working directory of the processes. Default: the worker's own.
	Dir string
	// Env holds KEY=value pairs that the processes get on top of the worker's own environment.
	Env []string
	// Processes is how many of them run at most, and so how many records are worked on at once. Default 4.
	Processes int

	// Grace is the time between asking a process to end and killing it, and again between closing its input and asking it,
	// in [Handler.Close]. Default 3 s, which leaves room within the time that a worker has between drain and exit.
	Grace time.Duration
	// MinBackoff and MaxBackoff bound the delay before a process that failed is replaced: the first failure costs the
	// minimum, each one in a row twice as much as the one before. Defaults 100 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration

	// MaxAnswer bounds an answer line, in bytes. Default 4 MiB.
	MaxAnswer int
	// LogRate is how many lines a second of a process's standard error reach the log; the rest is counted. Default 100.
	LogRate int

	Logger *slog.Logger // default: none
}

const (
	defaultProcesses  = 4
	defaultGrace      = 3 * time.Second
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = 10 * time.Second
	defaultMaxAnswer  = 4 << 20
	defaultLogRate    = 100
)

// withDefaults returns a copy that shares nothing with c and has every field set.
func (c Config) withDefaults() Config {
	c.Command = slices.Clone(c.Command)
	c.Env = slices.Clone(c.Env)
	setDefault(&c.Processes, defaultProcesses)
	setDefault(&c.Grace, defaultGrace)
	setDefault(&c.MinBackoff, defaultMinBackoff)
	setDefault(&c.MaxBackoff, max(defaultMaxBackoff, c.MinBackoff))
	setDefault(&c.MaxAnswer, defaultMaxAnswer)
	setDefault(&c.LogRate, defaultLogRate)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate returns all problems of a config that has its defaults.
func (c Config) validate() error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := checkCommand(c.Command); err != nil {
		problems = append(problems, err)
	}
	for _, pair := range c.Env {
		// The value may be a secret, so the message has the position or the name only.
		if name, _, ok := strings.Cut(pair, "="); !ok || name == "" {
			report("env: entry %d is not KEY=value", slices.Index(c.Env, pair))
		}
	}
	if c.Processes < 0 {
		report("processes %d: want at least 1", c.Processes)
	}
	if c.Grace < 0 {
		report("grace %v: want a positive duration", c.Grace)
	}
	if c.MinBackoff < 0 || c.MaxBackoff < c.MinBackoff {
		report("backoff from %v to %v: want a positive minimum and a maximum not below it", c.MinBackoff, c.MaxBackoff)
	}
	if c.MaxAnswer < 0 {
		report("max answer %d: want a positive number of bytes", c.MaxAnswer)
	}
	if c.LogRate < 0 {
		report("log rate %d: want a positive number of lines a second", c.LogRate)
	}
	return errors.Join(problems...)
}

func checkCommand(command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errors.New("command: want a program and its arguments")
	}
	if strings.ContainsRune(command[0], '/') {
		return nil // relative to Dir, perhaps; the first start tells
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	return nil
}

// backoff returns the delay after the given number of failures in a row.
func (c Config) backoff(failures int) time.Duration {
	d := c.MinBackoff
	for ; failures > 1 && d < c.MaxBackoff; failures-- {
		d *= 2
	}
	return min(d, c.MaxBackoff)
}
