package httphandler

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that is taken for meant: a longer one is as likely a mistake of units.
const maxRetryAfter = 7 * 24 * time.Hour

// parseRetryAfter reads a Retry-After header, a number of seconds or a date. Nonsense, what lies in the past and what is too
// far away is zero, as if the header were missing.
func parseRetryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	d := time.Duration(0)
	if seconds, err := strconv.ParseUint(s, 10, 32); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	}
	if d < 0 || d > maxRetryAfter {
		return 0
	}
	return d
}
