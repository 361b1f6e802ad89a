package revgen_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

const module = "github.com/revgen/revgen"

// A place is a folder of the drawing in CONTRIBUTING.md, with what is below it.
type place struct {
	dir         string
	floor, door int // its line, and its place there from the left
}

// drawing reads the rooms of CONTRIBUTING.md: those before three spaces of a line. A
// name without a folder's path is a neighbour of the one before it, or stands in engine.
func drawing(t *testing.T, text string) (rooms []place) {
	t.Helper()
	_, text, found := strings.Cut(text, "## The house\n\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "\n\n")
	require.True(t, found)
	for floor, line := range strings.Split(text, "\n") {
		names, _, described := strings.Cut(strings.TrimSpace(line), "   ")
		require.True(t, described, line)
		names = strings.Replace(names, "revgen (the module's root)", ".", 1)
		beside := "."
		for door, name := range strings.Fields(strings.ReplaceAll(names, ",", "")) {
			dir := resolve(name, beside, "engine")
			require.NotEmpty(t, dir, "%s: there is no folder %s", line, name)
			rooms = append(rooms, place{dir, floor, door})
			beside = path.Dir(dir)
		}
	}
	return rooms
}

// resolve returns the first of a name and of its paths below the given folders that is
// there, "" if none is.
func resolve(name string, below ...string) string {
	for _, dir := range append([]string{"."}, below...) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return path.Join(dir, name)
		}
	}
	return ""
}

// TestHouse holds the imports against CONTRIBUTING.md's drawing: they point down, or
// along a line to the right.
func TestHouse(t *testing.T) {
	long.SkipShort(t)
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	rooms := drawing(t, string(text))
	in := func(pkg string) (r place, ok bool) {
		dir := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		for ; ; dir = path.Dir(dir) {
			if dir == "" {
				dir = "."
			}
			if i := slices.IndexFunc(rooms, func(r place) bool { return r.dir == dir }); i >= 0 && (dir != "." || pkg == module) {
				return rooms[i], true
			}
			if dir == "." {
				return place{}, false
			}
		}
	}
	out, err := exec.Command("go", "list", "-f", "{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}\n{{end}}", "./...").Output()
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(out)) {
		pkg, imported, _ := strings.Cut(strings.TrimSpace(line), " ")
		if imported != module && !strings.HasPrefix(imported, module+"/") || strings.HasPrefix(pkg, module+"/examples") {
			continue
		}
		from, ok := in(pkg)
		require.True(t, ok, "%s is not in the drawing", pkg)
		to, ok := in(imported)
		require.True(t, ok, "%s is not in the drawing", imported)
		if from != to && (to.floor < from.floor || to.floor == from.floor && to.door < from.door) {
			t.Errorf("%s imports %s, which stands above it", pkg, imported)
		}
		seen++
	}
	require.Greater(t, seen, 100)
}

// TestContributing looks for every file, folder and name of Go that CONTRIBUTING.md
// names.
func TestContributing(t *testing.T) {
	long.SkipShort(t)
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	files, declared := map[string]bool{}, map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |\t|var |const )([A-Z]\w*)|\.([A-Z]\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path.Base(file)] = true
		if strings.HasSuffix(file, ".go") && !strings.HasPrefix(file, "asm/_asm") {
			data, err := os.ReadFile(file)
			for _, m := range declaration.FindAllSubmatch(data, -1) {
				declared[string(m[1])], declared[string(m[2])] = true, true
			}
			return err
		}
		return nil
	}))
	file := regexp.MustCompile(`^[\w./]+\.(go|h|md|s)$|^[a-z]\w*(/\w+)+$`)
	folder := regexp.MustCompile(`^[a-z]+$`)
	name := regexp.MustCompile(`^(?:[a-z]{2,}\.)?([A-Z]\w*[a-z]\w*)(?:\.([A-Z]\w+))?$`)
	placeholder := regexp.MustCompile(`NAME|VERB`)
	seen := 0
	for line := range strings.Lines(string(text)) {
		beside := []string{"engine"}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			word := m[1]
			switch {
			case placeholder.MatchString(word):
			case folder.MatchString(word) && resolve(word) != "":
				beside = append([]string{word}, beside...)
			case file.MatchString(word):
				found := resolve(word, beside...)
				switch {
				case found != "" && strings.Contains(word, "/"):
					beside = append([]string{path.Dir(found), found}, beside...)
				case found == "" && (len(beside) > 1 || !files[word]): // kits and systems share names
					t.Errorf("there is no %s: %s", word, line)
				}
				seen++
			case name.MatchString(word):
				for _, part := range name.FindStringSubmatch(word)[1:] {
					if part != "" && !declared[part] {
						t.Errorf("nothing is named %s: %s", part, line)
					}
				}
				seen++
			}
		}
	}
	require.Greater(t, seen, 50)
}
