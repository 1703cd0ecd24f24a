package config

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/laneway-go/laneway/handlers/exechandler"
	"github.com/laneway-go/laneway/processor"
)

// handler makes the handler of a topic, or nil where the topic has none.
func (w *Worker) handler(t Topic, logger *slog.Logger) (processor.Handler, error) {
	switch {
	case t.Handler.Exec != nil:
		return w.exec(*t.Handler.Exec, logger)
	default:
		return nil, nil
	}
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
