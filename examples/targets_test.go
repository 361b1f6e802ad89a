package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// TestTargets runs the targets of one's own, briefly: they train, and what they print
// are finite numbers.
func TestTargets(t *testing.T) {
	long.Only(t)
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", dir+"/", "./phi4", "./glass", "./posterior", "./selection").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, want := range map[string]string{
		"phi4":      `^<\|m\|> = \d\.\d+, <phi\^2> = \d\.\d+\n$`,
		"glass":     `^<E> = -\d\d\.\d+, <q\^2> = \d\.\d+\n$`,
		"posterior": `^(b\d = -?\d\.\d+ ± \d\.\d+\n){3}$`,
		"selection": `^(first (true |false) second (true |false) \d\.\d+\n){4}$`,
	} {
		out, err := exec.Command(filepath.Join(dir, name), "training.steps=20", "training.batch=128", "evaluation.samples=500").CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		require.Regexp(t, want, string(out), name)
	}
}

// TestGuide: the target in Go of docs/guide.md is examples/schools, at most 60 lines, and
// the same density as its expression; and it has every verb of the command line.
func TestGuide(t *testing.T) {
	long.Only(t)
	page, err := os.ReadFile(filepath.Join("..", "docs", "guide.md"))
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join("schools", "main.go"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(source), "\n"), 60)
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, shown)
	require.Equal(t, string(source[bytes.Index(source, []byte("package main")):]), string(shown[1]))
	config := regexp.MustCompile(`(?m)^\{"system": "reals"(?:.*\n)(?: .*\n)*`).Find(page)
	require.NotNil(t, config)

	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", dir+"/", "./schools", "../cmd/revgen").CombinedOutput()
	require.NoError(t, err, "%s", out)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("schools.json", strings.Replace(string(config), `"best"`, `"paper"`, 1)) // which looks at its target for less long
	write("states.ndjson", "[0,0,0,0,0,0,0,0,0,0]\n[4.4,0.8,0.5,-0.1,0.2,0,-0.4,-0.3,0.6,0.1]\n[-3,-2,1,2,-1,0.3,0.2,0.1,-2,1]\n[7,3,0,1,0,1,0,1,0,1]\n")
	run := func(name string, args ...string) string {
		cmd := exec.Command(filepath.Join(dir, name), append(args, "-q")...)
		cmd.Dir = dir
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s %v: %s", name, args, stderr.String())
		return string(out)
	}
	densities := func(name, target string) (all []float64) {
		for _, v := range strings.Fields(run(name, "score", target, "states.ndjson", "--columns", "log_density", "--to", "csv"))[1:] {
			x, err := strconv.ParseFloat(v, 64)
			require.NoError(t, err)
			all = append(all, x)
		}
		return all
	}
	want, got := densities("revgen", "schools.json"), densities("schools", "schools")
	require.Len(t, want, 4)
	require.InDeltaSlice(t, want, got, 1e-5) // ln π of some tens in float32

	run("schools", "train", "--preset", "paper", "-o", "run", "--set", "training.steps=20", "--set", "training.batch=128", "--set", "evaluation.samples=500", "--figures", "none")
	run("schools", "sample", "run", "-n", "100", "-o", "x.npy")
	run("schools", "diagnose", "run", "-n", "256", "--max-refine", "4")
	run("schools", "mcmc", "--chains", "4", "--draws", "8")
	run("schools", "report", "run")
	run("schools", "info", "run")
	run("schools", "config", "show", "schools", "--preset", "paper")
	run("schools", "verify", "schools")
	write("jobs.ndjson", `{"train": "schools", "preset": "paper", "set": {"training.steps": 5, "training.batch": 64, "evaluation.samples": 500}}`+"\n")
	run("schools", "run", "jobs.ndjson", "-o", "batch")
}
