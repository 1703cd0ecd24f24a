package config

import (
	"encoding/json"
	"testing"
)

func TestSchema(t *testing.T) {
	golden(t, "schema.json", string(Schema()))
	var root any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	walkSchema(t, "", root)
}

// walkSchema says which setting has no description.
func walkSchema(t *testing.T, path string, v any) {
	t.Helper()
	block, ok := v.(map[string]any)
	if !ok {
		return
	}
	properties, ok := block["properties"].(map[string]any)
	if !ok {
		return
	}
	for name, property := range properties {
		inner := join(path, name)
		if text, _ := property.(map[string]any)["description"].(string); len(text) < 5 {
			t.Errorf("%s: description %q", inner, text)
		}
		walkSchema(t, inner, property)
		if items, ok := property.(map[string]any)["additionalProperties"]; ok {
			walkSchema(t, inner+".*", items)
		}
	}
}
