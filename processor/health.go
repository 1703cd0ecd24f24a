package processor

// Health answers the three questions of an orchestrator. Each answer that is not a yes says why.
type Health struct {
	// Live is false if a restart would help: a loop is stuck, a handler call ignores its time limit, or Run has returned.
	// Brokers that cannot be reached, a rebalance and a want of records are no such thing.
	Live Check `json:"live"`
	// Started is true once the first lanes have been taken over, and stays so.
	Started Check `json:"started"`
	// Ready is true while the process is a member of the group, has taken over all of its lanes, and its writes succeed.
	Ready Check `json:"ready"`
}

// Check is one answer.
type Check struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons,omitempty"` // why not
}

// Health looks at the processor. It neither blocks nor asks a broker, and may be called at any time from any goroutine.
func (p *Processor) Health() Health {
	w := p.worker.Load()
	switch {
	case p.ended.Load():
		no := because("has stopped")
		return Health{Live: no, Started: no, Ready: no}
	case w == nil:
		no := because("has not started: the topics are being looked at")
		return Health{Live: because(), Started: no, Ready: no}
	}
	h := w.Health()
	return Health{Live: because(h.Live...), Started: because(h.Started...), Ready: because(h.Ready...)}
}

func because(reasons ...string) Check { return Check{OK: len(reasons) == 0, Reasons: reasons} }
