package cli

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/npy"
)

func TestMCMC(t *testing.T) {
	dir := t.TempDir()
	args := []string{"mcmc", "ising", "--set", "target.l=3", "--set", "target.beta=0.3", "--chains", "16", "--draws", "200"}
	o := ok(t, dir, append(args, "-t", "1", "-o", "draws.npy")...)
	require.NotContains(t, o.stderr, "warning")
	require.Regexp(t, `(?m)^energy +-?\d`, o.stdout)
	require.Contains(t, o.stdout, "16 chains of 200 draws, 1 steps apart, after 100 steps")
	h, draws := readArray(t, filepath.Join(dir, "draws.npy"))
	require.Equal(t, npy.Header{Descr: "[('energy', '<f8'), ('magnetisation', '<f8'), ('abs_magnetisation', '<f8')]", Shape: []int{16, 200}}, h)
	file, err := os.ReadFile(filepath.Join(dir, "draws.npy"))
	require.NoError(t, err)
	require.Equal(t, string(file), ok(t, dir, append(args, "-t", "3", "-o", "-")...).stdout, "threads, and stdout")

	// The table is about those numbers.
	var v walked
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, append(args, "--json")...).stdout), &v))
	var sum float64
	for i := range 16 * 200 {
		sum += math.Float64frombits(binary.LittleEndian.Uint64(draws[24*i:]))
	}
	require.Equal(t, "energy", v.Observables[0].Name)
	require.InEpsilon(t, sum/3200, v.Observables[0].Mean, 1e-12)
	require.Equal(t, []int{16, 200, 100, 1}, []int{v.Chains, v.Draws, v.BurnIn, v.Spacing})
	require.Empty(t, v.Warnings)
	require.Positive(t, v.Observables[0].SecondsPerEffective)

	// As a job it is the same.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.ndjson"),
		[]byte(`{"mcmc": "ising", "set": {"target.l": 3, "target.beta": 0.3}, "chains": 16, "draws": 200, "out": "job.npy"}`), 0o600))
	var record struct{ Result walked }
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, "run", "jobs.ndjson").stdout), &record))
	require.Equal(t, v.Observables[0].Mean, record.Result.Observables[0].Mean)
	_, job := readArray(t, filepath.Join(dir, "job.npy"))
	require.Equal(t, draws, job)

	// A run directory is its target.
	run := trained(t)
	o = ok(t, dir, "mcmc", run, "--chains", "2", "--draws", "20", "--json")
	require.Contains(t, o.stderr, "warning: energy: R̂ ")
	v = walked{}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
	require.Equal(t, "Ising model on the periodic 3×3 lattice, J = 1, β = 0.2", v.Target)
	require.NotEmpty(t, v.Warnings)

	for want, args := range map[string][]string{
		"toy: the system has no chains of its own":       {"toy"},
		"-o: x.csv: what is written is a NumPy array":    {"ising", "-o", "x.csv"},
		"--draws: 3 are fewer than 4":                    {"ising", "--draws", "3"},
		"--draws: 2000000000 of 64 chains are more than": {"ising", "--draws", "2e9"},
		`neither a system`:                               {"nosuch"},
	} {
		o := revgen(t, dir, append([]string{"mcmc"}, args...)...)
		require.Equal(t, exitUsage, o.code, "%v: %s", args, o.stderr)
		require.Contains(t, o.stderr, want)
	}
}

// What docs/trust.md has for ArviZ, as far as NumPy goes.
func TestNumPyReadsDraws(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("python3 with numpy is not installed")
	}
	dir := t.TempDir()
	var v walked
	o := ok(t, dir, "mcmc", "ising", "--set", "target.l=3", "--chains", "4", "--draws", "50", "-o", "draws.npy", "--json", "-q")
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
	means := make(map[string]float64)
	for _, x := range v.Observables {
		means[x.Name] = x.Mean
	}
	want, err := json.Marshal(means)
	require.NoError(t, err)
	cmd := exec.Command(python, "-c", `
import sys, json, numpy as np
x = np.load("draws.npy")
draws = {name: x[name] for name in x.dtype.names}
want = json.loads(sys.argv[1])
assert draws.keys() == want.keys(), (draws.keys(), want)
for name, mean in want.items():
    assert draws[name].shape == (4, 50) and abs(draws[name].mean() - mean) < 1e-12, name
m = draws["magnetisation"]
assert len({tuple(c) for c in m}) == 4 and (abs(m) == draws["abs_magnetisation"]).all()
`, string(want))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
