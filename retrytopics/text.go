package retrytopics

import (
	"strings"
	"unicode/utf8"
)

// Bounds of the evidence that a record carries, in bytes. They keep a record that fails again and again from growing.
const (
	MaxErrorMessage = 1 << 10
	MaxErrorStack   = 8 << 10
)

// Cut returns s, shortened to at most n bytes without splitting a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Text returns s as a header can carry it: bytes that are no UTF-8 replaced, and at most n bytes long.
func Text(s string, n int) string {
	// Replacing can lengthen the text, so it comes before the last cut; the first cut bounds its work.
	return Cut(strings.ToValidUTF8(Cut(s, n), "\uFFFD"), n)
}
