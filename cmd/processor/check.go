package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/internal/config"
)

// check holds the flags of "processor check".
type check struct {
	env                       *environment
	output                    output
	strict, schema, effective bool
}

func newCheck(env *environment) *cobra.Command {
	c := &check{env: env}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration",
		Long: "check reads the configuration as run does and reports all problems and warnings, each with its line.\n" +
			"It opens no connection.\n\n" +
			"Exit code 3 means problems; warnings alone give 0, or 3 with --strict.",
		Example: "  processor check -c laneway.yaml\n" +
			"  processor check -c laneway.yaml -o json | jq .path\n" +
			"  processor check --schema > laneway.schema.json",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return c.run() },
	}
	addOutput(cmd, &c.output)
	cmd.Flags().BoolVar(&c.strict, "strict", false, "treat warnings as problems")
	cmd.Flags().BoolVar(&c.schema, "schema", false, "print the JSON Schema of the configuration and do nothing else")
	cmd.Flags().BoolVar(&c.effective, "effective", false, "print the configuration with all defaults, overrides and variables in place, secrets masked")
	cmd.MarkFlagsMutuallyExclusive("schema", "effective")
	return cmd
}

func (c *check) run() error {
	if c.schema {
		return write(c.env.stdout, string(config.Schema()))
	}
	cfg, err := c.env.loadConfig()
	broken, ok := errors.AsType[*config.Error](err)
	if err != nil && !ok {
		return err
	}
	var problems []config.Problem
	if broken != nil {
		problems = broken.Problems
	}
	warnings := cfg.Warnings()
	bad := len(problems) > 0 || c.strict && len(warnings) > 0
	if c.effective && !bad {
		return c.print(cfg)
	}
	if err := c.report(findings(problems, warnings)); err != nil {
		return err
	}
	if bad {
		return &exitFailure{code: exitFindings}
	}
	return nil
}

func (c *check) print(cfg *config.Config) error {
	text, err := cfg.YAML()
	if err != nil {
		return err
	}
	return write(c.env.stdout, string(text))
}

// finding is one line of the report.
type finding struct {
	Severity string `json:"severity"` // error or warning
	Source   string `json:"source"`   // the file, variable or flag
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`

	text string
}

const (
	severityError   = "error"
	severityWarning = "warning"
)

func findings(problems, warnings []config.Problem) []finding {
	var all []finding
	add := func(severity string, list []config.Problem) {
		for _, p := range list {
			at := p.At.String()
			all = append(all, finding{
				Severity: severity, Source: p.At.Source, Line: p.At.Line, Column: p.At.Column, Path: p.Path, Message: p.Message,
				text: at + ": " + severity + strings.TrimPrefix(p.String(), at),
			})
		}
	}
	add(severityError, problems)
	add(severityWarning, warnings)
	return all
}

func (c *check) report(all []finding) error {
	if c.output == outputJSON {
		return writeJSON(c.env.stdout, all)
	}
	return writeFindings(c.env.stdout, c.env.configFile(), all)
}

func writeFindings(w io.Writer, file string, all []finding) error {
	errorCount := 0
	for _, f := range all {
		if f.Severity == severityError {
			errorCount++
		}
		if err := write(w, f.text+"\n"); err != nil {
			return err
		}
	}
	return write(w, fmt.Sprintf("%s: %s, %s\n", file, count(errorCount, "problem"), count(len(all)-errorCount, "warning")))
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
