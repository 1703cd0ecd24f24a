package retrytopics

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// timeLayout is RFC 3339 with milliseconds, in UTC: what Kafka's clock resolves, in a form that people read.
const timeLayout = "2006-01-02T15:04:05.000Z"

// formatTime writes a time to the millisecond below. A record may carry any 64-bit number for a timestamp; what has no
// four-digit year is written as that number, in milliseconds since 1970.
func formatTime(t time.Time) string {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.Format(timeLayout)
}

// formatTimeUp writes a time to the millisecond above: a record must never start early (L5).
func formatTimeUp(t time.Time) string { return formatTime(roundUp(t)) }

func roundUp(t time.Time) time.Time {
	down := t.Truncate(time.Millisecond)
	if down.Before(t) {
		return down.Add(time.Millisecond)
	}
	return down
}

var errTime = errors.New("want a time as in 2006-01-02T15:04:05.000Z")

// parseTime reads what formatTime wrote, and any other RFC 3339 time.
func parseTime(s string) (time.Time, error) {
	if len(s) > len(time.RFC3339Nano) {
		return time.Time{}, errTime
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMilli(ms).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, errTime
	}
	return t.UTC(), nil
}

// parseCount reads a number that is not negative, of at most bits bits.
func parseCount(s string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("want a number below 2^%d", bits)
	}
	return n, nil
}

// prefixBase64 marks an idempotency key that is not written as it is.
const prefixBase64 = "b64:"

// EncodeKey writes an idempotency key, which may be any bytes, as text that a header shows: as it is where it is
// printable UTF-8, else, or where it begins like an encoded one, "b64:" and its base64.
func EncodeKey(key string) string {
	if !strings.HasPrefix(key, prefixBase64) && printable(key) {
		return key
	}
	return prefixBase64 + base64.StdEncoding.EncodeToString([]byte(key))
}

// DecodeKey reads what [EncodeKey] wrote.
func DecodeKey(text string) (string, error) {
	encoded, ok := strings.CutPrefix(text, prefixBase64)
	if !ok {
		return text, nil
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("want base64 behind %q: %w", prefixBase64, err)
	}
	return string(key), nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
