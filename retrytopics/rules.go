package retrytopics

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rule has an opinion about an error, or none.
type rule func(err error) (Decision, bool)

// builtinRules returns the built-in rules in the order in which they are asked. What the other side answered comes before
// what happened on the way to it, and what may pass comes before what cannot: an error that fits two rules is retried.
//
//	rule                  error                                             verdict
//	http-408, -425, -5xx  StatusCode() int                                  retryable
//	http-429, http-503    the same; RetryAfter() time.Duration is honoured  retryable, or snooze
//	http-4xx              any other 4xx                                     permanent
//	sqlstate-40001        SQLState() string: serialization failure          retryable
//	sqlstate-40P01        deadlock                                          retryable
//	sqlstate-08xxx        connection                                        retryable
//	sqlstate-53xxx        out of resources                                  retryable
//	sqlstate-57P0x        the server goes down or comes up                  retryable
//	sqlstate-22xxx        data does not fit                                 permanent
//	sqlstate-23xxx        integrity constraint                              permanent
//	deadline              context.DeadlineExceeded                          retryable
//	canceled              context.Canceled                                  retryable
//	connection-refused    ECONNREFUSED                                      retryable
//	connection-reset      ECONNRESET, ECONNABORTED, EPIPE                   retryable
//	net-timeout           Timeout() bool is true                            retryable
//	net-error             any other net.Error                               retryable
//	json-syntax           *json.SyntaxError                                 permanent
//	json-type             *json.UnmarshalTypeError                          permanent
func builtinRules() [8]rule {
	return [...]rule{
		httpStatus,
		sqlState,
		contextEnded,
		connectionLost,
		netTimeout,
		netError,
		jsonSyntax,
		jsonType,
	}
}

func httpStatus(err error) (Decision, bool) {
	h, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err)
	if !ok {
		return Decision{}, false
	}
	code := h.StatusCode()
	if code < 400 || code > 599 {
		return Decision{}, false
	}
	name := "http-" + strconv.Itoa(code)
	d := Decision{Verdict: VerdictPermanent, Rule: name, Class: name}
	switch {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		d.Verdict = VerdictRetryable
		if wait := askedDelay(err); wait > 0 {
			d.Verdict, d.RetryAfter = VerdictSnooze, wait
		}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500:
		d.Verdict = VerdictRetryable
	}
	return d, true
}

// askedDelay returns the wait that an error asks for, or zero.
func askedDelay(err error) time.Duration {
	r, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err)
	if !ok {
		return 0
	}
	return max(r.RetryAfter(), 0)
}

func sqlState(err error) (Decision, bool) {
	s, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return Decision{}, false
	}
	code := s.SQLState()
	if !isSQLState(code) {
		return Decision{}, false
	}
	d := Decision{Verdict: VerdictRetryable, Class: "sqlstate-" + code}
	switch family := code[:2]; {
	case code == "40001", code == "40P01":
		d.Rule = d.Class
	case family == "08", family == "53":
		d.Rule = "sqlstate-" + family + "xxx"
	case strings.HasPrefix(code, "57P0"):
		d.Rule = "sqlstate-57P0x"
	case family == "22", family == "23":
		d.Verdict, d.Rule = VerdictPermanent, "sqlstate-"+family+"xxx"
	default:
		return Decision{}, false
	}
	return d, true
}

// isSQLState keeps the class bounded: a code is five digits and capital letters, and each database has a list of them.
func isSQLState(code string) bool {
	const digitsAndLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return len(code) == 5 && strings.Trim(code, digitsAndLetters) == ""
}

func contextEnded(err error) (Decision, bool) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Decision{Verdict: VerdictRetryable, Rule: "deadline", Class: classTimeout}, true
	case errors.Is(err, context.Canceled):
		return Decision{Verdict: VerdictRetryable, Rule: "canceled", Class: "canceled"}, true
	}
	return Decision{}, false
}

// classTimeout is the class of all errors that say "too late", whoever's clock it was.
const classTimeout = "timeout"

func connectionLost(err error) (Decision, bool) {
	var name string
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		name = "connection-refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.EPIPE):
		name = "connection-reset"
	default:
		return Decision{}, false
	}
	return Decision{Verdict: VerdictRetryable, Rule: name, Class: name}, true
}

func netTimeout(err error) (Decision, bool) {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	if !ok || !t.Timeout() {
		return Decision{}, false
	}
	return Decision{Verdict: VerdictRetryable, Rule: "net-timeout", Class: classTimeout}, true
}

func netError(err error) (Decision, bool) {
	n, ok := errors.AsType[net.Error](err)
	if !ok {
		return Decision{}, false
	}
	return Decision{Verdict: VerdictRetryable, Rule: "net-error", Class: errorClass(n)}, true
}

func jsonSyntax(err error) (Decision, bool) {
	e, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return Decision{}, false
	}
	return Decision{Verdict: VerdictPermanent, Rule: "json-syntax", Class: errorClass(e)}, true
}

func jsonType(err error) (Decision, bool) {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return Decision{}, false
	}
	return Decision{Verdict: VerdictPermanent, Rule: "json-type", Class: errorClass(e)}, true
}
