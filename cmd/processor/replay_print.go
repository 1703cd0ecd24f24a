package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/laneway-go/laneway/admin"
)

// planJSON is a plan as JSON.
type planJSON struct {
	Kind       string           `json:"kind"` // plan
	Task       admin.Kind       `json:"task"` // redrive, discard or replay
	Topic      string           `json:"topic"`
	Spans      []admin.Span     `json:"spans"`
	Matched    int64            `json:"matched"`
	Sends      int64            `json:"sends"`
	Resolves   int64            `json:"resolves"`
	Bytes      int64            `json:"bytes"`
	Rate       float64          `json:"rate"` // a second; 0: no limit
	Seconds    float64          `json:"seconds"`
	Done       int64            `json:"done"`
	Expired    int64            `json:"expired"`
	Window     float64          `json:"window"` // seconds; 0 without marks
	Uncertain  int64            `json:"uncertain"`
	Unsendable map[string]int64 `json:"unsendable,omitempty"`
	Samples    []admin.Sample   `json:"samples"`
	Refused    string           `json:"refused,omitempty"` // why it cannot be executed as it is
}

func (c *change) printPlan(p *admin.Plan) error {
	if c.output == outputText {
		return write(c.env.stdout, planReport(p, c.execute))
	}
	j := planJSON{
		Kind: "plan", Task: p.Spec.Kind, Topic: p.Spec.Source, Spans: p.Spec.Spans, Matched: p.Matched, Sends: p.Sends, Resolves: p.Resolves,
		Bytes: p.Bytes, Rate: max(p.Spec.Rate, 0), Seconds: p.Duration.Seconds(), Done: p.Done, Expired: p.Expired, Window: p.Window.Seconds(),
		Uncertain: p.Uncertain, Unsendable: p.Unsendable, Samples: p.Samples,
	}
	if refusal := p.Refusal(); refusal != nil {
		j.Refused = refusal.Error()
	}
	return writeJSON(c.env.stdout, []planJSON{j})
}

func planReport(p *admin.Plan, execute bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s, %d to send, %d to resolve\n", p.Spec.Kind, p.Spec.Source, matched(p.Matched), p.Sends, p.Resolves)
	if p.Sends > 0 {
		sendReport(&b, p)
	}
	if p.Uncertain > 0 {
		fmt.Fprintf(&b, "left out: %d that may have taken effect; --include-uncertain sends them\n", p.Uncertain)
	}
	for _, why := range slices.Sorted(maps.Keys(p.Unsendable)) {
		fmt.Fprintf(&b, "left out: %d that cannot be sent: %s\n", p.Unsendable[why], why)
	}
	for _, s := range p.Samples {
		fmt.Fprintf(&b, "  %s  %s  %s\n", s.Place, stamp(s.At), clip(orDash(strings.TrimSpace(s.Reason+" "+s.Cause.Message)), 40))
	}
	switch refusal := p.Refusal(); {
	case errors.Is(refusal, admin.ErrNothing):
	case errors.Is(refusal, admin.ErrExpired):
		fmt.Fprintf(&b, "refused: %s\n--allow-expired sends them all the same\n", refusal)
	case errors.Is(refusal, admin.ErrNoMarks):
		fmt.Fprintf(&b, "refused: %s\n--rerun-done sends them all the same\n", refusal)
	case !execute:
		b.WriteString("--execute --reason \"…\" does it\n")
	}
	return b.String()
}

func matched(n int64) string {
	if n == 1 {
		return "1 record matches"
	}
	return fmt.Sprintf("%d records match", n)
}

func sendReport(b *strings.Builder, p *admin.Plan) {
	pace := "without a limit"
	if p.Duration > 0 {
		pace = fmt.Sprintf("%s at %g a second", span(p.Duration), p.Spec.Rate)
	}
	fmt.Fprintf(b, "%s, %s\n", size(p.Bytes), pace)
	switch {
	case p.NoMarks:
	case p.Spec.RerunDone:
		fmt.Fprintf(b, "%d are done already and run again\n", p.Done)
	default:
		fmt.Fprintf(b, "%d are done already and will be skipped; --rerun-done runs them again\n", p.Done)
	}
	if p.Expired > 0 {
		fmt.Fprintf(b, "%d are older than the idempotency window of %s\n", p.Expired, span(p.Window))
	}
}

// size shows a number of bytes.
func size(n int64) string {
	const kib = 1 << 10
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < kib*kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < kib*kib*kib:
		return fmt.Sprintf("%.1f MiB", float64(n)/kib/kib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/kib/kib/kib)
}
