package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/reproduce"
)

// smallReproduction returns the arguments of a reproduction of 60 steps.
func smallReproduction(dir string, more ...string) []string {
	return append([]string{"reproduce", "--only", "ising-0.2", "--preset", "paper", "-o", dir, "-s", "training.steps=60",
		"-s", "training.batch=64", "-s", "generator.hidden=16", "-s", "generator.latent=4", "-s", "evaluation.samples=2000",
		"-s", "training.checkpoint_every=20"}, more...)
}

func TestReproduce(t *testing.T) {
	dir := t.TempDir()
	o := ok(t, dir, smallReproduction("out")...)
	lines := strings.Split(o.stdout, "\n")
	require.Equal(t, "Ising model, L = 3, β = 0.2", lines[0])
	require.Contains(t, lines[1], "paper preset, seed 1, 60 steps of 64 samples in ")
	for _, column := range []string{"metric", "ground truth", "ours", "error", "sampling floor", "paper's error", "better"} {
		require.Contains(t, lines[3], column)
	}
	require.Regexp(t, `^energy +-4\.84\d* .* 0\.45 % +(yes|no)`, lines[5])
	require.Contains(t, o.stderr, "run 1 of 1")
	require.Contains(t, o.stderr, "results: "+filepath.Join("out", "results.md"))
	document, err := os.ReadFile(filepath.Join(dir, "out", "results.md"))
	require.NoError(t, err)
	require.Contains(t, string(document), "![paper-ising-0.2-distributions](figures/paper-ising-0.2-distributions.svg)")
	require.FileExists(t, filepath.Join(dir, "out", "figures", "paper-ising-0.2-distributions.svg"))

	o = ok(t, dir, smallReproduction("out", "--json", "-q", "--seeds", "2")...)
	require.Empty(t, o.stderr)
	var results reproduce.Results
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &results))
	require.Len(t, results.Outcomes, 1)
	require.Equal(t, []uint64{1, 2}, results.Outcomes[0].Seeds)
}

func TestReproduceInterrupted(t *testing.T) {
	dir := t.TempDir()
	want := ok(t, dir, smallReproduction("whole", "-q")...)
	cmd := command(t, dir, smallReproduction("out")...)
	cmd.Env = append(cmd.Env, envSignal+"="+strconv.Itoa(int(syscall.SIGTERM)), envAtStep+"=33")
	o := finish(t, cmd)
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, o.stderr, "SIGTERM: stopped at step 33 of 60; the same command continues from "+filepath.Join("out", "paper", "ising-0.2", "seed1"))
	require.NoFileExists(t, filepath.Join(dir, "out", "results.json"))
	got := ok(t, dir, smallReproduction("out", "-q")...)
	withoutTime := func(s string) string {
		lines := strings.Split(s, "\n")
		return strings.Join(lines[2:], "\n")
	}
	require.Equal(t, withoutTime(want.stdout), withoutTime(got.stdout))
	o = revgen(t, dir, smallReproduction("other", "--max-time", "1ns")...)
	require.Equal(t, exitStopped, o.code)
	require.Contains(t, o.stderr, "--max-time 1ns: stopped")
}

func TestReproduceUsage(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		`unknown setting "ising"; the settings are gmm, hybrid,`: {"--only", "ising"},
		`preset: "worst" is not one of`:                          {"--preset", "worst"},
		"seeds: 0 is not between 1 and 1000":                     {"--seeds", "0"},
		"seeds: 4294967296 is not between":                       {"--seeds", "4294967296"},
		"seed: there are no 2 seeds":                             {"--seeds", "2", "--seed", "18446744073709551615"},
		"unknown key":                                            {"--set", "training.stpes=1"},
		"make bin/studies and bin/studies NAME":                  {"--study", "all"},
		`unknown command "gmm"`:                                  {"gmm"},
	} {
		o := revgen(t, dir, append([]string{"reproduce", "-o", "out"}, args...)...)
		require.Equal(t, exitUsage, o.code, "%v: %s", args, o.stderr)
		require.Contains(t, o.stderr, want)
		require.NoDirExists(t, filepath.Join(dir, "out"))
	}
}

// Every setting is of a system that the program has, and valid in its presets.
func TestSettings(t *testing.T) {
	for _, name := range reproduce.Names() {
		p := reproduce.Plan{Presets: []string{"quick", "paper", "best"}, Only: []string{name}, Seeds: 1}
		require.NoError(t, p.Check(systems), name)
	}
}
