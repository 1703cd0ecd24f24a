package config

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/laneway-go/laneway/handlers/httphandler"
	"github.com/laneway-go/laneway/retrytopics"
)

// validator checks what needs more than one value, or more than bounds.
type validator struct {
	c        *Config
	broken   map[string]bool // paths with a problem already: their values are not there
	problems []Problem
}

// validate returns the problems of a decoded configuration, besides those that are known already.
func validate(c *Config, known []Problem) []Problem {
	v := &validator{c: c, broken: map[string]bool{}}
	for _, p := range known {
		v.broken[p.Path] = true
	}
	v.brokers()
	v.names()
	v.times()
	v.ops()
	v.credentials()
	for _, name := range slices.Sorted(maps.Keys(c.Topics)) {
		v.topic(name, c.Topics[name])
	}
	return v.problems
}

// add reports a problem, unless one was reported for the same path or for a block that it is in.
func (v *validator) add(path, format string, args ...any) {
	if !v.fine(path) {
		return
	}
	v.broken[path] = true
	v.problems = append(v.problems, Problem{At: v.c.at(path), Path: path, Message: fmt.Sprintf(format, args...)})
}

// fine says whether no problem is known of a path or of a block that it is in.
func (v *validator) fine(path string) bool {
	return !slices.ContainsFunc(parents(path), func(p string) bool { return p != "" && v.broken[p] })
}

func (v *validator) brokers() {
	if len(v.c.Brokers) == 0 {
		v.add("brokers", "want at least one host:port")
	}
	for i, broker := range v.c.Brokers {
		if err := hostPort(broker); err != nil {
			v.add(index("brokers", i), "%v", err)
		}
	}
}

func (v *validator) names() {
	if strings.Trim(v.c.Group, kafkaLetters) != "" || v.c.Group == "" {
		v.add("group", "want letters, digits, dots, dashes and underscores: it becomes part of topic names")
	}
	if err := retrytopics.Template(v.c.TopicTemplate).Validate(); err != nil {
		v.add("topic_template", "%s", oneLine(err))
	}
	if len(v.c.Topics) == 0 {
		v.add("topics", "want at least one topic")
	}
}

// kafkaLetters are the characters that Kafka allows in the name of a topic.
const kafkaLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// oneLine returns the parts of a joined error in one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// namesOf checks the names of the topics that are kept for a source.
func (v *validator) namesOf(path, source string) {
	if !v.fine("group") || !v.fine("topic_template") {
		return
	}
	template := retrytopics.Template(v.c.TopicTemplate)
	if _, err := retrytopics.NewNames(template, source, v.c.Group); err != nil {
		v.add(path, "%s", oneLine(err))
	}
	if err := retrytopics.CheckSources(template, v.c.Group, []string{source}); err != nil {
		v.add(path, "%s", oneLine(err))
	}
}

func (v *validator) times() {
	s := v.c.Session
	if v.fine("session.timeout") && s.Heartbeat > s.Timeout/3 {
		v.add("session.heartbeat", "want a third of session.timeout (%s) at most: one lost heartbeat must not end the session", s.Timeout)
	}
	if v.fine("shutdown.total") && v.c.Shutdown.Drain > v.c.Shutdown.Total {
		v.add("shutdown.drain", "want at most shutdown.total (%s)", v.c.Shutdown.Total)
	}
	if v.fine("buffers.total") && v.c.Buffers.Lane > v.c.Buffers.Total {
		v.add("buffers.lane", "want at most buffers.total (%s)", v.c.Buffers.Total)
	}
}

func (v *validator) ops() {
	ops := v.c.Ops
	if ops.Listen == "off" {
		return
	}
	host, _, err := net.SplitHostPort(ops.Listen)
	if err != nil {
		v.add("ops.listen", "want host:port, or off")
		return
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if !loopback && (ops.Auth == nil || ops.Auth.Operator == nil && ops.Auth.Viewer == nil) {
		v.add("ops.listen", "listens beyond this machine: want ops.auth, or a loopback address")
	}
	if ops.Auth == nil {
		return
	}
	v.credential("ops.auth.viewer", ops.Auth.Viewer)
	v.credential("ops.auth.operator", ops.Auth.Operator)
}

func (v *validator) credential(path string, c *Credential) {
	switch {
	case c == nil:
	case c.Token == "" && c.Username == "":
		v.add(path, "want a token, or a username and a password")
	case (c.Username == "") != (c.Password == ""):
		v.add(path, "want username and password together")
	}
}

func (v *validator) credentials() {
	if v.c.TLS != nil {
		v.tls("tls", *v.c.TLS)
	}
	s := v.c.SASL
	if s == nil {
		return
	}
	switch s.Mechanism {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
		if s.Username == "" || s.Password == "" {
			v.add("sasl", "%s needs username and password", s.Mechanism)
		}
	case "OAUTHBEARER":
		if (s.Token == "") == (s.TokenFile == "") {
			v.add("sasl", "OAUTHBEARER needs token or token_file")
		}
	case "AWS_MSK_IAM":
		if s.AccessKey == "" || s.SecretKey == "" {
			v.add("sasl", "AWS_MSK_IAM needs access_key and secret_key")
		}
	}
}

func (v *validator) tls(path string, t TLS) {
	if (t.Cert == "") != (t.Key == "") {
		v.add(path, "want cert and key together")
	}
}

func (v *validator) topic(name string, t Topic) {
	path := join("topics", name)
	v.namesOf(path, name)
	v.retry(join(path, "retry"), t.Retry)
	v.handler(join(path, "handler"), t)
}

// maxTiers is the limit of [retrytopics.Policy].
const maxTiers = 16

func (v *validator) retry(path string, r Retry) {
	tiers := join(path, "tiers")
	if n := len(r.Tiers); n == 0 || n > maxTiers {
		v.add(tiers, "want 1 to %d delays", maxTiers)
	}
	for i := 1; i < len(r.Tiers); i++ {
		if v.fine(index(tiers, i-1)) && r.Tiers[i] <= r.Tiers[i-1] {
			v.add(index(tiers, i), "want more than the tier before it (%s)", r.Tiers[i-1])
		}
	}
	for i, tier := range r.Tiers {
		if time.Duration(tier)%time.Millisecond != 0 {
			v.add(index(tiers, i), "want whole milliseconds: the delay becomes part of a topic name")
		}
	}
}

func (v *validator) handler(path string, t Topic) {
	h := t.Handler
	if (h.HTTP != nil) == (h.Exec != nil) {
		v.add(path, "want http or exec, one of them")
	}
	if h.HTTP != nil {
		v.http(join(path, "http"), t)
	}
	if h.Exec != nil && (len(h.Exec.Command) == 0 || h.Exec.Command[0] == "") {
		v.add(path+".exec.command", "want a program")
	}
}

// http lets the handler itself judge, but for files: those may be on another machine.
func (v *validator) http(path string, t Topic) {
	h := t.Handler.HTTP
	if h.TLS != nil {
		v.tls(join(path, "tls"), *h.TLS)
	}
	for broken := range v.broken {
		if strings.HasPrefix(broken, path) {
			return
		}
	}
	if _, err := httphandler.New(h.handlerConfig(t.Concurrency)); err != nil {
		v.add(path, "%s", oneLine(err))
	}
}
