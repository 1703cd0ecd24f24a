package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestAFewAliasesCannotFillTheMemory(t *testing.T) {
	var file strings.Builder
	file.WriteString("a0: &a0 [a, b, c, d, e, f, g, h, i, j]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&file, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	_, err := load(t, file.String())
	if err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
		t.Errorf("error %.200v", err)
	}
}
