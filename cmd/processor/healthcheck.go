package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laneway-go/laneway/processor"
)

// healthcheckFlags holds the flags of "processor healthcheck".
type healthcheckFlags struct {
	env     *environment
	ops     string
	timeout time.Duration
}

func newHealthcheck(env *environment) *cobra.Command {
	h := &healthcheckFlags{env: env}
	cmd := &cobra.Command{
		Use:   "healthcheck [live|ready|started]",
		Short: "Ask the worker on this machine how it is",
		Long: "healthcheck asks a worker's listener for operators, for probes that run a command. It exits with 0 if the answer is yes,\n" +
			"and with 1 and the reasons if it is not, or if nobody answers.\n\n" +
			"  live     a restart would not help; the default\n" +
			"  ready    it is in its group, has taken over its partitions, and its writes succeed\n" +
			"  started  it has taken over its first partitions",
		Example: "  processor healthcheck -c laneway.yaml\n" +
			"  processor healthcheck ready --ops 127.0.0.1:9464",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"live", "ready", "started"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.run(cmd.Context(), append(args, "live")[0])
		},
	}
	cmd.Flags().StringVar(&h.ops, "ops", "", "address of the listener (default: ops.listen of the configuration)")
	cmd.Flags().DurationVar(&h.timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	return cmd
}

func (h *healthcheckFlags) run(ctx context.Context, word string) error {
	address, err := h.address()
	if err != nil {
		return err
	}
	paths := map[string]string{"live": "/livez", "ready": "/readyz", "started": "/startupz"}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	c, err := ask(ctx, "http://"+address+paths[word])
	if err != nil {
		return err
	}
	if !c.OK {
		return fmt.Errorf("not %s: %s", word, strings.Join(c.Reasons, "; "))
	}
	return write(h.env.stdout, word+"\n")
}

// address returns where the worker listens, seen from this machine.
func (h *healthcheckFlags) address() (string, error) {
	listen := h.ops
	if listen == "" {
		cfg, err := h.env.loadConfig()
		if err != nil {
			return "", err
		}
		listen = cfg.Ops.Listen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("the worker has no listener to ask: %q", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// ask makes one request and returns the answer, whether it is a yes or a no.
func ask(ctx context.Context, url string) (c processor.Check, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return c, fmt.Errorf("ask the worker: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, fmt.Errorf("ask the worker: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		return c, fmt.Errorf("ask the worker: %s answers %s", url, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		return c, fmt.Errorf("ask the worker: %s does not answer as a worker does: %w", url, err)
	}
	return c, nil
}
