// Package docs_test runs what the pages show: every command of README.md and of docs, in
// order, in a directory of each page's own, and every program.
//
// Blocks are fenced. The language says what a block is: sh has a command a line, console
// has commands after "$ " and what they print; "$ cat FILE" begins a file, which is written;
// python is a script. A comment before a block, which no reader sees, says what differs:
//
//	<!-- test: same -->          what is printed is compared, line by line
//	<!-- test: from FILE -->     the lines stand in FILE, which other tests compile and run
//	<!-- test: none, REASON -->  nothing can run it here
package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// A block is one fenced block of a page.
type block struct {
	line           int
	language, mark string // mark is the first word of the comment before it
	with           string // and what follows there
	lines          []string
}

var (
	comment = regexp.MustCompile(`^<!-- test: (\w+),? ?(.*?) ?-->$`)
	unfence = regexp.MustCompile(`^ {4}(\$ |\./revgen |revgen [a-z]|go (run|build|test) |mpirun |pip )`)
)

// blocks returns the blocks of a page. A command that stands in none is an error.
func blocks(t *testing.T, page string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var open *block
	next := block{}
	for i, line := range strings.Split(string(text), "\n") {
		switch m := comment.FindStringSubmatch(line); {
		case open != nil && line == "```":
			all, open = append(all, *open), nil
		case open != nil:
			open.lines = append(open.lines, line)
		case strings.HasPrefix(line, "```"):
			next.line, next.language = i+1, strings.TrimPrefix(line, "```")
			open, next = &block{next.line, next.language, next.mark, next.with, nil}, block{}
		case m != nil:
			next.mark, next.with = m[1], m[2]
		default:
			require.NotRegexp(t, unfence, line, "%s:%d: a command outside of a fence is run by nobody", page, i+1)
		}
	}
	require.Nil(t, open, "%s: a fence does not end", page)
	return all
}

// A host is what the commands of a page find: programs on the path, and a directory.
type host struct{ dir, bin, python string }

// newHost returns a host with revgen as the program of this source. There go run and go
// build compile what they name in this source, wherever they are called.
func newHost(t *testing.T, root, revgen, python string) host {
	h := host{dir: t.TempDir(), bin: t.TempDir(), python: python}
	require.NoError(t, os.Symlink(filepath.Join(root, "examples"), filepath.Join(h.dir, "examples")))
	require.NoError(t, os.Symlink(revgen, filepath.Join(h.bin, "revgen")))
	program, err := exec.LookPath("go")
	require.NoError(t, err)
	script := fmt.Sprintf(`#!/bin/sh
set -e
case "$1 $2" in
"run ./cmd/revgen") shift 2; exec %[1]q "$@" ;;
"build -o") here=$PWD; cd %[3]q; exec %[4]q build -o "$here/$3" "$4" ;;
"run ./"*) name=%[2]q/$(basename "$2"); (cd %[3]q && %[4]q build -o "$name" "$2"); shift 2; exec "$name" "$@" ;;
*) cd %[3]q; exec %[4]q "$@" ;;
esac
`, revgen, h.bin, root, program)
	require.NoError(t, os.WriteFile(filepath.Join(h.bin, "go"), []byte(script), 0o700)) //nolint:gosec // a program
	return h
}

// run carries a command out and returns what it has printed.
func (h host) run(t *testing.T, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "PATH="+h.bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("%v of processor: %s", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), strings.Join(args, " "))
	return string(out), err
}

// commands splits a block into commands, each with the lines that follow it.
func (b block) commands() (commands []string, printed [][]string) {
	going := false // the line before ends with a backslash
	for _, line := range b.lines {
		command, found := strings.CutPrefix(line, "$ ")
		switch n := len(commands) - 1; {
		case going:
			commands[n] += "\n" + line
		case b.language == "console" && !found:
			printed[n] = append(printed[n], line)
			continue
		case b.language == "sh" && (strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")):
			continue
		default:
			commands, printed = append(commands, command), append(printed, nil)
		}
		going = strings.HasSuffix(line, `\`)
	}
	return commands, printed
}

// file writes a file that a page shows, or holds it against the one that ships.
func (h host) file(t *testing.T, where, name, text string) {
	shipped, err := os.ReadFile(filepath.Join(h.dir, name))
	if strings.HasPrefix(name, "examples/") {
		require.NoError(t, err, where)
		require.Equal(t, string(shipped), text, where)
		return
	}
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600), where)
}

// shell runs the commands of a block. One after which an error of ours is printed must
// fail with it; the others must not fail.
func (h host) shell(t *testing.T, page string, b block) {
	commands, printed := b.commands()
	for i, command := range commands {
		where := fmt.Sprintf("%s:%d: %s", page, b.line, command)
		if name, found := strings.CutPrefix(command, "cat "); found {
			h.file(t, where, name, strings.Join(printed[i], "\n")+"\n")
			continue
		}
		out, err := h.run(t, "sh", "-c", command)
		if at := slices.IndexFunc(printed[i], func(line string) bool { return strings.HasPrefix(line, "revgen: ") }); at >= 0 {
			require.Error(t, err, where)
			require.Contains(t, out, printed[i][at], where)
			continue
		}
		require.NoError(t, err, "%s\n%s", where, out)
		if b.mark == "same" {
			require.Equal(t, strings.Join(printed[i], "\n"), strings.TrimSpace(out), where)
		}
	}
}

// build makes the program and returns where it is.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "revgen")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/revgen").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// TestPages runs every command and every program of the pages as it stands there.
func TestPages(t *testing.T) {
	long.Only(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	revgen := build(t)
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if python == "" && exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
		}
	}
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "../README.md") {
		all := blocks(t, page)
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, root, revgen, python)
			for _, b := range all {
				h.check(t, root, page, b)
			}
		})
	}
}

// check does with one block what its language and its comment say.
func (h host) check(t *testing.T, root, page string, b block) {
	t.Helper()
	where := fmt.Sprintf("%s:%d", page, b.line)
	require.Contains(t, []string{"", "same", "from", "none"}, b.mark, where)
	switch {
	case b.mark == "none":
		require.NotEmpty(t, b.with, "%s: say why nothing runs it", where)
	case b.mark == "from":
		source, err := os.ReadFile(filepath.Join(root, b.with))
		require.NoError(t, err, where)
		for _, line := range b.lines {
			for _, part := range strings.Split(strings.TrimSpace(line), " … ") {
				require.Contains(t, string(source), part, where)
			}
		}
	case b.language == "sh" || b.language == "console":
		h.shell(t, page, b)
	case b.language == "python":
		if h.python == "" {
			t.Logf("%s: not run: no python3 with numpy", where)
			return
		}
		out, err := h.run(t, h.python, "-c", strings.Join(b.lines, "\n"))
		require.NoError(t, err, "%s\n%s", where, out)
	case b.language != "text" && b.language != "json":
		require.Fail(t, "nothing runs a block of this kind", "%s: %q", where, b.language)
	}
}
