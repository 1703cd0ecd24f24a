package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/laneway-go/laneway/retrytopics"
)

func TestDefaultsAreWhatTheLibraryDocuments(t *testing.T) {
	text, err := mustLoad(t, smallest).YAML()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "defaults.yaml", string(text))
	// The schedule's own defaults are in retrytopics; ours must not drift from them.
	policy := mustLoad(t, smallest).Topics["orders"].Policy()
	if diff := cmp.Diff(retrytopics.Policy{}.WithDefaults(), policy); diff != "" {
		t.Errorf("retry policy (-retrytopics +config):\n%s", diff)
	}
}

func TestAPrintedFileLoadsAsItIs(t *testing.T) {
	first, err := mustLoad(t, smallest+"instance_id: a$${b}\n").YAML()
	if err != nil {
		t.Fatal(err)
	}
	second, err := mustLoad(t, string(first)).YAML()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("printed, loaded and printed (-first +second):\n%s", diff)
	}
}
