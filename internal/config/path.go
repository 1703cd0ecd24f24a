package config

import (
	"errors"
	"strconv"
	"strings"
)

// join adds a key to a path. A key that holds a dot or anything else unusual is quoted, so that a path can be given to -X.
func join(path, key string) string {
	if !plainKey(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// index adds a list index to a path.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func plainKey(key string) bool {
	for _, r := range key {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		default:
			return false
		}
	}
	return key != ""
}

// splitPath is the inverse of join: it cuts a path into its keys.
func splitPath(path string) ([]string, error) {
	var keys []string
	for rest := path; ; {
		key, tail, err := cutKey(rest)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
		if tail == "" {
			return keys, nil
		}
		if tail[0] != '.' {
			return nil, errors.New("want a dot between two keys")
		}
		rest = tail[1:]
	}
}

func cutKey(s string) (key, tail string, err error) {
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", errors.New("a quote is not closed")
		}
		key, _ := strconv.Unquote(quoted) // QuotedPrefix has read it
		return key, s[len(quoted):], nil
	}
	end := strings.IndexByte(s, '.')
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return "", "", errors.New("a key is empty")
	}
	return s[:end], s[end:], nil
}

// parents returns the path and all paths above it, the nearest first, down to the empty path of the file.
func parents(path string) []string {
	ends := []int{len(path)}
	quoted := false
	for i := 0; i < len(path); i++ {
		switch {
		case quoted && path[i] == '\\':
			i++
		case path[i] == '"':
			quoted = !quoted
		case !quoted && (path[i] == '.' || path[i] == '['):
			ends = append(ends, i)
		}
	}
	all := []string{path}
	for i := len(ends) - 1; i > 0; i-- {
		all = append(all, path[:ends[i]])
	}
	return append(all, "")
}
