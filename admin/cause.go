package admin

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Cause is what dead letters are grouped by: the class of the error, and its message without what differs from record to
// record. It is comparable.
type Cause struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// ID returns a short name of the cause, the same on every machine, for command lines.
func (c Cause) ID() string {
	h := fnv.New32a()
	h.Write([]byte(c.Class + "\x00" + c.Message))
	return strconv.FormatUint(uint64(h.Sum32())|1<<32, 16)[1:]
}

// CauseOf returns the cause of an error. In the message, quoted text becomes "…", ids and addresses become ID, and numbers
// become N: what is left is what the program said, without whom it spoke of.
func CauseOf(class, message string) Cause {
	return Cause{Class: class, Message: Normalize(message)}
}

// maxCause bounds the message of a cause, in bytes.
const maxCause = 256

// Normalize masks what differs from record to record in an error message. The result is one line.
func Normalize(message string) string {
	var b strings.Builder
	rest := strings.Join(strings.Fields(message), " ")
	for rest != "" && b.Len() < maxCause {
		token, kind := nextToken(rest)
		b.WriteString(kind.mask(token))
		rest = rest[len(token):]
	}
	return cutText(b.String(), maxCause)
}

type tokenKind int

const (
	tokenText tokenKind = iota
	tokenQuoted
	tokenWord
)

// nextToken takes quoted text, a word, or a run of anything else off the front of s, which is not empty.
func nextToken(s string) (string, tokenKind) {
	if quote := s[0]; strings.IndexByte("\"'`", quote) >= 0 {
		if end := strings.IndexByte(s[1:], quote); end >= 0 {
			return s[:end+2], tokenQuoted
		}
		return s[:1], tokenText
	}
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	if n > 0 {
		return s[:n], tokenWord
	}
	n = 1
	for n < len(s) && !isWord(s[n]) && strings.IndexByte("\"'`", s[n]) < 0 {
		n++
	}
	return s[:n], tokenText
}

// isWord keeps UUIDs, numbers, host names and dates in one piece. Bytes of other scripts are letters.
func isWord(c byte) bool {
	return c == '_' || c == '-' || c >= 0x80 || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (k tokenKind) mask(token string) string {
	switch k {
	case tokenQuoted:
		return token[:1] + "…" + token[:1]
	case tokenWord:
		return maskWord(token)
	case tokenText:
	}
	return token
}

// minHex is the length from which hexadecimal digits with at least one decimal one are an id, and no word.
const minHex = 8

func maskWord(w string) string {
	digits, hex := 0, 0
	for i := range len(w) {
		if isDigit(w[i]) {
			digits++
		}
		if isDigit(w[i]) || w[i] == '-' || w[i] >= 'a' && w[i] <= 'f' || w[i] >= 'A' && w[i] <= 'F' {
			hex++
		}
	}
	switch {
	case digits == 0:
		return w
	case hex == len(w) && len(w) >= minHex && digits < len(strings.ReplaceAll(w, "-", "")):
		return "ID"
	case digits == len(w):
		return "N"
	case strings.Count(w, "-") >= 4 && len(w) >= 32:
		return "ID"
	}
	return maskDigits(w)
}

// maskDigits puts N for each run of digits: "order-17", "5xx" and "3s" keep their letters.
func maskDigits(w string) string {
	var b strings.Builder
	for i := range len(w) {
		switch {
		case !isDigit(w[i]):
			b.WriteByte(w[i])
		case i == 0 || !isDigit(w[i-1]):
			b.WriteByte('N')
		}
	}
	return b.String()
}

func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
