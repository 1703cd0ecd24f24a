package config

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns the whole configuration with its defaults filled in and its secrets masked. It can be loaded again.
func (c *Config) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("${"), []byte("$${")), nil
}
