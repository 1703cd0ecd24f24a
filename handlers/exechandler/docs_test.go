package exechandler

import (
	"os"
	"strings"
	"testing"
)

func TestTheDocumentationShowsTheExamplesAsTheyAre(t *testing.T) {
	doc, err := os.ReadFile("../../docs/exec-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, language := range map[string]string{"handler.py": "python", "handler.mjs": "js", "handler.sh": "sh"} {
		example, err := os.ReadFile("../../examples/exec/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(doc), "```"+language+"\n"+string(example)+"```\n") {
			t.Errorf("docs/exec-protocol.md does not show %s as it is", name)
		}
	}
}
