package config

import (
	"io"
	"log/slog"
)

// Logger returns a logger of this level and format that writes to w.
func (l Logging) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.level()}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func (l Logging) level() slog.Level {
	switch l.Level {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
