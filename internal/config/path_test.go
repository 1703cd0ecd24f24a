package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParents(t *testing.T) {
	want := []string{`topics."a.b[".retry.tiers[1]`, `topics."a.b[".retry.tiers`, `topics."a.b[".retry`, `topics."a.b["`, "topics", ""}
	if diff := cmp.Diff(want, parents(want[0])); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"concurrency", "ordering", "retry", "start"}
	for in, want := range map[string]string{"concurency": "concurrency", "retries": "retry", "star": "start", "xyz": "", "tls": ""} {
		if got, _ := nearest(in, words); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
