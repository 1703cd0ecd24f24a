package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/processor"
)

// textual is a scalar that reads itself. An error of errForm stands for "want" and what want returns.
type textual interface {
	encoding.TextUnmarshaler
	want() string
}

var errForm = errors.New("another form is wanted")

// Duration is a length of time. In the file it has a unit: 500ms, 15s, 1h30m, 7d.
type Duration time.Duration

const day = 24 * time.Hour

// UnmarshalText reads a duration; d is a day of 24 hours and comes before all other units.
func (d *Duration) UnmarshalText(b []byte) error {
	s := string(b)
	if _, err := strconv.ParseFloat(s, 64); err == nil && strings.ContainsAny(s[len(s)-1:], "0123456789") {
		return fmt.Errorf("%w: write %ss, %sm, …", errNoUnit, s, s)
	}
	count, rest, hasDays := strings.Cut(s, "d")
	switch {
	case !hasDays:
		count, rest = "0", s
	case rest == "":
		rest = "0s"
	}
	n, err := strconv.ParseUint(count, 10, 16) // 16 bits: 65535 days fit a time.Duration
	if err != nil {
		return errForm
	}
	t, err := time.ParseDuration(rest)
	days := time.Duration(n) * day
	if err != nil || hasDays && (t < 0 || t > math.MaxInt64-days) {
		return errForm
	}
	*d = Duration(days + t)
	return nil
}

var errNoUnit = errors.New("a duration without a unit")

func (Duration) want() string { return "a duration such as 500ms, 15s, 10m or 7d" }

// MarshalText returns the shortest form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the shortest form, for example "1h" where a [time.Duration] says "1h0m0s".
func (d Duration) String() string {
	t := time.Duration(d)
	if t > 0 && t%day == 0 {
		return strconv.FormatInt(int64(t/day), 10) + "d"
	}
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Bytes is a number of bytes. In the file it has a unit: 64KiB, 16MiB, 1GiB, or B.
type Bytes int64

type byteUnit struct {
	suffix string
	size   int64
}

// byteUnits returns the units, the largest first.
func byteUnits() []byteUnit {
	return []byteUnit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// UnmarshalText reads a size.
func (b *Bytes) UnmarshalText(text []byte) error {
	for _, unit := range byteUnits() {
		count, ok := strings.CutSuffix(string(text), unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.size {
			break
		}
		*b = Bytes(n * unit.size)
		return nil
	}
	return errForm
}

func (Bytes) want() string { return "a size with a unit, such as 512KiB, 16MiB or 1GiB" }

// String returns the size in its largest whole unit.
func (b Bytes) String() string {
	for _, unit := range byteUnits() {
		if b != 0 && int64(b)%unit.size == 0 {
			return strconv.FormatInt(int64(b)/unit.size, 10) + unit.suffix
		}
	}
	return "0B"
}

// MarshalText returns the form of String.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Window is how long a mark is kept; 0 stands for auto.
type Window Duration

// UnmarshalText reads "auto" or a duration of an hour or more.
func (w *Window) UnmarshalText(b []byte) error {
	if string(b) == "auto" {
		*w = 0
		return nil
	}
	var d Duration
	if err := d.UnmarshalText(b); err != nil {
		return err
	}
	if d < Duration(time.Hour) {
		return errForm
	}
	*w = Window(d)
	return nil
}

func (Window) want() string { return "auto, or a duration of at least 1h, such as 7d" }

// MarshalText returns "auto" or the duration.
func (w Window) MarshalText() ([]byte, error) {
	if w == 0 {
		return []byte("auto"), nil
	}
	return Duration(w).MarshalText()
}

// Start is where a partition begins that the group has no offset of.
type Start struct{ processor.Start }

// UnmarshalText reads earliest, latest or a time in RFC 3339.
func (s *Start) UnmarshalText(b []byte) error {
	switch string(b) {
	case "earliest":
		s.Start = processor.StartEarliest()
	case "latest":
		s.Start = processor.StartLatest()
	default:
		t, err := time.Parse(time.RFC3339, string(b))
		if err != nil || t.IsZero() {
			return errForm
		}
		s.Start = processor.StartAt(t)
	}
	return nil
}

func (Start) want() string { return "earliest, latest or a time such as 2026-01-02T15:04:05Z" }

// MarshalText returns the form that UnmarshalText reads.
func (s Start) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Key says what makes two records the same work.
type Key struct{ dedupe.Key }

// UnmarshalText reads origin, record_key, header:NAME or json:PATH.
func (k *Key) UnmarshalText(b []byte) error {
	key, err := dedupe.ParseKey(string(b))
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			return inner
		}
		return errForm
	}
	k.Key = key
	return nil
}

func (Key) want() string { return "origin, record_key, header:NAME or json:PATH" }

// MarshalText returns the form that UnmarshalText reads.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// URL is an absolute http or https URL. It is shown without its password.
type URL struct{ url *url.URL }

// UnmarshalText reads a URL.
func (u *URL) UnmarshalText(b []byte) error {
	parsed, err := url.Parse(string(b))
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return errForm
	}
	u.url = parsed
	return nil
}

func (URL) want() string { return "a URL such as http://localhost:8080/orders" }

// Reveal returns the URL with its password.
func (u URL) Reveal() string {
	if u.url == nil {
		return ""
	}
	return u.url.String()
}

// String returns the URL with its password masked.
func (u URL) String() string {
	if u.url == nil {
		return ""
	}
	return u.url.Redacted()
}

// MarshalText returns the form of String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// hostPort says what is wrong with an address, or nothing.
func hostPort(address string) error {
	host, port, err := net.SplitHostPort(address)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || portErr != nil || n == 0 {
		return errors.New("want host:port")
	}
	return nil
}
