package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/admin"
	"github.com/laneway-go/laneway/retrytopics"
)

// operation is what the commands for operators share.
type operation struct {
	env     *environment
	output  output
	timeout time.Duration
	topic   string // of the source; empty for all
}

func (o *operation) addFlags(cmd *cobra.Command) {
	addOutput(cmd, &o.output)
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long the brokers may take in all")
}

func (o *operation) addTopic(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.topic, "topic", "", "source topic; it may be left out where there is only one")
}

// open returns a client for the configuration's group. Close it.
func (o *operation) open() (*admin.Client, error) {
	cfg, err := o.env.loadConfig()
	if err != nil {
		return nil, err
	}
	options, err := cfg.ClientOptions()
	if err != nil {
		return nil, err
	}
	wants, err := cfg.Wants()
	if err != nil {
		return nil, err
	}
	sources := make([]admin.Source, 0, len(wants))
	for _, want := range wants {
		sources = append(sources, admin.Source{Want: want, Key: cfg.Topics[want.Names.Source()].Idempotency.Key.Key})
	}
	if err := o.choose(slices.Sorted(maps.Keys(cfg.Topics))); err != nil {
		return nil, err
	}
	return admin.New(admin.Config{Brokers: cfg.Brokers, ClientOptions: options, Sources: sources})
}

// choose takes the only source where none is named.
func (o *operation) choose(sources []string) error {
	switch {
	case o.topic == "" && len(sources) == 1:
		o.topic = sources[0]
	case o.topic != "" && !slices.Contains(sources, o.topic):
		return usageError("--topic %s: the configuration has %s", o.topic, strings.Join(sources, ", "))
	}
	return nil
}

// oneTopic refuses where a source has to be named and is not.
func (o *operation) oneTopic() error {
	if o.topic == "" {
		return usageError("--topic is missing: the configuration has several source topics")
	}
	return nil
}

// run calls f with a client, within the time of the flag.
func (o *operation) run(ctx context.Context, f func(ctx context.Context, c *admin.Client) error) error {
	c, err := o.open()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done within %s", o.timeout))
	defer cancel()
	if err := f(ctx, c); err != nil {
		if ctx.Err() != nil {
			return because(ctx, err)
		}
		return err
	}
	return nil
}

// usageError is a mistake in the command line that only the command itself can find.
func usageError(format string, args ...any) error {
	return &exitFailure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// operator returns user@host, for the record of who changed something.
func (env *environment) operator() string {
	user := "unknown"
	for _, variable := range env.environ {
		if value, ok := strings.CutPrefix(variable, "USER="); ok && value != "" {
			user = value
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return user + "@" + host
}

// stamp is how tables show a time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// age is how tables show how long ago something was: in its two largest units.
func age(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(now.Sub(t))
}

func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d >= time.Second:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.Round(time.Millisecond).String()
}

// clip makes text fit a column: printable, on one line, and at most n characters.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// text shows bytes: as they are where they are printable, else in base64.
func text(b []byte) string { return retrytopics.EncodeKey(string(b)) }
