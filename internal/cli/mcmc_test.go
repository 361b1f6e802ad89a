package cli

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
	require.Contains(t, o.stdout, "16 chains of 200 draws, 1 step apart, after 100 steps")
	h, draws := readArray(t, filepath.Join(dir, "draws.npy"))
	require.Equal(t, npy.Header{Descr: "[('energy', '<f8'), ('magnetisation', '<f8'), ('abs_magnetisation', '<f8')]", Shape: []int{16, 200}}, h)
	file, err := os.ReadFile(filepath.Join(dir, "draws.npy"))
	require.NoError(t, err)
	require.Equal(t, string(file), ok(t, dir, append(args, "-t", "3", "-o", "-")...).stdout, "threads, and stdout")

	// The table is about those numbers.
	var v mcmcResult
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
	var record struct{ Result mcmcResult }
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, "run", "jobs.ndjson", "--allow-outside").stdout), &record))
	require.Equal(t, v.Observables[0].Mean, record.Result.Observables[0].Mean)
	_, job := readArray(t, filepath.Join(dir, "job.npy"))
	require.Equal(t, draws, job)

	// A run directory is its target.
	run := trained(t)
	o = ok(t, dir, "mcmc", run, "--chains", "2", "--draws", "20", "--json")
	require.Contains(t, o.stderr, "warning: energy is not reliable yet: R̂ is ")
	v = mcmcResult{}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
	require.Equal(t, "Ising model on the periodic 3×3 lattice, J = 1, β = 0.2", v.Target)
	require.NotEmpty(t, v.Warnings)

	// A target is a system before it is a directory of that name.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "ising"), 0o700))
	require.Equal(t, exitOK, revgen(t, dir, append(args, "-q")...).code)

	for want, args := range map[string][]string{
		"gmm: the system has no chains of its own at":     {"gmm", "--ladder", "0.1,0.2"},
		"1 inverse temperatures; give 2 to 256":           {"ising", "--ladder", "0.1"},
		"0.1 comes after 0.1":                             {"ising", "--ladder", "0.1,0.1"},
		"\"b\" is not a number":                           {"ising", "--ladder", "0.1,b"},
		`"0.1:0.2:" is not first:last:step or a,b,c`:      {"ising", "--ladder", "0.1:0.2:"},
		"β·E reaches 1.6e+19":                             {"ising", "--ladder", "0,1e18", "-s", "target.l=2"},
		`"often" is neither a number of steps such as 10`: {"ising", "--spacing", "often"},
		`--format: "x" is not one of spins, bits`:         {"ising", "--states", "x.npy", "--format", "x"},
		"--format is of states":                           {"ising", "--format", "bits"},
		"x.npy and ./x.npy are one file":                  {"ising", "-o", "x.npy", "--states", "./x.npy"},
		"--states: x.txt: what is written is a NumPy":     {"ising", "--states", "x.txt"},
		"toy: the system has no chains of its own":        {"toy"},
		"-o: x.csv: what is written is a NumPy array":     {"ising", "--states", "x.txt", "-o", "x.csv"},
		"--draws: 3 are fewer than 4":                     {"ising", "--draws", "3"},
		"--draws: 2000000000 of 64 chains are more than":  {"ising", "--draws", "2e9"},
		`neither a system`:                                {"nosuch"},
	} {
		o := revgen(t, dir, append([]string{"mcmc"}, args...)...)
		require.Equal(t, exitUsage, o.code, "%v: %s", args, o.stderr)
		require.Contains(t, o.stderr, want)
	}
}

// A ladder's table, arrays and JSON are about one run.
func TestLadder(t *testing.T) {
	dir := t.TempDir()
	args := []string{"mcmc", "ising", "--set", "target.l=3", "--ladder", "0.4,0.1:0.3:0.1", "--chains", "8", "--draws", "100"}
	require.Equal(t, exitUsage, revgen(t, dir, args...).code, "two forms at once")
	args[5] = "0.1:0.4:0.15"
	o := ok(t, dir, append(args, "-o", "draws.npy", "--states", "states.npy")...)
	require.Regexp(t, `(?m)^0.1 +energy `, o.stdout)
	require.Regexp(t, `(?m)^0.25 +0.4 +\d+\.\d %$`, o.stdout)
	require.Contains(t, o.stdout, "8 chains of 100 draws at each of 3 temperatures, 1 step apart, after 50 steps")
	h, draws := readArray(t, filepath.Join(dir, "draws.npy"))
	require.Equal(t, []int{3, 8, 100}, h.Shape)
	h, states := readArray(t, filepath.Join(dir, "states.npy"))
	require.Equal(t, npy.Header{Descr: "'|i1'", Shape: []int{3, 8, 100, 3, 3}}, h)
	for i := range 3 * 8 * 100 {
		var m int
		for _, s := range states[9*i:][:9] {
			m += int(int8(s))
		}
		require.InDelta(t, float64(m)/9, math.Float64frombits(binary.LittleEndian.Uint64(draws[24*i+8:])), 1e-12)
	}
	file, err := os.ReadFile(filepath.Join(dir, "states.npy"))
	require.NoError(t, err)
	require.Equal(t, string(file), ok(t, dir, append(args, "--states", "-", "-t", "3")...).stdout)

	var v mcmcResult
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, append(args, "--json", "--states", "bits.npy", "-f", "bits", "-q")...).stdout), &v))
	require.Empty(t, v.Observables)
	require.Equal(t, []any{"bits.npy", "bits", 50}, []any{v.States, v.Format, v.BurnIn})
	require.Len(t, v.Ladder, 3)
	require.Nil(t, v.Ladder[2].Swaps)
	h, _ = readArray(t, filepath.Join(dir, "bits.npy"))
	require.Equal(t, npy.Header{Descr: "'<u8'", Shape: []int{3, 8, 100, 1}}, h)
	for k, beta := range []float64{0.1, 0.25, 0.4} {
		require.Equal(t, beta, v.Ladder[k].Beta)
		var sum float64
		for i := range 800 {
			sum += math.Float64frombits(binary.LittleEndian.Uint64(draws[24*(800*k+i):]))
		}
		require.InEpsilon(t, sum/800, v.Ladder[k].Observables[0].Mean, 1e-12)
	}

	// As a job it is the same.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.ndjson"),
		[]byte(`{"mcmc": "ising", "set": {"target.l": 3}, "chains": 8, "draws": 100, "ladder": "0.1:0.4:0.15", "out": "job.npy"}`), 0o600))
	var record struct{ Result mcmcResult }
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, "run", "jobs.ndjson", "--allow-outside").stdout), &record))
	require.Equal(t, v.Ladder[0].Observables[0].Mean, record.Result.Ladder[0].Observables[0].Mean)
	_, job := readArray(t, filepath.Join(dir, "job.npy"))
	require.Equal(t, draws, job)
}

func TestAutoSpacing(t *testing.T) {
	dir := t.TempDir()
	args := []string{"mcmc", "ising", "--set", "target.l=4", "--set", "target.beta=0.4", "--set", "target.h=0.1", "--chains", "16", "--draws", "100"}
	var v mcmcResult
	require.NoError(t, json.Unmarshal([]byte(ok(t, dir, append(args, "--spacing", "auto", "--json")...).stdout), &v))
	require.True(t, v.AutoSpacing)
	require.Greater(t, v.Spacing, 2)
	require.Less(t, v.Spacing, 100)
	require.Greater(t, v.BurnIn, 50*v.Spacing)
	for _, x := range v.Observables {
		require.Less(t, x.Time, 2.0)
	}
}

// What docs/trust.md has for ArviZ, word for word, with an arviz that looks at shapes.
func TestSnippetForArviZ(t *testing.T) {
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
	docs, err := os.ReadFile("../../docs/trust.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```python\n(import numpy as np, arviz as az\n.*?)```").FindStringSubmatch(string(docs))
	require.NotNil(t, found)
	snippet := found[1]

	dir := t.TempDir()
	var v mcmcResult
	o := ok(t, dir, "mcmc", "ising", "--set", "target.l=3", "--chains", "4", "--draws", "50", "-o", "draws.npy", "--states", "states.npy", "--json", "-q")
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
	means, told := make(map[string]float64), make(map[string][2]float64)
	for _, x := range v.Observables {
		means[x.Name], told[x.Name] = x.Mean, [2]float64{x.Mean, x.RHat}
	}
	want, err := json.Marshal(means)
	require.NoError(t, err)
	realArviZ(t, python, dir, snippet, told)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "arviz.py"), []byte(`
import sys, json
want = json.loads(sys.argv[1])

def from_dict(posterior):
    draws = dict(posterior)
    s = draws.pop("s")
    assert s.shape == (4, 50, 3, 3) and s.dtype == "int8", (s.shape, s.dtype)
    assert draws.keys() == want.keys(), (draws.keys(), want)
    for name, mean in want.items():
        assert draws[name].shape == (4, 50) and abs(draws[name].mean() - mean) < 1e-12, name
    m = draws["magnetisation"]
    assert len({tuple(c) for c in m}) == 4 and (abs(m) == draws["abs_magnetisation"]).all()
    assert abs(s.mean(axis=(2, 3)) - m).max() < 1e-12
    return draws

def summary(data):
    return "looked at %d variables" % len(data)
`), 0o600))
	cmd := exec.Command(python, "-c", snippet, string(want))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "looked at 3 variables\n", string(out))
}

// realArviZ gives the files in dir to ArviZ itself where that is installed: its means and
// its R̂ are those that mcmc told.
func realArviZ(t *testing.T, python, dir, snippet string, told map[string][2]float64) {
	t.Helper()
	version, err := exec.Command(python, "-c", "import arviz; print(arviz.__version__)").Output()
	if err != nil {
		t.Log("ArviZ is not installed: its place is taken by a stand-in alone")
		return
	}
	if major, _, _ := strings.Cut(string(version), "."); major != "0" {
		snippet = regexp.MustCompile(`data = .*# ArviZ 1\.0: (.*)`).ReplaceAllString(snippet, "data = $1")
	}
	want, err := json.Marshal(told)
	require.NoError(t, err)
	cmd := exec.Command(python, "-c", snippet+`
import sys, json
table = az.summary(data, round_to="none")
for name, (mean, r_hat) in json.loads(sys.argv[1]).items():
    for column, value in {"mean": mean, "r_hat": r_hat}.items():
        assert abs(float(table.loc[name, column]) - value) < 1e-9, (name, column, table.loc[name, column], value)
assert "s[2, 2]" in table.index, table.index
print("agreed")
`, string(want))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "agreed")
	t.Logf("ArviZ %s", strings.TrimSpace(string(version)))
}
