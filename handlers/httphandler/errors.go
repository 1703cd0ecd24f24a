package httphandler

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/laneway-go/laneway/retrytopics"
)

// StatusError is an answer that is no success.
type StatusError struct {
	Code     int
	Body     string // the beginning of the answer if it is text, at most 512 bytes
	Location string // where a 3xx points to; it is not followed

	retryAfter time.Duration
}

// StatusCode returns the status of the answer.
func (e *StatusError) StatusCode() int { return e.Code }

// RetryAfter returns the wait that a 429 or 503 asks for; zero if it asks for none, or makes no sense.
func (e *StatusError) RetryAfter() time.Duration { return e.retryAfter }

// ErrorClass returns the class by which dead letters are grouped, for example "http-404".
func (e *StatusError) ErrorClass() string { return "http-" + strconv.Itoa(e.Code) }

// Error names the status, and what the answer says.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("endpoint answered %d", e.Code)
	if text := http.StatusText(e.Code); text != "" {
		s += " " + text
	}
	if e.Code >= 300 && e.Code < 400 {
		s += ", and redirects are not followed"
		if e.Location != "" {
			s += " (to " + e.Location + ")"
		}
	}
	if e.Body != "" {
		s += ": " + e.Body
	}
	return s
}

// maxErrorText is how much of an answer an error keeps: an error message in a dead letter has 1 KiB in all.
const maxErrorText = 512

// errorText returns the beginning of an answer on one line, or nothing if it is no text.
func errorText(body []byte) string {
	text := retrytopics.Cut(string(body), maxErrorText)
	if !utf8.ValidString(text) {
		return ""
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}
