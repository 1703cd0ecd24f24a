package config

import (
	"os"
	"reflect"
	"strings"
)

// FileVariable names the configuration file where -c does not.
const FileVariable = variablePrefix + "CONFIG"

// Source is everything that a configuration is made of.
type Source struct {
	Name      string   // of the file, for positions
	Data      []byte   // of the file
	Environ   []string // NAME=value, for ${NAME} and LANEWAY_*; of two with one name the later one counts
	Overrides []string // path=value, as given to -X

	// ReadFile reads the files of ${file:…}. Default [os.ReadFile].
	ReadFile func(path string) ([]byte, error)
}

// Load reads, completes and checks a configuration. Its error is an [*Error] with all problems. With an error the
// configuration holds what could be read, so that [Config.Warnings] still works; it must not be built.
func Load(src Source) (*Config, error) {
	if src.ReadFile == nil {
		src.ReadFile = os.ReadFile
	}
	root, problems := parse(src.Name, src.Data)
	c := &Config{}
	if root != nil && root.kind != mapping {
		problems = append(problems, Problem{At: root.at, Message: "want settings, one a line, such as group: billing"})
	}
	if root == nil || root.kind != mapping {
		return c, &Error{Problems: problems}
	}
	c.warnings = overlayVariables(root, src.Environ)
	x := &expander{lookup: lookup(src.Environ), readFile: src.ReadFile}
	problems = append(problems, overlayOverrides(root, src.Overrides, x)...)
	x.tree(root, "")
	d := &decoder{set: map[string]Position{}}
	d.value(reflect.ValueOf(c).Elem(), root, "", field{typ: reflect.TypeFor[Config]()})
	c.set = d.set
	c.settle()
	problems = append(append(problems, x.problems...), d.problems...)
	problems = append(problems, validate(c, problems)...)
	if len(problems) == 0 {
		return c, nil
	}
	sortProblems(problems)
	return c, &Error{Problems: problems}
}

func lookup(environ []string) func(string) (string, bool) {
	values := make(map[string]string, len(environ))
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// given says whether a setting was given, in the file or over it.
func (c *Config) given(path string) bool {
	_, ok := c.set[path]
	return ok
}

// at returns where a setting stands, or the nearest block above it that stands somewhere.
func (c *Config) at(path string) Position {
	for _, p := range parents(path) {
		if at, ok := c.set[p]; ok {
			return at
		}
	}
	return Position{}
}
