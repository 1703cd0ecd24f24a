package dedupe

import (
	"errors"
	"fmt"
	"strings"
)

// The forms of a key in configuration.
const (
	formOrigin    = "origin"
	formRecordKey = "record_key"
	formHeader    = "header"
	formJSON      = "json"
	formFunc      = "func"
)

// ParseKey reads "origin", "record_key", "header:NAME" or "json:PATH" (see [FromJSON]). The error of any other text
// names the nearest of them.
func ParseKey(s string) (Key, error) {
	form, arg, _ := strings.Cut(s, ":")
	switch {
	case s == formOrigin:
		return FromOrigin(), nil
	case s == formRecordKey:
		return FromRecordKey(), nil
	case form == formHeader && arg != "":
		return FromHeader(arg), nil
	case form == formJSON && arg != "":
		k, err := FromJSON(arg)
		if err != nil {
			return Key{}, fmt.Errorf("idempotency key: %w", err)
		}
		return k, nil
	case s == formFunc:
		return Key{}, errors.New(`idempotency key "func": a function can be given in Go only`)
	}
	return Key{}, fmt.Errorf("idempotency key %q: want origin, record_key, header:NAME or json:PATH; did you mean %q?", s, nearestForm(s))
}

// nearestForm returns the form that s is a part of, or else the one that takes the fewest edits, with what s gave as its
// argument.
func nearestForm(s string) string {
	word, arg := s, ""
	if i := strings.IndexAny(s, ":= "); i >= 0 {
		word, arg = s[:i], strings.Trim(s[i:], ":= ")
	}
	word = strings.ToLower(word[:min(len(word), 2*len(formRecordKey))])
	best, fewest := formOrigin, len(s)+len(formRecordKey)
	for _, form := range []string{formOrigin, formRecordKey, formHeader, formJSON} {
		n := editDistance(word, form)
		if strings.Contains(form, word) {
			n = 0
		}
		if n < fewest {
			best, fewest = form, n
		}
	}
	switch best {
	case formHeader:
		return best + ":" + orElse(arg, "NAME")
	case formJSON:
		return best + ":" + orElse(arg, "PATH")
	}
	return best
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// editDistance counts the bytes to insert, remove or replace to make b out of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
