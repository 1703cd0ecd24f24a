package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that must not be seen. Every way to print, log or marshal it gives "***"; [Secret.Reveal] alone gives
// the text. An empty secret stays empty, so that one can see that it is not set.
type Secret string

const masked = "***"

// Reveal returns the text. Call it where the text is used, never where it is kept or shown.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// Format prints the mask for every verb; without it, %x would print the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns the mask, for JSON and whatever else asks.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML returns the mask.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue returns the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
