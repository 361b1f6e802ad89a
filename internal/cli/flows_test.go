package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// TestVerifyChooses: which systems, and which model, the arguments of verify name.
func TestVerifyChooses(t *testing.T) {
	fails := errors.New("no states")
	named := func(name string, err error) engine.Definition {
		return engine.Definition{Name: name, Presets: []string{"only"}, Verify: func(_ context.Context, _ *pool.Pool, emit func(engine.Check)) error {
			emit(engine.Check{Name: name, OK: true})
			return err
		}}
	}
	a, b, silent := named("a", nil), named("b", nil), engine.Definition{Name: "silent", Presets: []string{"only"}}
	for _, c := range []struct {
		args    []string
		systems []engine.Definition
		bounds  bounds
		checked string
		err     string
	}{
		{nil, []engine.Definition{a, silent, b}, bounds{}, "a b", ""},
		{[]string{"all"}, []engine.Definition{a, silent, b}, bounds{}, "a b", ""},
		{[]string{"b"}, []engine.Definition{a, b}, bounds{}, "b", ""},
		{[]string{"silent"}, []engine.Definition{a, silent}, bounds{}, "", "nothing was checked"},
		{nil, []engine.Definition{a, named("c", fails), b}, bounds{}, "a c", "c: no states"},
		{[]string{"x"}, []engine.Definition{a}, bounds{}, "", `"x" is neither a system (a), all, nor a run directory or model`},
		{[]string{"a", "x"}, []engine.Definition{a}, bounds{}, "", "x: no such run directory or model"},
		{[]string{"all", "x"}, []engine.Definition{a}, bounds{}, "", "x: no such run directory or model"},
		{nil, []engine.Definition{a}, bounds{floor: 1}, "", "--max and --max-floor need a trained model; name its run directory or file"},
		{nil, []engine.Definition{a}, bounds{max: []string{"m=1"}}, "", "--max and --max-floor need a trained model; name its run directory or file"},
		{nil, []engine.Definition{a}, bounds{floor: -1}, "", "--max-floor: -1 is not a number of at least 0"},
	} {
		var out bytes.Buffer
		p := &program{systems: c.systems, stdout: &out, stderr: io.Discard}
		restore := p.catchSignals()
		err := p.verify(c.args, c.bounds, 1)
		restore()
		if c.err == "" {
			require.NoError(t, err, c.args)
		} else {
			require.EqualError(t, err, c.err)
		}
		var checked []string
		for line := range strings.Lines(out.String()) {
			checked = append(checked, strings.Fields(line)[1])
		}
		require.Equal(t, c.checked, strings.Join(checked, " "), c.args)
	}
}

// TestModelsThatDoNotFit: numbers of parameters, and parameters, that no training leaves.
func TestModelsThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	model, cfg, err := run.Read(systems, trained(t))
	require.NoError(t, err)
	whole := model.Params
	n := len(whole)
	broken, short := filepath.Join(dir, "broken.rvg"), filepath.Join(dir, "short.rvg")
	model.Params = append([]float32{}, whole...)
	model.Params[3], model.Params[5] = float32(math.NaN()), float32(math.Inf(-1))
	require.NoError(t, model.Write(broken))
	model.Params = whole[:n-2]
	require.NoError(t, model.Write(short))

	o := revgen(t, dir, "verify", "broken.rvg")
	require.Equal(t, exitCheck, o.code)
	require.Regexp(t, `FAIL  ising    model.finite  +2  bound 0 +number of parameters that are not finite\n`, o.stdout)
	require.Regexp(t, `ok    ising    model.parameters  +0 `, o.stdout)
	require.Equal(t, 3, strings.Count(o.stdout, "\n"), "nothing else can be checked")
	o = revgen(t, dir, "verify", "short.rvg")
	require.Equal(t, exitCheck, o.code)
	require.Regexp(t, `FAIL  ising    model.parameters  +2  bound 0 +number of parameters that the configuration needs and the file lacks\n`, o.stdout)
	require.Regexp(t, `ok    ising    model.finite  +0 `, o.stdout)
	text := fmt.Sprintf("its configuration needs %d parameters and it has %d", n, n-2)
	at := trained(t)
	require.NoError(t, model.Write(filepath.Join(at, "model.rvg")))
	for _, args := range [][]string{{"diagnose", at}, {"sample", at, "-n", "1", "-o", "x.npy"}, {"diagnose", "short.rvg"}, {"sample", "short.rvg", "-n", "1", "-o", "x.npy"}} {
		o = feed(t, dir, "[1,1,1,1,1,1,1,1,1]\n", args...)
		require.Equal(t, exitError, o.code, args)
		require.Contains(t, o.stderr, args[1]+": ")
		if args[0] != "sample" {
			require.Contains(t, o.stderr, text)
		}
	}

	workers := pool.New(1)
	defer workers.Close()
	_, err = newScoringSystem(cfg, model.Params, workers)
	require.EqualError(t, err, text)
	for _, params := range [][]float32{nil, whole} {
		s, err := newScoringSystem(cfg, params, workers)
		require.NoError(t, err)
		require.Equal(t, params, s.params)
		require.NotEmpty(t, s.formats)
		engine.Release(s.System)
	}

	// A system that has neither a table nor layouts of states.
	ok(t, dir, "train", "toy", "-o", "toy", "--figures", "none", "-q")
	o = revgen(t, dir, "verify", "toy", "toy", "--max-floor", "2")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "--max, --max-floor: the system has no table of metrics")
	o = revgen(t, dir, "verify", filepath.Join("toy", "model.rvg"))
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Equal(t, 3, strings.Count(o.stdout, "\n"))
	o = feed(t, dir, "[1]\n", "score", "toy", "-")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "toy: the system has no layouts of states")
}

// TestRefineAsDiagnosed: samples take the steps that a diagnosis found, and none where it says
// that no number of them would do.
func TestRefineAsDiagnosed(t *testing.T) {
	dir := trained(t)
	ok(t, "", "diagnose", dir, "-n", "256", "-q")
	path := filepath.Join(dir, "diagnosis.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "x.npy")
	for refine, code := range map[int]int{-1: exitCheck, 0: exitOK, 3: exitOK} {
		var kept map[string]any
		require.NoError(t, json.Unmarshal(text, &kept))
		kept["refine"], kept["sentence"] = refine, "So it is."
		changed, err := json.Marshal(kept)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		_ = os.Remove(out)
		o := revgen(t, "", "sample", dir, "-n", "50", "-o", out, "--refine", "auto")
		require.Equal(t, code, o.code, o.stderr)
		if refine < 0 {
			require.Contains(t, o.stderr, "revgen: --refine auto: So it is.\n")
			require.NoFileExists(t, out)
			continue
		}
		require.Contains(t, o.stderr, fmt.Sprintf("--refine %d: So it is.\n", refine))
		got := content(t, out)
		ok(t, "", "sample", dir, "-n", "50", "-o", out, "--refine", fmt.Sprint(refine))
		require.Equal(t, content(t, out), got)
	}
	o := revgen(t, "", "sample", dir, "-n", "10", "-o", out, "--first", "18446744073709551615", "--shard", "1/2")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "--first: sample 18446744073709551615 + 5 is beyond any stream")
	o = revgen(t, "", "sample", dir, "-n", "10", "-o", out, "--first", "18446744073709551610", "--shard", "1/2")
	require.NotContains(t, o.stderr, "beyond any stream")
	o = revgen(t, "", "sample", dir, "-n", "10", "-o", out, "--refine", "auto", "--exact")
	require.Contains(t, o.stderr, "--refine: exact draws need no refinement; leave out one of --exact and --refine")
}

// TestSchemaCommand: a schema of each system's configuration, and of nothing else.
func TestSchemaCommand(t *testing.T) {
	for _, def := range systems {
		o := ok(t, "", "config", "schema", def.Name)
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &got))
		require.Equal(t, def.Name+": "+def.Summary, got["title"])
		require.True(t, strings.HasSuffix(o.stdout, "\n}\n"))
		cfg, err := def.Preset(def.Presets[0])
		require.NoError(t, err)
		all, described := got["properties"].(map[string]any), 0
		for _, key := range conf.Describe(cfg) {
			at := all
			keys := strings.Split(key.Path, ".")
			for _, k := range keys[:len(keys)-1] {
				at = at[k].(map[string]any)["properties"].(map[string]any)
			}
			require.Contains(t, at, keys[len(keys)-1], key.Path)
			if _, ok := at[keys[len(keys)-1]].(map[string]any)["description"]; ok {
				described++
			}
		}
		require.Greater(t, described, len(conf.Describe(cfg))/2, def.Name)
	}
	o := revgen(t, "", "config", "schema", "isling")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "isling")
	doc := fieldDoc()
	require.NotEmpty(t, doc("github.com/revgen/revgen/engine.Training.Seed"))
	require.Empty(t, doc("none"))
}

// TestChainsOfASeed: --seed is training.seed, and two arrays cannot both be stdout.
func TestChainsOfASeed(t *testing.T) {
	dir := t.TempDir()
	args := []string{"mcmc", "ising", "--chains", "4", "--draws", "12", "-o"}
	ok(t, dir, append(args, "a.npy", "--seed", "9")...)
	ok(t, dir, append(args, "b.npy", "-s", "training.seed=9")...)
	ok(t, dir, append(args, "c.npy")...)
	require.Equal(t, content(t, dir, "a.npy"), content(t, dir, "b.npy"))
	require.NotEqual(t, content(t, dir, "a.npy"), content(t, dir, "c.npy"))
	o := revgen(t, dir, append(args, "-", "--states", "-")...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "-o and --states are both stdout; name a file for one of them")
	for _, one := range [][]string{append(args, "-"), append(args, "d.npy", "--states", "-")} {
		o = ok(t, dir, one...)
		require.True(t, strings.HasPrefix(o.stdout, "\x93NUMPY"))
	}
	ok(t, dir, append(args, "e.npy", "--burn-in", "0")...)
	require.NotEqual(t, content(t, dir, "c.npy"), content(t, dir, "e.npy"))
	for _, many := range [][]string{{"--chains", "3e9"}, {"--draws", "3e9"}, {"--burn-in", "3e9"}, {"--spacing", "3e9"}} {
		o = revgen(t, dir, append([]string{"mcmc", "ising"}, many...)...)
		require.Equal(t, exitUsage, o.code, many)
		require.Contains(t, o.stderr, many[0]+": ")
	}
}

// TestInfoOfAFailedRun: what a run's status says, its error included.
func TestInfoOfAFailedRun(t *testing.T) {
	dir := trained(t)
	path := filepath.Join(dir, "status.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var status map[string]any
	require.NoError(t, json.Unmarshal(text, &status))
	require.NotContains(t, ok(t, "", "info", dir).stdout, "error         ")
	status["state"], status["error"], status["checkpoint"] = "failed", "it was full", -1
	text, err = json.Marshal(status)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	o := ok(t, "", "info", dir)
	require.Contains(t, o.stdout, "\nerror         it was full\n")
	require.Contains(t, o.stdout, "state         failed, step 60 of 60, no checkpoint yet\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "model.rvg")))
	_ = os.Remove(filepath.Join(dir, "checkpoint.rvg"))
	o = ok(t, "", "info", dir)
	require.Contains(t, o.stdout, "model         none yet\n")
	o = revgen(t, "", "info", filepath.Join(dir, "none"))
	require.Equal(t, exitUsage, o.code)
	o = revgen(t, "", "info", t.TempDir())
	require.Contains(t, o.stderr, "not a run directory: it has no status.json")
}
