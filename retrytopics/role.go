package retrytopics

import (
	"strconv"
	"strings"
	"time"
)

// Role is what one of our topics is there for. Its text is part of the topic's name.
type Role string

// The roles that do not depend on the tiers. The role of a stage is made by [RoleStage].
const (
	RoleReplay      Role = "replay"
	RoleDLT         Role = "dlt"
	RoleIdempotency Role = "idempotency"
)

const rolePrefixStage = "retry-"

// maxRole is the length of the longest role, "retry-" and the milliseconds of the longest tier.
const maxRole = len(rolePrefixStage) + len("2592000000ms")

// RoleStage returns the role of the stage with this delay, for example "retry-5s".
func RoleStage(d time.Duration) Role { return Role(rolePrefixStage + FormatDelay(d)) }

// Stage returns the delay of a stage's role, or false for every other role and for a delay that is written in any other
// way than [FormatDelay] writes it.
func (r Role) Stage() (time.Duration, bool) {
	text, ok := strings.CutPrefix(string(r), rolePrefixStage)
	if !ok {
		return 0, false
	}
	return parseDelay(text)
}

// Valid tells whether r is a role.
func (r Role) Valid() bool {
	switch r {
	case RoleReplay, RoleDLT, RoleIdempotency:
		return true
	}
	_, ok := r.Stage()
	return ok
}

// FormatDelay returns the delay as it stands in a topic's name: hours and minutes where it is a whole number of minutes
// ("1m", "1h30m"), else seconds ("90s"), else milliseconds ("1500ms"). Each delay has one text, and none has a dot.
func FormatDelay(d time.Duration) string {
	switch {
	case d <= 0 || d%time.Second != 0:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d%time.Minute != 0:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	text := ""
	if hours := int64(d / time.Hour); hours > 0 {
		text = strconv.FormatInt(hours, 10) + "h"
	}
	if minutes := int64(d % time.Hour / time.Minute); minutes > 0 {
		text += strconv.FormatInt(minutes, 10) + "m"
	}
	return text
}

// parseDelay reads what FormatDelay wrote. Two texts of one delay would be two topics for it, so no other is accepted.
func parseDelay(text string) (time.Duration, bool) {
	const longest = len("2592000000ms")
	if len(text) > longest {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > maxTier || FormatDelay(d) != text {
		return 0, false
	}
	return d, true
}
