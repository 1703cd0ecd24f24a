package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// output is the value of -o: text for people, json (one object a line) for pipes.
type output string

const (
	outputText output = "text"
	outputJSON output = "json"
)

// addOutput gives a command the flag -o.
func addOutput(cmd *cobra.Command, o *output) {
	*o = outputText
	cmd.Flags().VarP(o, "output", "o", "form of the output: text, or json with one object a line")
}

// Set reads the flag.
func (o *output) Set(s string) error {
	if !slices.Contains([]output{outputText, outputJSON}, output(s)) {
		return fmt.Errorf("want %s or %s", outputText, outputJSON)
	}
	*o = output(s)
	return nil
}

// String returns the flag's value.
func (o *output) String() string { return string(*o) }

// Type names the value in the help.
func (o *output) Type() string { return "form" }

// write prints text.
func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// writeJSON prints one object a line.
func writeJSON[T any](w io.Writer, items []T) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, item := range items {
		if err := encoder.Encode(item); err != nil {
			return fmt.Errorf("print result: %w", err)
		}
	}
	return nil
}

// writeTable prints rows under a header, with columns as wide as they need to be.
func writeTable(w io.Writer, header []string, rows [][]string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}
