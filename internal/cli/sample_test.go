package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/npy"
)

// readArray returns the header and data of a file.
func readArray(t *testing.T, path string) (npy.Header, []byte) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	h, err := npy.ReadHeader(file)
	require.NoError(t, err)
	data, err := io.ReadAll(file)
	require.NoError(t, err)
	size, err := h.Size()
	require.NoError(t, err)
	require.Len(t, data, int(size))
	return h, data
}

// printedRates returns what stands before each unit, which agrees with the number and the
// seconds at the line's begin.
func printedRates(t *testing.T, text string, units ...string) (all []float64) {
	t.Helper()
	var number, seconds float64
	line := text[strings.LastIndexByte(strings.TrimSpace(text), '\n')+1:]
	_, err := fmt.Sscanf(line, "%f "+strings.TrimSuffix(units[0], "/s")+" in %f s:", &number, &seconds)
	require.NoError(t, err, line)
	for _, unit := range units {
		m := regexp.MustCompile(`([0-9.]+) ?([kMG]?) ?` + unit).FindStringSubmatch(line)
		require.NotNil(t, m, line)
		x, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		all = append(all, x*map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[m[2]])
	}
	require.InDelta(t, number/all[0], seconds, 0.006+0.01*seconds) // seconds to a hundredth
	return all
}

func TestSample(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	o := ok(t, dir, "sample", run, "-n", "1e4", "-o", "spins.npy", "--first", "0")
	require.Contains(t, o.stderr, "10000 samples in ")
	rates := printedRates(t, o.stderr, "samples/s", "B/s")
	require.InEpsilon(t, 9*rates[0], rates[1], 0.02, "nine bytes each")
	h, spins := readArray(t, filepath.Join(dir, "spins.npy"))
	require.Equal(t, npy.Header{Descr: "'|i1'", Shape: []int{10000, 3, 3}}, h)

	ok(t, dir, "sample", filepath.Join(run, "model.rvg"), "-n", "10_000", "--first", "0", "-o", "bits.npy", "--format", "bits", "-q")
	h, bits := readArray(t, filepath.Join(dir, "bits.npy"))
	require.Equal(t, npy.Header{Descr: "'<u8'", Shape: []int{10000, 1}}, h)
	up := 0
	for i := range 10000 {
		word := binary.LittleEndian.Uint64(bits[8*i:])
		for site := range 9 {
			spin := int8(spins[9*i+site])
			require.Equal(t, int8(2*(word>>site&1))-1, spin, "sample %d, site %d", i, site)
			if spin > 0 {
				up++
			}
		}
		require.Zero(t, word>>9)
	}
	require.NotZero(t, up)
	require.NotEqual(t, 90000, up)

	// The samples that were measured are the first of the stream.
	_, measured := readArray(t, filepath.Join(run, "samples.npy"))
	require.Equal(t, spins[:len(measured)], measured)
	require.Contains(t, o.stderr, "the training run has used the first 2000 samples of seed 1; these start at number 0")

	// Unless asked for they are not repeated, and that is said.
	o = ok(t, dir, "sample", run, "-n", "3", "-o", "fresh.npy")
	require.Contains(t, o.stderr, "the training run has used the first 2000 samples of seed 1; these start at number 2000 ")
	_, fresh := readArray(t, filepath.Join(dir, "fresh.npy"))
	require.Equal(t, spins[9*2000:9*2003], fresh)
	o = ok(t, dir, "sample", run, "-n", "3", "-o", "fresh.npy", "--seed", "2")
	require.NotContains(t, o.stderr, "from number")

	// What made a file stands beside it, and beside samples.npy, and nothing else is
	// written over.
	for path, first := range map[string]uint64{filepath.Join(dir, "fresh.npy.json"): 0, filepath.Join(run, "samples.npy.json"): 0, filepath.Join(dir, "spins.npy.json"): 0} {
		var r sampleRecord
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &r))
		require.Equal(t, first, r.First)
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", r.Model)
		require.Equal(t, "Ising model on the periodic 3×3 lattice, J = 1, β = 0.2", r.Target)
		require.NotEmpty(t, r.Program+r.Machine+r.Date+r.Path+r.Format)
	}
	before := content(t, run, "config.json")
	ok(t, run, "sample", ".", "-n", "3", "-o", "config.npy")
	require.Equal(t, before, content(t, run, "config.json"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "taken.npy.json"), []byte("{}"), 0o600))
	other := revgen(t, dir, "sample", run, "-n", "3", "-o", "taken.npy")
	require.Equal(t, exitUsage, other.code)
	require.Contains(t, other.stderr, "taken.npy.json, where the record of taken.npy would go, is something else")

	// A record of the name that it once had counts.
	o = ok(t, dir, "sample", run, "-n", "2", "-o", "old.npy", "--first", "3000")
	old := filepath.Join(dir, "old")
	require.NoError(t, os.CopyFS(old, os.DirFS(run)))
	require.NoError(t, os.Remove(filepath.Join(old, "samples.npy.json")))
	require.NoError(t, os.Rename(filepath.Join(dir, "old.npy.json"), filepath.Join(old, "samples.json")))
	require.Contains(t, ok(t, dir, "sample", old, "-n", "1", "-o", "after.npy").stderr, "samples of seed 1; these start at number 3002 ")

	// One with another digit does not.
	damaged := strings.Replace(content(t, run, "samples.npy.json"), `"samples": 2000`, `"samples": 2001`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(run, "samples.npy.json"), []byte(damaged), 0o600))
	refused := revgen(t, dir, "sample", run, "-n", "1", "-o", "after.npy")
	require.Equal(t, exitError, refused.code)
	require.Contains(t, refused.stderr, "samples.npy.json: is no longer what was written")
	ok(t, dir, "sample", run, "-n", "1", "-o", "after.npy", "--first", "2000")
}

// TestRecordsNameModels: generators without parameters are told apart by their targets,
// in the records of train and sample and in kept diagnoses, and info gives the same hash.
func TestRecordsNameModels(t *testing.T) {
	dir := t.TempDir()
	record := func(path string) string {
		var r sampleRecord
		data, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &r))
		return r.Model
	}
	train := func(name, beta string) string {
		ok(t, dir, "train", "ising", "-o", name, "-q", "--preset", "quick", "--set", "target.l=2", "--set", "target.beta="+beta,
			"--set", "training.steps=0", "--set", "evaluation.samples=500", "--figures", "none")
		ok(t, dir, "sample", name, "-n", "3", "-o", "x.npy", "--seed", "7", "-q")
		var d runInfo
		require.NoError(t, json.Unmarshal([]byte(ok(t, dir, "info", name, "--json").stdout), &d))
		require.Zero(t, d.Parameters)
		require.Contains(t, ok(t, dir, "info", name).stdout, "0 parameters after 0 steps")
		require.Equal(t, d.Hash, record(name+"/samples.npy.json"), "of train")
		require.Equal(t, d.Hash, record("x.npy.json"), "of sample, with another seed")
		return d.Hash
	}
	warm := train("warm", "0.3")
	require.Equal(t, warm, train("again", "0.3"))
	require.NotEqual(t, warm, train("cold", "0.6"))

	ok(t, dir, "diagnose", "warm", "-n", "256", "--max-refine", "8", "-q")
	kept, err := readDiagnosis(filepath.Join(dir, "warm"), readModel(t, filepath.Join(dir, "warm")))
	require.NoError(t, err)
	require.NotNil(t, kept)
	require.NoError(t, os.Rename(filepath.Join(dir, "warm", "diagnosis.json"), filepath.Join(dir, "cold", "diagnosis.json")))
	kept, err = readDiagnosis(filepath.Join(dir, "cold"), readModel(t, filepath.Join(dir, "cold")))
	require.NoError(t, err)
	require.Nil(t, kept, "of another target")
}

func readModel(t *testing.T, path string) *run.Model {
	t.Helper()
	m, err := run.ReadModel(path)
	require.NoError(t, err)
	return m
}

// Parts, threads and the kind of output do not change a sample.
func TestSampleIsAFunctionOfItsIndex(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	const n = 1003
	for _, more := range [][]string{{}, {"--seed", "9"}, {"--refine", "3"}} {
		base := append([]string{"sample", run, "-q", "--first", "0", "-n", strconv.Itoa(n)}, more...)
		ok(t, dir, append(base, "-o", "whole.npy", "-t", "1")...)
		header, whole := readArray(t, filepath.Join(dir, "whole.npy"))
		require.Equal(t, n, header.Shape[0])
		for _, parts := range []int{1, 3, 7} {
			var joined []byte
			for i := range parts {
				ok(t, dir, append(base, "-o", "part.npy", "-t", "2", "--shard", fmt.Sprintf("%d/%d", i, parts))...)
				_, part := readArray(t, filepath.Join(dir, "part.npy"))
				joined = append(joined, part...)
			}
			require.True(t, bytes.Equal(whole, joined), "%v in %d parts", more, parts)
		}
		o := ok(t, dir, append(base, "-o", "-")...)
		file, err := os.ReadFile(filepath.Join(dir, "whole.npy"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(file, []byte(o.stdout)), "stdout")
		_, first := readArray(t, filepath.Join(run, "samples.npy"))
		require.Equal(t, len(more) == 0, bytes.Equal(whole, first[:len(whole)]), "%v", more)
	}
}

// TestSampleExact: parts, threads and formats do not change a draw, and what they are
// worth is said.
func TestSampleExact(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "train", "ising", "-o", "run", "-q", "--figures", "none", "--preset", "quick", "--set", "target.l=4",
		"--set", "target.beta=0.3", "--set", "training.steps=5", "--set", "evaluation.samples=1000")
	const n, first = 1003, engine.ExactDraws - 500
	base := []string{"sample", "run", "--exact", "--first", strconv.Itoa(first), "-n", strconv.Itoa(n)}
	o := ok(t, dir, append(base, "-o", "whole.npy", "-t", "1")...)
	require.Regexp(t, `exact draws: [0-9.]+ % of the proposals accepted, τ_int at least [0-9.]+ draws`, o.stderr, "a run of 21 of 1003 makes more than a tenth of Σℓ²")
	_, whole := readArray(t, filepath.Join(dir, "whole.npy"))
	for _, parts := range []int{1, 3} {
		var joined []byte
		for i := range parts {
			ok(t, dir, append(base, "-o", "part.npy", "-t", "2", "--shard", fmt.Sprintf("%d/%d", i, parts))...)
			_, part := readArray(t, filepath.Join(dir, "part.npy"))
			joined = append(joined, part...)
		}
		require.True(t, bytes.Equal(whole, joined), "in %d parts", parts)
	}
	var r sampleRecord
	data, err := os.ReadFile(filepath.Join(dir, "whole.npy.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	require.Less(t, r.Exact.Acceptance, 1.0)
	require.Greater(t, r.Exact.Time, 1.0)
	require.Less(t, r.Exact.Weights.EffectiveSize, 1.0)

	// Chains that begin among the measured samples are left out.
	o = ok(t, dir, "sample", "run", "--exact", "-n", "3", "-o", "x.npy", "--json")
	require.Contains(t, o.stderr, "samples of seed 1; these start at number 61440 ")
	require.Contains(t, o.stdout, `"autocorrelation_time":`)

	for message, args := range map[string][]string{
		"--refine: exact draws need no refinement": {"run", "--refine", "2"},
		"--format: exact draws have no weights":    {"run", "-f", "weighted"},
		"--exact: the density of this generator":   {trained(t)},
		"leave out one of --weights and --format":  {"run", "-f", "bits", "--weights"},
	} {
		o := revgen(t, dir, slices.Concat([]string{"sample", "--exact", "-n", "3", "-o", "y.npy"}, args)...)
		require.Equal(t, exitUsage, o.code)
		require.Contains(t, o.stderr, message)
	}
}

func TestSampleJSON(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	o := ok(t, dir, "sample", run, "-n", "10", "-o", "x.npy", "--shard", "1/3", "--json", "-q")
	var got struct {
		File, Format                 string
		Seed, First, Samples, Refine int
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &got))
	require.Equal(t, "x.npy spins 1 2004 3 0", fmt.Sprint(got.File, " ", got.Format, " ", got.Seed, " ", got.First, " ", got.Samples, " ", got.Refine))
}

// TestWeightsAreOfADensity: that nobody knows of refined samples, and of a perceptron's.
func TestWeightsAreOfADensity(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "train", "ising", "--preset", "best", "-s", "target.l=4", "-s", "training.steps=2", "-s", "evaluation.samples=500", "-o", "dense", "--diagnose", "none")
	for want, args := range map[string][]string{
		"--refine: the density of refined samples is not known, and neither are their weights": {"dense", "--refine", "3"},
		"--weights: the density of this generator is not known":                                {trained(t)},
	} {
		o := revgen(t, dir, append([]string{"sample", "-n", "10", "-o", "x.npy", "--weights"}, args...)...)
		require.Equal(t, exitUsage, o.code, o.stderr)
		require.Contains(t, o.stderr, want)
	}
}

func TestSampleErrors(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "-n: say how many samples", []string{run, "-o", "x.npy"}},
		{exitUsage, "-o: say where to write", []string{run, "-n", "10"}},
		{exitUsage, `--format: "csv" is not one of [spins bits]; --format ? describes them`, []string{run, "-n", "10", "-o", "x.npy", "--format", "csv"}},
		{exitUsage, "--number: samples 999999002000 to 1000000001999 are not all among the", []string{run, "-n", "1e12", "-o", "x.npy", "--refine", "1", "--shard", "999999/1000000"}},
		{exitUsage, "--refine: 2000000000 is not between 0 and ", []string{run, "-n", "10", "-o", "x.npy", "--refine", "2000000000"}},
		{exitError, "no such file or directory", []string{"none", "-n", "10", "-o", "x.npy"}},
		{exitError, "no such file or directory", []string{dir, "-n", "10", "-o", "x.npy"}},
		{exitError, "writing none/x.npy: no such file or directory", []string{run, "-n", "10", "-o", "none/x.npy"}},
		{exitError, "is a directory", []string{run, "-n", "10", "-o", dir}},
		{exitUsage, "-o: x.csv: what is written is a NumPy array, and no .csv file; let the name end in .npy", []string{run, "-n", "10", "-o", "x.csv"}},
		{exitUsage, "-o: part-0.bits: what is written is a NumPy array, and no .bits file", []string{run, "-n", "10", "-f", "bits", "--shard", "0/2", "-o", "part-%t.bits"}},
	} {
		o := revgen(t, dir, append([]string{"sample"}, c.args...)...)
		require.Equal(t, c.code, o.code, "%v: %s", c.args, o.stderr)
		require.Contains(t, o.stderr, c.want)
		require.Empty(t, o.stdout)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries, "%v leaves nothing", c.args)
	}
	o := ok(t, dir, "sample", run, "--format", "?")
	require.Regexp(t, "(?m)^spins +dtype '\\|i1', shape \\[3 3\\]: ", o.stdout)
	require.Regexp(t, "(?m)^bits +dtype '<u8', shape \\[1\\]: ", o.stdout)

	// The null device takes samples and stays a device.
	ok(t, dir, "sample", run, "-n", "1000", "-o", os.DevNull)
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular())
}

func TestSampleInterrupted(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	cmd := command(t, dir, "sample", run, "-n", "1e8", "--refine", "64", "-o", "x.npy", "-q")
	require.NoError(t, cmd.Start())
	waitFor(t, func() bool { // the temporary file has begun to grow
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		if len(entries) == 0 {
			return false
		}
		info, err := entries[0].Info()
		return err == nil && info.Size() > 1000
	})
	interrupt := os.Interrupt
	if signal.Ignored(interrupt) { // as in a shell's background, and in its children
		interrupt = syscall.SIGTERM
	}
	require.NoError(t, cmd.Process.Signal(interrupt))
	require.Error(t, cmd.Wait())
	require.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "no part of the file is left")
}
