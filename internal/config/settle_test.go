package config

import (
	"strings"
	"testing"
)

func TestATopicHasOneTimeLimit(t *testing.T) {
	tests := []struct{ call, request, wantCall, wantRequest string }{
		{"", "", "30s", "30s"},
		{"5s", "", "5s", "5s"},
		{"", "2m", "2m", "2m"},
		{"1m", "10s", "1m", "10s"},
	}
	for _, test := range tests {
		file := smallest
		if test.call != "" {
			file += "    timeout: " + test.call + "\n"
		}
		if test.request != "" {
			file = strings.Replace(file, `orders"}`, `orders", timeout: `+test.request+"}", 1)
		}
		topic := mustLoad(t, file).Topics["orders"]
		if got := topic.Timeout.String() + " " + topic.Handler.HTTP.Timeout.String(); got != test.wantCall+" "+test.wantRequest {
			t.Errorf("call %q, request %q: %s", test.call, test.request, got)
		}
	}
}
