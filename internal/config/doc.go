// Package config reads the file that describes a worker.
//
// The types of file.go are the only description of it: their field tags and doc comments say what a field is called, what
// it may hold, what it is when left out and what it means. Everything else follows from them: the strict decoder, the
// environment variables, the paths that -X takes, the JSON Schema and the printed defaults.
//
// A file is read in this order, later steps win: the field's default, the YAML file with its ${…} filled in, LANEWAY_*
// variables, -X overrides. [Load] reports every problem that it can find in one [*Error], each with its position, and
// [Config.Build] makes a [processor.Config] of a loaded one.
//
// Secrets have a type of their own and are masked in whatever prints them. A message about a value quotes what stands in
// the file, so that nothing that came out of ${…} reaches a terminal or a log.
//
// Nothing in the package keeps state. A *Config is read-only after Load and may be shared.
package config
