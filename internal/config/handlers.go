package config

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/laneway-go/laneway/handlers/exechandler"
	"github.com/laneway-go/laneway/handlers/httphandler"
	"github.com/laneway-go/laneway/processor"
)

// handler makes the handler of a topic.
func (w *Worker) handler(t Topic, logger *slog.Logger) (processor.Handler, error) {
	if t.Handler.HTTP != nil {
		return w.http(t)
	}
	return w.exec(*t.Handler.Exec, logger)
}

func (w *Worker) http(t Topic) (processor.Handler, error) {
	cfg := t.Handler.HTTP.handlerConfig(t.Concurrency)
	if files := t.Handler.HTTP.TLS; files != nil {
		client, err := files.client()
		if err != nil {
			return nil, fmt.Errorf("http handler: tls: %w", err)
		}
		cfg.TLS = client
	}
	h, err := httphandler.New(cfg)
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, h.Close)
	return h, nil
}

// handlerConfig returns the configuration of the handler without TLS, for which files are read.
func (h *HTTP) handlerConfig(concurrency int) httphandler.Config {
	cfg := httphandler.Config{
		URL: h.URL.Reveal(), Timeout: time.Duration(h.Timeout), ConnectTimeout: time.Duration(h.ConnectTimeout), Concurrency: concurrency,
		ForwardHeaders: h.ForwardHeaders, ContentType: h.ContentType, Headers: make(map[string]string, len(h.Headers)),
	}
	for name, value := range h.Headers {
		cfg.Headers[name] = value.Reveal()
	}
	for _, secret := range h.SigningSecrets {
		cfg.SigningSecrets = append(cfg.SigningSecrets, secret.Reveal())
	}
	return cfg
}

func (w *Worker) exec(e Exec, logger *slog.Logger) (processor.Handler, error) {
	h, err := exechandler.New(exechandler.Config{
		Command: e.Command, Dir: e.Dir, Env: pairs(e.Env), Processes: e.Processes, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, h.Close)
	return h, nil
}

// pairs returns NAME=value for each entry, in the order of the names.
func pairs(m map[string]Secret) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, name+"="+m[name].Reveal())
	}
	return out
}
