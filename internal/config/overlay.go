package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// variablePrefix begins the name of every variable that replaces a setting.
const variablePrefix = "LANEWAY_"

// variables returns the variables that replace settings, by name, with the path of each. Only settings with a fixed path
// have one: not those of a single topic, nor entries of other tables.
func variables() map[string]string {
	all := map[string]string{}
	collectVariables(reflect.TypeFor[Config](), "", all)
	return all
}

func collectVariables(t reflect.Type, path string, all map[string]string) {
	for _, f := range fields(t) {
		inner := join(path, f.name)
		if block, ok := blockOf(f.typ); ok {
			collectVariables(block, inner, all)
		} else if f.typ.Kind() != reflect.Map {
			all[variablePrefix+strings.ToUpper(strings.ReplaceAll(inner, ".", "_"))] = inner
		}
	}
}

// overlayVariables puts the values of LANEWAY_* variables into the tree, as they are: ${…} is not filled in, and an empty
// variable counts as not set. A variable that only looks like a setting gives a warning: platforms make variables of
// this form themselves, for a service that is called laneway.
func overlayVariables(root *node, environ []string) (warnings []Problem) {
	known := variables()
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, variablePrefix) || value == "" || name == FileVariable {
			continue
		}
		path, ok := known[name]
		if !ok {
			if near, ok := nearest(name, names); ok && distance(name, near) <= 2 {
				warnings = append(warnings, Problem{
					At: Position{Source: name}, Message: fmt.Sprintf("the variable names no setting; did you mean %s?", near),
				})
			}
			continue
		}
		graft(root, strings.Split(path, "."), &node{kind: text, value: value, shown: value, at: Position{Source: name}})
	}
	return warnings
}

// overridePrefix stands before the path in the position of an override.
const overridePrefix = "-X "

// overlayOverrides puts the values of -X path=value into the tree. ${…} is filled in.
func overlayOverrides(root *node, overrides []string, x *expander) (problems []Problem) {
	for _, override := range overrides {
		path, value, ok := strings.Cut(override, "=")
		at := Position{Source: overridePrefix + path}
		keys, err := splitPath(path)
		switch {
		case !ok:
			problems = append(problems, Problem{At: at, Message: "want path=value, such as group=billing"})
			continue
		case err != nil:
			problems = append(problems, Problem{At: at, Message: err.Error()})
			continue
		}
		n := &node{kind: text, value: value, shown: value, at: at}
		x.scalar(n, path)
		graft(root, keys, n)
	}
	return problems
}

// graft sets the value of a path, and makes blocks on the way where there are none.
func graft(root *node, keys []string, value *node) {
	at := root
	for _, key := range keys[:len(keys)-1] {
		next := at.get(key)
		if next == nil || next.kind != mapping {
			next = &node{kind: mapping, at: value.at}
			at.put(key, next)
		}
		at = next
	}
	at.put(keys[len(keys)-1], value)
}

// put sets the value of a key.
func (n *node) put(key string, value *node) {
	for i := range n.entries {
		if n.entries[i].key == key {
			n.entries[i] = entry{key: key, at: value.at, value: value}
			return
		}
	}
	n.entries = append(n.entries, entry{key: key, at: value.at, value: value})
}
