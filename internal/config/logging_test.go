package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestLoggerHasTheLevelAndTheForm(t *testing.T) {
	var out bytes.Buffer
	logger := Logging{Level: "warn", Format: "json"}.Logger(&out)
	logger.Info("quiet")
	logger.Warn("loud")
	var line struct{ Msg string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Msg != "loud" {
		t.Errorf("log %q, %v", out.String(), err)
	}
	out.Reset()
	Logging{Level: "debug", Format: "text"}.Logger(&out).Debug("all")
	if !strings.Contains(out.String(), "level=DEBUG msg=all") {
		t.Errorf("log %q", out.String())
	}
}
