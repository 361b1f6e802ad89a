package cli

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/version"
)

func TestInfo(t *testing.T) {
	o := ok(t, "", "info", "--json")
	require.Empty(t, o.stderr)
	var m machine
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &m))
	require.Equal(t, runtime.Version(), m.Go)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, m.Platform)
	require.Positive(t, m.Affinity)
	require.Positive(t, m.Threads)
	require.NotEmpty(t, m.CPU)
	path, _, _ := asm.Active()
	require.Equal(t, path.String(), m.Path)
	require.Equal(t, len(asm.Supported()), len(m.Paths))
	require.Equal(t, len(asm.Features()), len(m.Features)+len(m.Missing))
	require.Equal(t, append(systems.Names(), "toy"), m.Systems)

	o = ok(t, "", "info")
	for _, word := range []string{"version ", "go  ", "cpu ", "processors ", "kernel path " + "  ", "features ", "missing ", "systems "} {
		require.Contains(t, o.stdout, strings.TrimRight(word, " "))
	}

	o = ok(t, "", "info", "--isa", "generic")
	require.Regexp(t, `(?m)^kernel path +generic: --isa generic$`, o.stdout)

	cmd := command(t, "", "info")
	cmd.Env = append(cmd.Env, "REVGEN_ISA=generic")
	require.Regexp(t, `(?m)^kernel path +generic: REVGEN_ISA=generic$`, finish(t, cmd).stdout)

	cmd = command(t, "", "info")
	cmd.Env = append(cmd.Env, "REVGEN_ISA=sse2")
	bad := finish(t, cmd)
	require.Equal(t, exitOK, bad.code, "info is how one finds out")
	require.Regexp(t, `(?m)^problem +REVGEN_ISA: .*sse2`, bad.stdout)
}

func TestInfoDescribes(t *testing.T) {
	run := trained(t)
	o := ok(t, "", "info", run)
	require.Regexp(t, `(?m)^state +done, step 60 of 60, checkpoint of step 60$`, o.stdout)
	require.Regexp(t, `(?m)^model +\d+ parameters after 60 steps on kernel path `, o.stdout)
	require.Contains(t, o.stdout, "\n  training.batch=64\n")
	require.Contains(t, o.stdout, "total variation")

	o = ok(t, "", "info", filepath.Join(run, "model.rvg"), "--json")
	var d runInfo
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &d))
	require.Equal(t, "ising", d.System)
	require.Equal(t, 60, d.Step)
	require.Nil(t, d.Status)
	require.NotEmpty(t, d.Config)

	// A run that has been stopped has no model yet.
	dir := t.TempDir()
	require.Equal(t, exitStopped, revgen(t, dir, tiny("run", "--max-time", "1ns")...).code)
	o = ok(t, dir, "info", "run")
	require.Regexp(t, `(?m)^state +stopped, step 0 of 60, checkpoint of step 0$`, o.stdout)
	require.Regexp(t, `(?m)^model +none yet$`, o.stdout)
	require.Contains(t, o.stdout, "\n  training.batch=64\n")

	o = revgen(t, dir, "info", ".")
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "not a run directory")
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, ok(t, dir, "--version").stdout, ok(t, dir, "version").stdout)
	var v version.Version
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, "version", "--json").stdout), &v))
	require.Equal(t, "revgen "+v.String()+"\n", ok(t, dir, "version").stdout)
}

// TestLongArguments: what is long in a command line does not bury what is wrong with it.
func TestLongArguments(t *testing.T) {
	dir := t.TempDir()
	word, sum := strings.Repeat("a", 5000), "x[0]"+strings.Repeat(" + x[0]", 1000)+" + y"
	for want, args := range map[string][]string{
		"unknown name aaa":       {"train", "reals", "--set", "target.expression=" + word},
		"unknown name y":         {"train", "reals", "--set", "target.expression=" + sum},
		"is not a whole number":  {"train", "ising", "--seed", word},
		"unknown key":            {"train", "ising", "--set", word + "=3"},
		"; see revgen help":      {word},
		"file name too long":     {"sample", word, "-n", "3", "-o", "x.npy"},
		"not one of auto, never": {"train", "ising", "--resume=" + word},
		"a string (\"aaa":        {"train", "ising", "--set", "target.beta=" + word},
	} {
		o := revgen(t, dir, args...)
		require.NotZero(t, o.code)
		require.Contains(t, o.stderr, want)
		require.Less(t, len(o.stderr), 1000, want)
	}
}

func TestHelpAndCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{"", "help", "train --help", "sample --help", "verify --help", "info --help", "completion bash", "--version"} {
		o := ok(t, dir, strings.Fields(args)...)
		require.NotEmpty(t, o.stdout, args)
		require.Empty(t, o.stderr, args)
	}
	for args, want := range map[string]string{
		"train --preset ":      "paper",
		"train toy --preset ":  "only",
		"train toy --set non":  "non_finite_at=",
		"train --set target.b": "target.beta=",
		"train --resume ":      "must",
		"train is":             "ising",
		"verify ":              "all",
		"sam":                  "sample",
		"info --isa ":          "generic",
	} {
		words := strings.Split(args, " ")
		o := ok(t, dir, append([]string{"__complete"}, words...)...)
		require.Contains(t, o.stdout, want, args)
	}
}
