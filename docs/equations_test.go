package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEquations holds the tables of method.md from the paper to the code: every key is in
// configuration.md, every file is there, and declares what the row names.
func TestEquations(t *testing.T) {
	page, err := os.ReadFile("method.md")
	require.NoError(t, err)
	keys, err := os.ReadFile("configuration.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "## From the paper to the code\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "\n## ")
	require.True(t, found)
	quoted := regexp.MustCompile("`([^`]+)`")
	names := func(cell string) (all []string) {
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			all = append(all, m[1])
		}
		return all
	}
	rows, equations := 0, map[string]bool{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(line, "|---") || strings.Contains(line, "| function |") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile(`\((\d\.\d)\)`).FindAllStringSubmatch(cells[0], -1) {
			equations[m[1]] = true
		}
		for _, key := range names(cells[1]) {
			if !strings.Contains(string(keys), "| `"+key+"` |") {
				t.Errorf("there is no key %s: %s", key, line)
			}
		}
		files := names(cells[2])
		require.Len(t, files, 1, line)
		source, err := os.ReadFile(filepath.Join("..", files[0]))
		require.NoError(t, err, line)
		functions := names(cells[3])
		require.NotEmpty(t, functions, line)
		for _, name := range functions {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(`).Match(source) {
				t.Errorf("%s has no function %s: %s", files[0], name, line)
			}
		}
	}
	require.Greater(t, rows, 50)
	require.Subset(t, slices.Collect(maps.Keys(equations)), []string{"1.1", "1.2", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6",
		"4.1", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6"}) // 4.2 stands between 4.1 and 4.3
}
