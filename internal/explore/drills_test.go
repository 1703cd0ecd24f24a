//go:build drills

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// drill takes one rule out of a copy of the machine.
type drill struct {
	rule   string
	change string // in words
	file   string // of internal/lane
	edits  []edit
	world  string
	states int // enough for the world to fail; default 300,000
	wants  string
}

type edit struct{ old, new string }

// TestEveryRuleIsMissed takes the rules out of the machine one at a time: a world must fail each time, or the explorer proves
// less than it seems to. The machine itself stays as it is; the build sees the changed file in place of the real one.
func TestEveryRuleIsMissed(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drills() {
		t.Run(d.rule+" "+d.change, func(t *testing.T) {
			t.Parallel()
			d.run(t, root)
		})
	}
}

func (d *drill) run(t *testing.T, root string) {
	dir := t.TempDir()
	binary := d.build(t, root, dir)
	states := d.states
	if states == 0 {
		states = 300_000
	}
	args := []string{"-states", strconv.Itoa(states), "-first"}
	if d.world != "" {
		args = append(args, "-world", d.world)
	}
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err == nil {
		t.Fatalf("nothing is violated without the rule\n%s", lastLine(out))
	}
	found := regexp.MustCompile(`(?m)^(\S+) +(\d+) +\d+ +(\d+)  FAILED: (.*)$`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("the explorer failed otherwise: %v\n%s", err, out)
	}
	steps := len(regexp.MustCompile(`(?m)^  [ \d]\d  `).FindAll(out, -1))
	t.Logf("| %s | %s | %s | %s | %d |", d.rule, d.change, found[1], found[4], steps)
	if d.wants != "" && !strings.HasPrefix(string(found[4]), d.wants) {
		t.Errorf("violated is %q, not %s", found[4], d.wants)
	}
}

// build compiles the explorer with the drill's change.
func (d *drill) build(t *testing.T, root, dir string) string {
	file := filepath.Join(root, "internal/lane", d.file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.edits {
		if n := bytes.Count(text, []byte(e.old)); n != 1 {
			t.Fatalf("%s has %d times, not once:\n%s", d.file, n, e.old)
		}
		text = bytes.Replace(text, []byte(e.old), []byte(e.new), 1)
	}
	changed := filepath.Join(dir, d.file)
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "explore")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", binary, "./internal/explore")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
