package retrytopics_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/retrytopics"
)

func TestCutKeepsWholeCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "n")
		got := retrytopics.Cut(s, n)
		if !strings.HasPrefix(s, got) || len(got) > n || !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q", s, n, got)
		}
		if len(s) <= n && got != s {
			t.Fatalf("Cut(%q, %d) = %q: it fitted", s, n, got)
		}
		if len(s) > n && len(got) <= n-utf8.UTFMax {
			t.Fatalf("Cut(%q, %d) = %q: more than a character too short", s, n, got)
		}
	})
}

func TestTextIsAlwaysUTF8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s")), rapid.IntRange(0, 40).Draw(t, "n")
		if got := retrytopics.Text(s, n); len(got) > n || !utf8.ValidString(got) {
			t.Fatalf("Text(%q, %d) = %q", s, n, got)
		}
	})
}
