package httphandler

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config describes a [Handler]. Only URL is needed; the zero value of any other field means the default that its comment
// names.
type Config struct {
	URL string // http or https; a user and a password in it are sent as basic authentication

	// Timeout bounds a request from the first look-up to the status of the answer. Default 30 s.
	Timeout time.Duration
	// ConnectTimeout bounds the time until a connection stands; the TLS handshake has as long again. Default 10 s.
	ConnectTimeout time.Duration
	// Concurrency is how many connections are kept for the next request: that many records should be worked on at once.
	// Default 64.
	Concurrency int

	// ForwardHeaders names the record headers that are sent along, in any case. All others stay behind.
	ForwardHeaders []string
	// Headers are added to each request, for example an Authorization. Their values appear in no error.
	Headers map[string]string
	// ContentType is that of records that have no content-type header. Default "application/octet-stream".
	ContentType string

	// SigningSecrets sign each request as Standard Webhooks asks: "whsec_" and base64 of 24 to 64 bytes. A second one is for
	// the time in which the endpoint changes from the one to the other. Default: no signature.
	SigningSecrets []string
	// TLS is for https: own authorities, a client certificate. [LoadTLS] makes one of files. Default: the system's authorities.
	TLS *tls.Config
}

const (
	defaultTimeout        = 30 * time.Second
	defaultConnectTimeout = 10 * time.Second
	defaultConcurrency    = 64
	defaultContentType    = "application/octet-stream"
)

// withDefaults returns a copy that shares nothing with c and has every field set.
func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = defaultConnectTimeout
	}
	if c.Concurrency == 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.ContentType == "" {
		c.ContentType = defaultContentType
	}
	c.ForwardHeaders = slices.Clone(c.ForwardHeaders)
	c.Headers = maps.Clone(c.Headers)
	c.SigningSecrets = slices.Clone(c.SigningSecrets)
	if c.TLS != nil {
		c.TLS = c.TLS.Clone()
	}
	return c
}

// validate returns all problems of a config that has its defaults.
func (c Config) validate() error {
	problems := []error{checkURL(c.URL)}
	if c.Timeout < 0 {
		problems = append(problems, fmt.Errorf("timeout %v: want a positive duration", c.Timeout))
	}
	if c.ConnectTimeout < 0 {
		problems = append(problems, fmt.Errorf("connect timeout %v: want a positive duration", c.ConnectTimeout))
	}
	if c.Concurrency < 0 {
		problems = append(problems, fmt.Errorf("concurrency %d: want at least 1", c.Concurrency))
	}
	if !validValue(c.ContentType) {
		problems = append(problems, fmt.Errorf("content type %q: not a header value", c.ContentType))
	}
	for _, name := range c.ForwardHeaders {
		problems = append(problems, checkName("forward headers", name))
	}
	for name, value := range c.Headers {
		problems = append(problems, checkName("headers", name))
		if !validValue(value) {
			problems = append(problems, fmt.Errorf("headers: the value of %q is not a header value", name))
		}
	}
	return errors.Join(problems...)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("url: not a URL") // the parser's error repeats it, a password included
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("url %q: want http://… or https://…", u.Redacted())
	}
	return nil
}

func checkName(field, name string) error {
	switch {
	case !validName(name):
		return fmt.Errorf("%s: %q is not a header name", field, name)
	case reserved(name):
		return fmt.Errorf("%s: %q is set by the handler or the connection", field, name)
	}
	return nil
}

// reserved reports whether a header is not the user's to set: one that frames the message, or one that the handler writes.
func reserved(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Connection", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Idempotency-Key", "Traceparent", "Tracestate":
		return true
	}
	for _, prefix := range []string{"Ce-", "Laneway-", "Webhook-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// validName reports whether s is a token of RFC 9110.
func validName(s string) bool {
	const punctuation = "!#$%&'*+-.^_`|~"
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alphanumeric && strings.IndexByte(punctuation, c) < 0 {
			return false
		}
	}
	return s != ""
}

// validValue reports whether s may be a header value: no control characters but tabs.
func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
