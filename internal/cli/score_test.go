package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scoresOf reads lines of scores.
func scoresOf(t *testing.T, text string) (all []map[string]float64) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		row := map[string]float64{}
		require.NoError(t, json.Unmarshal([]byte(line), &row), line)
		all = append(all, row)
	}
	return all
}

// The same states give the same scores however they come and go.
func TestScore(t *testing.T) {
	dir, run := t.TempDir(), trained(t)
	ok(t, dir, "sample", run, "-n", "3000", "-o", "spins.npy")
	ok(t, dir, "sample", run, "-n", "3000", "-f", "bits", "-o", "bits.npy")
	_, spins := readArray(t, filepath.Join(dir, "spins.npy"))
	_, bits := readArray(t, filepath.Join(dir, "bits.npy"))
	var lines strings.Builder
	var energies []float64
	for i := range 3000 {
		s := spins[9*i : 9*i+9]
		e := 0
		nested := [3][3]int{}
		for r := range 3 {
			for c := range 3 {
				nested[r][c] = int(int8(s[3*r+c]))
				e -= nested[r][c] * (int(int8(s[3*r+(c+1)%3])) + int(int8(s[(r+1)%3*3+c])))
			}
		}
		energies = append(energies, float64(e))
		line, _ := json.Marshal(nested)
		if i%2 == 0 {
			line = fmt.Appendf(nil, ` {"spins": %s}`, line)
		}
		fmt.Fprintf(&lines, "%s\n\n", line)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "states.ndjson"), []byte(lines.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bits.bin"), bits, 0o600))
	flat := strings.Replace(content(t, dir, "spins.npy"), "(3000, 3, 3), }", "(3000, 9), }   ", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flat.npy"), []byte(flat), 0o600))

	want := ok(t, dir, "score", "ising", "spins.npy", "-q", "--set", "target.beta=0.5").stdout
	rows := scoresOf(t, want)
	require.Len(t, rows, 3000)
	for i, row := range rows {
		m := 0.0
		for _, s := range spins[9*i : 9*i+9] {
			m += float64(int8(s)) / 9
		}
		require.Len(t, row, 4)
		require.Equal(t, energies[i], row["energy"])
		require.InDelta(t, -0.5*energies[i], row["log_density"], 1e-12)
		require.InDelta(t, m, row["magnetisation"], 1e-12)
		require.InDelta(t, math.Abs(m), row["abs_magnetisation"], 1e-12)
	}
	for _, args := range [][]string{
		{"bits.npy"}, {"flat.npy"}, {"states.ndjson"}, {"states.ndjson", "-t", "1"}, {"bits.bin", "--input", "raw", "-f", "bits"}, {"spins.npy", "--input", "npy", "-t", "3"},
	} {
		require.Equal(t, want, ok(t, dir, append([]string{"score", "ising", "-q", "--set", "target.beta=0.5"}, args...)...).stdout, args)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "ising"), 0o777)) // which is no run
	require.Equal(t, want, ok(t, dir, "score", "ising", "-q", "--set", "target.beta=0.5", "bits.npy").stdout)
	for file, more := range map[string][]string{"bits.npy": nil, "states.ndjson": nil, "bits.bin": {"--input", "raw", "-f", "bits"}} {
		args := append([]string{"score", "ising", "-q", "--set", "target.beta=0.5"}, more...)
		require.Equal(t, want, feed(t, dir, content(t, dir, file), args...).stdout, "stdin of %s", file)
	}

	// A table, and an array, of some of the columns.
	o := ok(t, dir, "score", "ising", "states.ndjson", "--columns", "abs_magnetisation,energy", "-o", "t.csv", "--json")
	require.Contains(t, o.stdout, `{"file":"t.csv","states":3000,"input":"ndjson","format":"spins","columns":["abs_magnetisation","energy"],`)
	require.Regexp(t, `^3000 states in .* states/s, .*B/s in, .*B/s out\n$`, o.stderr)
	rates := printedRates(t, o.stderr, "states/s", "B/s in", "B/s out")
	require.InEpsilon(t, float64(len(content(t, dir, "states.ndjson")))/3000*rates[0], rates[1], 0.02)
	require.InEpsilon(t, float64(len(content(t, dir, "t.csv")))/3000*rates[0], rates[2], 0.02)
	table, err := csv.NewReader(strings.NewReader(content(t, dir, "t.csv"))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"abs_magnetisation", "energy"}, table[0])
	for _, args := range [][]string{{"states.ndjson", "-o", "a.npy"}, {"bits.npy", "-o", "a.npy"}} {
		ok(t, dir, append([]string{"score", "ising", "--columns=abs_magnetisation,energy"}, args...)...)
		h, data := readArray(t, filepath.Join(dir, "a.npy"))
		require.Equal(t, "[('abs_magnetisation', '<f8'), ('energy', '<f8')]", h.Descr)
		require.Equal(t, []int{3000}, h.Shape)
		for i, row := range table[1:] {
			for k, text := range row {
				x, err := strconv.ParseFloat(text, 64)
				require.NoError(t, err)
				require.Equal(t, x, math.Float64frombits(binary.LittleEndian.Uint64(data[16*i+8*k:])))
			}
		}
	}
	require.Equal(t, "energy\n", feed(t, dir, "\n \n", "score", "ising", "--to", "csv", "--columns", "energy", "-q").stdout)
}

// The model's density is one: over all states it adds up to 1, at any temperature of
// the target, and the weights are the quotient.
func TestScoreModel(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "train", "ising", "--set", "target.l=4", "--set", "target.beta=0.3", "--set", "training.steps=20", "--set", "evaluation.samples=1000", "-o", "run", "--figures", "none")
	var all []byte
	for s := range 1 << 16 {
		all = binary.LittleEndian.AppendUint64(all, uint64(s))
	}
	o := feed(t, dir, string(all), "score", "ising", "--set", "target.l=4", "--set", "target.beta=0.4", "--model", "run", "--input", "raw", "-f", "bits", "-q", "--columns", "log_density,log_model,log_weight")
	require.Zero(t, o.code, o.stderr)
	var sum float64
	for _, row := range scoresOf(t, o.stdout) {
		sum += math.Exp(row["log_model"])
		require.InDelta(t, row["log_density"]-row["log_model"], row["log_weight"], 1e-9)
	}
	require.InDelta(t, 1, sum, 1e-5)

	o = revgen(t, dir, "score", "ising", "--model", "run", "x")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "--model: run is of states with dtype '|i1' and shape [4 4], and those of the target have '|i1' and [3 3]")
	o = feed(t, dir, "[1,1,1,1,1,1,1,1,1]", "score", "ising", "--model", trained(t))
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stderr, "the density of this generator is not known")
	require.NotContains(t, o.stdout, "log_model")
}

// Real vectors, modes beside them, graphs and targets of one's own are scored alike.
func TestScoreSystems(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "glass.txt"), []byte("3 2\n1 2 1\n2 3 -1\n"), 0o600))
	one := func(stdin string, args ...string) map[string]float64 {
		o := feed(t, dir, stdin, append([]string{"score", "-q"}, args...)...)
		require.Zero(t, o.code, "%v: %s", args, o.stderr)
		return scoresOf(t, o.stdout)[0]
	}
	require.Contains(t, one("[1,1,-1]", "glass.txt"), "energy")
	gmm := one("[0.5,-0.25]", "gmm")
	require.Equal(t, 0.5, gmm["x0"])
	require.InDelta(t, -gmm["energy"], gmm["log_density"], 1e-9)
	hybrid := one(`{"k":1,"x":0.25}`, "hybrid")
	require.Equal(t, []float64{0.25, 1, 0}, []float64{hybrid["x0"], hybrid["mode_weight_1"], hybrid["mode_weight_0"]})
	own := one("[3,4]\n[0,0]", "reals", "--set", "target.dim=2", "--set", "target.expression=-sum(x^2)/2", "--set", "target.parameters={}")
	require.InDelta(t, 12.5, own["energy"], 1e-5)
	require.InDelta(t, -12.5, own["log_density"], 1e-5)
	require.Equal(t, 4.0, own["x1"])
}

func TestScoreRefuses(t *testing.T) {
	dir := t.TempDir()
	good := "[1,1,1,1,1,1,1,1,1]\n"
	array := func(name, descr string, shape string, data int) {
		head := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s}", descr, map[bool]string{true: "True", false: "False"}[name == "fortran.npy"], shape)
		text := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
		text = append(append(text, head...), bytes.Repeat([]byte{1}, data)...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	array("type.npy", "'<f8'", "(2, 3, 3)", 144)
	array("weighted.npy", "[('spins', '|i1', (3, 3)), ('log_weight', '<f8')]", "(2,)", 34)
	array("shape.npy", "'|i1'", "(2, 10)", 20)
	array("fortran.npy", "'|i1'", "(2, 3, 3)", 18)
	array("short.npy", "'|i1'", "(2, 3, 3)", 17)
	array("long.npy", "'|i1'", "(2, 3, 3)", 19)
	array("zero.npy", "'|i1'", "(2, 3, 3)", 18)
	text := []byte(content(t, dir, "zero.npy"))
	text[len(text)-2] = 0
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zero.npy"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty.npy"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "odd.bin"), make([]byte, 19), 0o600))
	for _, c := range []struct {
		want, stdin string
		args        []string
	}{
		{"empty.npy: npy: not an .npy file: it ends before its header", "", []string{"empty.npy"}},
		{"--columns: names none of energy, log_density", good, []string{"--columns", ""}},
		{"--columns: names energy twice", good, []string{"--columns", "energy,log_density,energy"}},
		{"stdin: line 2: 8 numbers where 9 are needed", good + "[1,1,1,1,1,1,1,1]\n" + good, nil},
		{"stdin: line 3: spin 4 is 0 and neither −1 nor 1", good + "\n[1,1,1,1,0,1,1,1,1]\n", nil},
		{"stdin: line 1: number 8 is 128 and not a whole number of 8 bits", "[1,1,1,1,1,1,1,1,128]", nil},
		{"invalid character 'N'", "[NaN,1]", nil},
		{"stdin: line 1: number 1 is a string", `[1,"-1"]`, nil},
		{"stdin: line 2: nested too deep", good + strings.Repeat("[", 100), nil},
		{"stdin: line 1: longer than 67108864 bytes", strings.Repeat("[", 1<<26+10), nil},
		{"stdin: is neither a NumPy array nor lines of JSON", "spins", nil},
		{"stdin: line 1: byte 1: invalid character 's'", "spins", []string{"--input", "ndjson"}},
		{"stdin: npy: not an .npy file", good, []string{"--input", "npy"}},
		{"stdin: state 1: ends after 1 of its 9 bytes", strings.Repeat("\x01", 10), []string{"--input", "raw"}},
		{"odd.bin: 19 bytes are not a number of states of 9 bytes", "", []string{"odd.bin", "--input", "raw"}},
		{"type.npy: an array of dtype '<f8', but states are spins (dtype '|i1', shape (…, 3, 3)), bits (dtype '<u8', shape (…, 1)); numpy's astype converts", "", []string{"type.npy"}},
		{`weighted.npy: an array of dtype [('spins', '|i1', (3, 3)), ('log_weight', '<f8')], but states are spins (dtype '|i1', shape (…, 3, 3)), bits (dtype '<u8', shape (…, 1)); a field of a NumPy array d is an array by itself, d["NAME"]`, "", []string{"weighted.npy"}},
		{"shape.npy: an array of shape [2 10], but states are spins (dtype '|i1', shape (…, 3, 3))", "", []string{"shape.npy"}},
		{"fortran.npy: npy: arrays in Fortran order are not supported", "", []string{"fortran.npy"}},
		{"short.npy: truncated: its shape needs 18 bytes of data and it has 17", "", []string{"short.npy"}},
		{"long.npy: longer than it says", "", []string{"long.npy"}},
		{"stdin: state 1: truncated: there are to be 2 states", content(t, dir, "short.npy"), nil},
		{"stdin: state 2: there are to be 2 states, and more follows", content(t, dir, "long.npy"), nil},
		{"zero.npy: state 1: spin 7 is 0 and neither −1 nor 1", "", []string{"zero.npy"}},
		{"missing.npy: no such file", "", []string{"missing.npy"}},
		{".: is a directory", "", []string{"."}},
		{`format "x" is not one of spins`, good, []string{"-f", "x"}},
		{`--columns: "mass" is not one of energy, log_density`, good, []string{"--columns", "mass"}},
		{`"--to" flag: not one of ndjson, csv, npy`, good, []string{"--to", "xml"}},
		{`"--input" flag: not one of auto, ndjson, npy, raw`, good, []string{"--input", "xml"}},
		{"-o: a.csv: --to npy writes another kind of file", good, []string{"-o", "a.csv", "--to", "npy"}},
		{"-o: a.txt: a name that ends in .ndjson, .csv or .npy", good, []string{"-o", "a.txt"}},
		{"stdin: a NumPy array begins with the number of states, which a stream shows only at its end", good, []string{"-o", "a.npy"}},
		{"bits beyond the last of 9 spins are set in the configuration", strings.Repeat("\xff", 8), []string{"--input", "raw", "-f", "bits"}},
	} {
		o := feed(t, dir, c.stdin, append([]string{"score", "ising", "-q"}, c.args...)...)
		require.Equal(t, exitUsage, o.code, "%s: %s", c.want, o.stderr)
		require.Contains(t, o.stderr, c.want)
		require.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
		require.NoFileExists(t, filepath.Join(dir, "a.npy"))
	}
	// What came before a bad line was scored, and not put in a file.
	o := feed(t, dir, good+"[1]\n", "score", "ising")
	require.Len(t, scoresOf(t, o.stdout), 1)
	o = feed(t, dir, good+"[1]\n", "score", "ising", "-o", "x.csv")
	require.Equal(t, exitUsage, o.code)
	require.NoFileExists(t, filepath.Join(dir, "x.csv"))
	for _, c := range [][2]string{{"gmm", "'<f4'"}, {"hybrid", "[('x', '<f4'), ('k', '<i4')]"}} {
		shape := map[string]string{"gmm": "(1, 2)", "hybrid": "(1,)"}[c[0]]
		array("nan.npy", c[1], shape, 8)
		text := []byte(content(t, dir, "nan.npy"))
		copy(text[len(text)-8:], "\x00\x00\xc0\x7f")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "nan.npy"), text, 0o600))
		o := revgen(t, dir, "score", c[0], "nan.npy")
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, "nan.npy: state 0: coordinate 0 is NaN")
	}
}

// Who does not read ends it quietly, and a full disk with an error and without a file.
func TestScoreLostOutput(t *testing.T) {
	dir := t.TempDir()
	lines := strings.Repeat("[1,1,1,1,1,1,1,1,1]\n", 150_000)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.ndjson"), []byte(lines), 0o600))
	cmd := command(t, dir, "score", "ising", "s.ndjson", "-q")
	cmd.Stdout = closed(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, exitPipe, cmd.ProcessState.ExitCode())
	require.Empty(t, stderr.String())
	o := revgen(t, dir, "score", "ising", "s.ndjson", "-o", "/dev/full", "--to", "csv")
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "writing /dev/full: no space left on device")
	mountTmpfs(t, dir, "size=1m")
	for _, name := range []string{"mount/x.csv", "mount/x.npy"} {
		o = revgen(t, dir, "score", "ising", "s.ndjson", "-o", name)
		require.Equal(t, exitError, o.code, o.stderr)
		require.Contains(t, o.stderr, "mount/x")
		entries, err := os.ReadDir(filepath.Join(dir, "mount"))
		require.NoError(t, err)
		require.Empty(t, entries, "nothing half-written is left")
	}
}

// score is a job, which waits for the samples that it reads.
func TestScoreJob(t *testing.T) {
	dir, run := t.TempDir(), trained(t)
	list(t, dir,
		fmt.Sprintf(`{"sample":%q,"number":100,"id":"s","out":"s.npy"}`, run),
		`{"score":["ising","s.npy"],"id":"scores","columns":["energy"]}`,
		`{"score":["ising","s.npy"],"set":{"target.beta":0.1},"out":"t.csv"}`,
		`{"score":"ising","id":"no stdin"}`)
	o := revgen(t, dir, "run", "jobs.ndjson", "--allow-outside", "-q", "-t", "1")
	require.Equal(t, exitError, o.code, o.stderr)
	all := readRecords(t, o.stdout)
	require.Len(t, all, 4)
	require.Contains(t, string(all[1].Result), `"states":100`)
	require.Len(t, scoresOf(t, content(t, dir, "runs", "jobs", "scores.ndjson")), 100)
	require.Equal(t, 101, strings.Count(content(t, dir, "t.csv"), "\n"))
	require.Contains(t, all[3].Error, "a job of a batch has no stdin")
}

// Densities of generators of real vectors, of states with modes and of targets in
// coordinates of their own integrate to one over a grid.
func TestScoreDensitiesAreNormalised(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		train      []string
		dim, modes int
		center     float64
		half, step float64
	}{
		"gmm":    {[]string{"gmm"}, 2, 0, 0, 12, 0.1},
		"hybrid": {[]string{"hybrid"}, 1, 3, 0, 8, 0.01},
		"reals":  {[]string{"reals", "--set", "target.dim=1", "--set", "target.parameters={}", "--set", "target.expression=-(x[0]-20)^2/18", "--set", "target.center=[20]", "--set", "target.scale=[3]"}, 1, 0, 20, 40, 0.01},
		"mixed": {[]string{"mixed", "--set", "target.dim=1", "--set", "target.modes=2", "--set", "target.parameters={}", "--set", "target.expression=-(x[0]-4*k)^2/2",
			"--set", "target.center=[[0],[4]]", "--set", "target.scale=[[1],[2]]"}, 1, 2, 2, 40, 0.01},
	} {
		args := append(c.train, "--set", "training.steps=5", "--set", "training.batch=256", "--set", "evaluation.samples=1000", "--figures", "none", "--diagnose", "none", "-q", "-o", name)
		ok(t, dir, append([]string{"train"}, args...)...)
		var states []byte
		float := func(x float64) { states = binary.LittleEndian.AppendUint32(states, math.Float32bits(float32(x))) }
		for x := -c.half; x < c.half; x += c.step {
			switch {
			case c.dim == 2:
				for y := -c.half; y < c.half; y += c.step {
					float(x)
					float(y)
				}
			case c.modes > 0:
				for k := range c.modes {
					float(c.center + x)
					states = binary.LittleEndian.AppendUint32(states, uint32(k))
				}
			default:
				float(c.center + x)
			}
		}
		o := feed(t, dir, string(states), "score", name, "--model", name, "--input", "raw", "--columns", "log_model", "--to", "csv", "-q")
		require.Zero(t, o.code, o.stderr)
		var sum float64
		for _, line := range strings.Fields(o.stdout)[1:] {
			x, err := strconv.ParseFloat(line, 64)
			require.NoError(t, err)
			sum += math.Exp(x) * math.Pow(c.step, float64(c.dim))
		}
		require.InDelta(t, 1, sum, 2e-3, name)
	}
}
