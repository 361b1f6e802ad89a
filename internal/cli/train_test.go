package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
)

// results are what a run computed, without the times.
type results struct {
	params  []float32
	samples []byte
	metrics []engine.Record
	table   []measure.Metric
}

func readResults(t *testing.T, dir string) results {
	t.Helper()
	var r results
	model, err := run.ReadModel(dir)
	require.NoError(t, err)
	r.params = model.Params
	r.samples, err = os.ReadFile(filepath.Join(dir, "samples.npy"))
	require.NoError(t, err)
	lines, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(lines)) {
		var record engine.Record
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		record.Seconds = 0
		r.metrics = append(r.metrics, record)
	}
	evaluation, err := readSummary(dir)
	require.NoError(t, err)
	r.table = evaluation.Metrics
	return r
}

func TestTrain(t *testing.T) {
	dir := t.TempDir()
	o := ok(t, dir, tiny("run", "--figures", "all")...)
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	require.Len(t, lines, 8, o.stdout)
	for _, word := range []string{"metric", "exact", "generated", "error", "95 % interval", "sampling floor", "paper"} {
		require.Contains(t, lines[0], word)
	}
	for i, name := range []string{"energy", "abs magnetisation", "specific heat", "susceptibility", "total variation", "KL to target"} {
		require.True(t, strings.HasPrefix(lines[i+2], name), lines[i+2])
	}
	require.Contains(t, o.stderr, "steps 60/60  loss ")
	for _, name := range []string{"config.json", "metrics.jsonl", "status.json", "model.rvg", "checkpoint.rvg", "checkpoint.prev.rvg", "summary.json", "samples.npy", "figures/distributions.svg", "figures/training.png"} {
		require.FileExists(t, filepath.Join(dir, "run", name))
	}
	r := readResults(t, filepath.Join(dir, "run"))
	require.Len(t, r.metrics, 12)
	require.Len(t, r.samples, 128+2000*9)

	// The configuration that a run leaves repeats it.
	ok(t, dir, "train", "run/config.json", "-o", "again", "--quiet")
	require.Equal(t, r, readResults(t, filepath.Join(dir, "again")))

	// A finished run is not trained again, but measured and reported.
	before, err := os.ReadFile(filepath.Join(dir, "run", "checkpoint.rvg"))
	require.NoError(t, err)
	again := ok(t, dir, tiny("run", "--figures", "all")...)
	require.Equal(t, o.stdout, again.stdout)
	require.Contains(t, again.stderr, "this run is complete: measuring it again")
	after, err := os.ReadFile(filepath.Join(dir, "run", "checkpoint.rvg"))
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestTrainToInfinity trains for so cold a target that float64 has no weight
// for what the generator draws: its divergence is infinite, and everything else
// is as usual.
func TestTrainToInfinity(t *testing.T) {
	dir := t.TempDir()
	o := ok(t, dir, tiny("run", "--set", "target.beta=30", "--set", "evaluation.every=20", "--figures", "all")...)
	require.Contains(t, o.stdout, "+Inf")
	for _, name := range []string{"summary.json", "samples.npy", "figures/distributions.svg", "figures/training.png"} {
		require.FileExists(t, filepath.Join(dir, "run", name))
	}
	r := readResults(t, filepath.Join(dir, "run"))
	kl := r.table[len(r.table)-1]
	require.Equal(t, "kl_to_target", kl.Name)
	require.True(t, math.IsInf(kl.Error, 1) && math.IsInf(kl.Interval[0], 1), "%+v", kl)
	require.True(t, kl.Floor > 0 && kl.Floor < 1, "%+v", kl)
	require.True(t, math.IsInf(r.metrics[3].Errors[5].Error, 1), "that of step 20")
	require.Contains(t, ok(t, dir, "info", "run").stdout, "+Inf")
	require.Contains(t, revgen(t, dir, "verify", "run").stdout, "ok    ising    model.summary")
}

func TestTrainJSON(t *testing.T) {
	dir := t.TempDir()
	o := ok(t, dir, tiny("run", "--json", "--quiet", "--seed", "18446744073709551615", "--samples", "10", "-t", "1")...)
	require.Empty(t, o.stderr)
	var summary struct {
		Schema, Steps, Samples, Threads int
		System, Preset, Path, Directory string
		Seed                            json.Number
		Metrics                         []measure.Metric
		SamplesFile                     string `json:"samples_file"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &summary))
	require.Equal(t, 1, strings.Count(o.stdout, "\n"), "one object on one line")
	require.Equal(t, "18446744073709551615", summary.Seed.String())
	require.Equal(t, []int{2, 60, 2000, 1}, []int{summary.Schema, summary.Steps, summary.Samples, summary.Threads})
	require.Equal(t, []string{"ising", "paper", "run", "run/samples.npy"}, []string{summary.System, summary.Preset, summary.Directory, summary.SamplesFile})
	require.Len(t, summary.Metrics, 6)
	info, err := os.Stat(filepath.Join(dir, summary.SamplesFile))
	require.NoError(t, err)
	require.EqualValues(t, 128+10*9, info.Size())
}

// A diagnosis that is not wanted is left out, and its judgement cannot be asked for.
func TestTrainWithoutDiagnosis(t *testing.T) {
	dir := t.TempDir()
	for choice, want := range map[string]bool{"none": false, "brief": true} {
		o := ok(t, dir, tiny(choice, "--json", "--diagnose", choice)...)
		var summary map[string]any
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &summary))
		require.NotEmpty(t, summary["metrics"])
		require.Equal(t, want, summary["diagnosis"] != nil, choice)
	}
	require.Equal(t, content(t, dir, "none", "model.rvg"), content(t, dir, "brief", "model.rvg"))
	for _, args := range [][]string{{"--diagnose", "no"}, {"--diagnose", "none", "--strict"}} {
		o := revgen(t, dir, tiny("x", args...)...)
		require.Equal(t, exitUsage, o.code)
		require.Regexp(t, "^revgen: (invalid argument \"no\" for \"--diagnose\" flag: not one of brief, none|--strict judges by the diagnosis)", o.stderr)
	}
	require.NoDirExists(t, filepath.Join(dir, "x"))
}

func TestTrainDefaultDirectory(t *testing.T) {
	dir := t.TempDir()
	short := []string{"train", "--set", "training.steps=1", "--set", "training.batch=64", "--set", "evaluation.samples=10"}
	ok(t, dir, short...)
	ok(t, dir, short...)
	ok(t, dir, append(short, "--seed", "2")...)
	ok(t, dir, append(short, "--set", "target.beta=0.3", "--samples", "0")...)
	runs, err := os.ReadDir(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	var names []string
	for _, r := range runs {
		names = append(names, r.Name())
	}
	require.Len(t, names, 3, "the same command continues its run, another starts its own")
	require.Regexp(t, `^ising-quick-seed1-[0-9a-f]{8}$`, names[0])
	require.Regexp(t, `^ising-quick-seed2-[0-9a-f]{8}$`, names[2])

	cfg, err := source{preset: "paper"}.load(t.Context(), systems)
	require.NoError(t, err)
	require.True(t, cfg.isPreset())
	name, err := defaultDir(cfg)
	require.NoError(t, err)
	require.Equal(t, filepath.Join("runs", "ising-paper-seed1"), name)
}

func TestResume(t *testing.T) {
	dir := t.TempDir()
	o := revgen(t, dir, tiny("run", "--resume", "must")...)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "holds no run to resume")
	ok(t, dir, tiny("run", "--resume", "never")...)
	o = revgen(t, dir, tiny("run", "--resume", "never")...)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "holds a run already")
	ok(t, dir, tiny("run", "--resume", "must")...)
	o = revgen(t, dir, tiny("run", "--resume", "maybe")...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, `invalid argument "maybe" for "--resume" flag: not one of auto, never, must`)

	// What does not change what is computed may change.
	ok(t, dir, tiny("run", "--set", "training.log_every=7")...)
	checkpoint, err := os.ReadFile(filepath.Join(dir, "run", "checkpoint.rvg"))
	require.NoError(t, err)
	o = revgen(t, dir, tiny("run", "--set", "training.batch=128")...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "training.batch is 64 there and 128 here")
	same, err := os.ReadFile(filepath.Join(dir, "run", "checkpoint.rvg"))
	require.NoError(t, err)
	require.Equal(t, checkpoint, same)
}

// A run that a signal stops, at any step and with any number of threads, and
// that is continued, ends with the bits of one that nothing stopped.
func TestSignalsStopAndResume(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, tiny("whole", "--threads", "1")...)
	want := readResults(t, filepath.Join(dir, "whole"))
	ok(t, dir, tiny("two", "--threads", "2")...)
	require.Equal(t, want, readResults(t, filepath.Join(dir, "two")), "1 and 2 threads")

	for i, c := range []struct {
		signal         syscall.Signal
		name           string
		step           int
		threads, after string
	}{
		{syscall.SIGTERM, "SIGTERM", 1, "1", "1"},
		{syscall.SIGTERM, "SIGTERM", 20, "2", "1"}, // where a checkpoint is due as well
		{syscall.SIGINT, "SIGINT", 33, "2", "2"},
		{syscall.SIGUSR1, "SIGUSR1", 47, "1", "2"},
		{syscall.SIGHUP, "SIGHUP", 59, "2", "2"},
	} {
		if signal.Ignored(c.signal) {
			continue // the tests were started under nohup
		}
		run := fmt.Sprintf("run%d", i)
		cmd := command(t, dir, tiny(run, "--threads", c.threads)...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, c.signal), fmt.Sprintf("%s=%d", envAtStep, c.step))
		o := finish(t, cmd)
		require.Equal(t, exitStopped, o.code, o.stderr)
		require.Contains(t, o.stderr, fmt.Sprintf("revgen: %s: stopped at step %d of 60; the same command continues from %s\n", c.name, c.step, run))
		require.Empty(t, o.stdout)
		s, err := readStatus(filepath.Join(dir, run))
		require.NoError(t, err)
		require.Equal(t, []any{"stopped", c.step, 60, c.step}, []any{s.State, s.Step, s.Steps, s.Checkpoint})
		require.NoFileExists(t, filepath.Join(dir, run, "model.rvg"))

		o = ok(t, dir, tiny(run, "--threads", c.after)...)
		require.Contains(t, o.stderr, fmt.Sprintf("continuing from step %d\n", c.step))
		require.Equal(t, want, readResults(t, filepath.Join(dir, run)), "%+v", c)
	}
}

// The last checkpoint is enough, whatever ended the process.
func TestKilledAndResumed(t *testing.T) {
	dir := t.TempDir()
	want := readResults(t, trained(t))
	for _, step := range []int{7, 20, 21, 45} {
		run := fmt.Sprintf("run%d", step)
		cmd := command(t, dir, tiny(run)...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGKILL), fmt.Sprintf("%s=%d", envAtStep, step))
		o := finish(t, cmd)
		require.Equal(t, -1, o.code, "killed")
		ok(t, dir, tiny(run)...)
		require.Equal(t, want, readResults(t, filepath.Join(dir, run)), "killed at step %d", step)
	}
}

func TestSignalWhileMeasuring(t *testing.T) {
	dir := t.TempDir()
	cmd := command(t, dir, tiny("run")...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=0")
	o := finish(t, cmd)
	require.Equal(t, exitStopped, o.code, o.stderr)
	ok(t, dir, tiny("run")...)
	require.Equal(t, readResults(t, trained(t)), readResults(t, filepath.Join(dir, "run")))
}

// A batch system sends a request more than once; a user who sends it again
// after a second means it.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	cmd := command(t, dir, tiny("run")...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30", envAgain+"=1ms")
	o := finish(t, cmd)
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, o.stderr, "SIGTERM: stopped at step 30 of 60; the same command continues from run\n")

	cmd = command(t, dir, tiny("other")...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30", envAgain+"=1100ms", envStuck+"=1")
	o = finish(t, cmd)
	require.Equal(t, 128+int(syscall.SIGTERM), o.code, o.stderr)
	require.Contains(t, o.stderr, "SIGTERM again: quitting")
	ok(t, dir, tiny("other")...)
}

func TestMaxTime(t *testing.T) {
	dir := t.TempDir()
	o := revgen(t, dir, tiny("run", "--max-time", "1ns", "--json")...)
	require.Equal(t, exitStopped, o.code)
	var e struct {
		Error string
		Exit  int
	}
	last := o.stderr[strings.LastIndex(strings.TrimSpace(o.stderr), "\n")+1:]
	require.NoError(t, json.Unmarshal([]byte(last), &e), o.stderr)
	require.Equal(t, exitStopped, e.Exit)
	require.Equal(t, "--max-time 1ns: stopped at step 0 of 60; the same command continues from run", e.Error)
	require.Empty(t, o.stdout)
	ok(t, dir, tiny("run", "--max-time", "1-00:00:00")...)
}

// A number of evaluations ends a run as a time does, from its look at the target on, and
// they are told of wherever the run is.
func TestMaxEvaluations(t *testing.T) {
	args := func(dir string, more ...string) []string {
		return append([]string{"train", "reals", "-o", dir, "--figures", "none", "--samples", "0", "-s", "training.steps=40", "-s", "training.batch=64",
			"-s", "evaluation.samples=300", "-s", "generator.scout.population=128"}, more...)
	}
	dir := t.TempDir()
	o := ok(t, dir, args("whole")...)
	require.Regexp(t, `steps 40/40  loss \S+  acceptance \S+  \S+k evaluations  `, o.stderr)
	require.Regexp(t, `evaluations of ln π: \S+ \(first look \S+, training \S+, table \S+, diagnosis \S+\)`, o.stderr)
	var summary struct{ Evaluations engine.Evaluations }
	require.NoError(t, json.Unmarshal([]byte(content(t, dir, "whole", "summary.json")), &summary))
	spent := summary.Evaluations
	for _, n := range []int64{spent.Look, spent.Training, spent.Table, spent.Diagnosis} {
		require.Positive(t, n)
	}
	for most, at := range map[int64]string{spent.Look / 4: "stopped before the first step", spent.Look + spent.Training/2: `stopped at step [12]\d of 40`} {
		name, limit := fmt.Sprint("run", most), fmt.Sprint(most)
		for range 2 {
			o = revgen(t, dir, args(name, "--max-evaluations", limit)...)
			require.Equal(t, exitStopped, o.code, o.stderr)
			require.Regexp(t, "--max-evaluations "+limit+` \(raise it to go on\): `+at, o.stderr)
		}
		require.Contains(t, content(t, dir, name, "status.json"), `"evaluations": {`)
		ok(t, dir, args(name, "--max-evaluations", fmt.Sprint(10*spent.Total()))...)
		require.Equal(t, content(t, dir, "whole", "model.rvg"), content(t, dir, name, "model.rvg"))
	}
	o = revgen(t, dir, tiny("other", "--max-evaluations", "5")...)
	require.Equal(t, exitError, o.code, o.stderr)
	require.Contains(t, o.stderr, "max-evaluations: evaluations of ising are not counted; those of reals, mixed and targets in Go are")
}

func TestNonFiniteNumbersStopTraining(t *testing.T) {
	o := revgen(t, t.TempDir(), "train", "toy", "-o", "run", "--set", "non_finite_at=7")
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "revgen: step 7: the loss is not finite")
	o = ok(t, t.TempDir(), "train", "toy", "-o", "run")
	require.Empty(t, o.stdout, "a system that cannot be measured has no table")
}

// Damaged files are refused, by name, and left as they are.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, tiny("run")...)
	for _, name := range []string{"model.rvg", "checkpoint.rvg"} {
		path := filepath.Join(dir, "run", name)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		refused := func(data []byte, what string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, data, 0o600))
			args := []string{"sample", "run", "-n", "10", "-o", "x.npy"}
			if name == "checkpoint.rvg" {
				args = tiny("run")
			}
			o := revgen(t, dir, args...)
			require.Equal(t, exitError, o.code, "%s %s: %s", name, what, o.stderr)
			require.Contains(t, o.stderr, "run/"+name+": ", what)
			if name == "checkpoint.rvg" {
				require.Contains(t, o.stderr, "checkpoint.prev.rvg, of step 40, is intact", what)
			}
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, data, left)
			require.NoFileExists(t, filepath.Join(dir, "x.npy"))
		}
		for _, n := range []int{0, 5, 8, 20, 48, len(whole) / 2, len(whole) - 1} {
			refused(whole[:n], fmt.Sprintf("cut to %d bytes", n))
		}
		for _, at := range []int{0, 7, 9, 16, 100, len(whole) / 2, len(whole) - 33, len(whole) - 1} {
			flipped := bytes.Clone(whole)
			flipped[at] ^= 0x10
			refused(flipped, fmt.Sprintf("bit of byte %d", at))
		}
		refused(append(bytes.Clone(whole), 0), "a byte more")
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
	// A whole file with a configuration that cannot be used.
	whole, err := os.ReadFile(filepath.Join(dir, "run", "model.rvg"))
	require.NoError(t, err)
	batch := regexp.MustCompile(`"batch":\d`).FindIndex(whole)
	whole[batch[1]-1] = '-'
	sum := sha256.Sum256(whole[:len(whole)-sha256.Size])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "negative.rvg"), append(whole[:len(whole)-sha256.Size], sum[:]...), 0o600))
	for _, args := range [][]string{{"sample", "negative.rvg", "-n", "10", "-o", "x.npy"}, {"verify", "negative.rvg"}} {
		o := revgen(t, dir, args...)
		require.Equal(t, exitError, o.code, o.stderr)
		require.Regexp(t, `negative\.rvg: its configuration: training\.batch: -\d* is not`, o.stderr)
	}

	// A checkpoint is no model, nor is text.
	o := revgen(t, dir, "sample", "run/checkpoint.rvg", "-n", "10", "-o", "x.npy")
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "holds a checkpoint, not a model")
	o = revgen(t, dir, "sample", "run/config.json", "-n", "10", "-o", "x.npy")
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "not a RevGen model file")

	// The predecessor is what the message says it is.
	require.NoError(t, os.Rename(filepath.Join(dir, "run", "checkpoint.prev.rvg"), filepath.Join(dir, "run", "checkpoint.rvg")))
	ok(t, dir, "train", "run/config.json", "-o", "whole")
	ok(t, dir, tiny("run")...)
	require.Equal(t, readResults(t, filepath.Join(dir, "whole")), readResults(t, filepath.Join(dir, "run")))
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	o := revgen(t, dir, tiny("file/run")...)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "run directory file/run: not a directory")
	o = revgen(t, dir, tiny("file")...)
	require.Equal(t, exitError, o.code)

	t.Run("read-only", func(t *testing.T) {
		if os.Getuid() == 0 {
			mountTmpfs(t, dir, "ro")
		} else {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "mount"), 0o500))
		}
		o = revgen(t, dir, tiny("mount/run")...)
		require.Equal(t, exitError, o.code)
		require.Regexp(t, "mount/run: (read-only file system|permission denied)", o.stderr)
		run := filepath.Join(dir, "run")
		ok(t, dir, tiny(run)...)
		o = revgen(t, dir, "sample", run, "-n", "10", "-o", "mount/x.npy")
		require.Equal(t, exitError, o.code)
		require.Regexp(t, "writing mount/x.npy: (read-only file system|permission denied)", o.stderr)
	})
}

// A full disk, a quota or a limit ends the run with the earlier checkpoint
// intact, and with nothing half-written.
func TestNoSpaceLeft(t *testing.T) {
	dir := t.TempDir()
	want := readResults(t, trained(t))

	// stopped leaves a run at step 30 and returns its files.
	stopped := func(t *testing.T, run string) map[string]string {
		cmd := command(t, dir, tiny(run)...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30")
		require.Equal(t, exitStopped, finish(t, cmd).code)
		return contents(t, filepath.Join(dir, run))
	}
	// unharmed continues the run that o failed to.
	unharmed := func(t *testing.T, run string, before map[string]string, o outcome, message string) {
		require.Equal(t, exitError, o.code, o.stderr)
		require.Contains(t, o.stderr, message)
		after := contents(t, filepath.Join(dir, run))
		require.Equal(t, before["checkpoint.rvg"], after["checkpoint.rvg"])
		require.Equal(t, before["config.json"], after["config.json"])
		for name := range after {
			require.Contains(t, before, name, "nothing half-written is left")
		}
		ok(t, dir, tiny(run)...)
		require.Equal(t, want, readResults(t, filepath.Join(dir, run)))
	}

	t.Run("limit", func(t *testing.T) {
		before := stopped(t, "limited")
		cmd := command(t, dir, tiny("limited")...)
		cmd.Args = append([]string{"sh", "-c", `ulimit -f 4 && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		var err error
		cmd.Path, err = exec.LookPath("sh")
		require.NoError(t, err)
		unharmed(t, "limited", before, finish(t, cmd), "file too large")
	})

	t.Run("disk", func(t *testing.T) {
		mountTmpfs(t, dir, "size=4m")
		run := filepath.Join("mount", "run")
		before := stopped(t, run)
		filler := filepath.Join(dir, "mount", "filler")
		fill(t, filler)
		o := revgen(t, dir, tiny(run)...)
		require.NoError(t, os.Remove(filler))
		unharmed(t, run, before, o, "no space left on device")

		o = revgen(t, dir, "sample", run, "-n", "1e6", "-o", "mount/x.npy")
		require.Equal(t, exitError, o.code)
		require.Contains(t, o.stderr, "writing mount/x.npy: no space left on device")
		entries, err := os.ReadDir(filepath.Join(dir, "mount"))
		require.NoError(t, err)
		require.Len(t, entries, 1, "no part of the file is left")
	})
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, fillDisk(path))
}

func fillDisk(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for size := 1 << 16; size > 0; {
		if n, err := file.Write(make([]byte, size)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				return err
			}
			size = min(n, size/2)
		}
	}
	return nil
}

// contents returns the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[entry.Name()] = string(data)
		return err
	}))
	return files
}

// TestTargetFile: a graph is told from a configuration by its content, and what is
// wrong with it by file and line.
func TestTargetFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file("glass.txt", "3 3\n1 2 1\n2 3 1\n1 3 -1\n")
	args := []string{"train", "glass.txt", "--set", "target.beta=0.5", "--set", "training.steps=2", "--set", "evaluation.samples=500", "-o", "run"}
	o := ok(t, dir, args...)
	require.Contains(t, o.stderr, "target: glass.txt (rudy: spins s = ±1 numbered from 1, Max-Cut, E = +Σ w s s, so J = −w): 3 spins")
	require.Contains(t, o.stdout, "effective sample size")
	require.Contains(t, ok(t, dir, args...).stderr, "this run is complete")
	require.NoError(t, os.Rename(filepath.Join(dir, "glass.txt"), filepath.Join(dir, "moved.txt")))
	ok(t, dir, "verify", "run")
	ok(t, dir, "sample", "run", "-n", "10", "--format", "weighted", "-o", "s.npy")
	ok(t, dir, "sample", "run", "-n", "10", "--weights", "-o", "w.npy")
	both := [2][]byte{}
	for i, name := range []string{"s.npy", "w.npy"} {
		var err error
		both[i], err = os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	require.Equal(t, both[0], both[1])
	args[1] = "moved.txt"
	require.Contains(t, ok(t, dir, args...).stderr, "this run is complete", "the same graph under another name")
	file("moved.txt", "3 3\n1 2 1\n2 3 1\n1 3 1\n")
	o = revgen(t, dir, args...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "written by another configuration: target.edges is [[0,1,-1],[0,2,1],[1,2,-1]] there and [[0,1,-1],[0,2,-1],[1,2,-1]] here")

	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.txt"), 0o600))
	for text, want := range map[string]string{
		"2 1\n1 1 1\n": "target.file: bad.txt:2: spin 1 is coupled to itself", "2 1\n1 3 1\n": "bad.txt:2: there is no spin 3",
		"2 2\n1 2 1\n2 1 1\n": "bad.txt:3: spins 2 and 1 are coupled for the second time, first in line 2", "100000000000 1\n1 2 1\n": "bad.txt:1: the number of spins",
		"": "is empty", "hello\n": `bad.txt: unknown kind of file (it begins with "hello")`, "0 1 1\n": "set vartype to spin or binary",
	} {
		file("bad.txt", text)
		o := revgen(t, dir, "train", "bad.txt")
		require.Equal(t, exitUsage, o.code, text)
		require.Contains(t, o.stderr, want, text)
	}
	for _, name := range []string{"./pipe.txt", "/dev/zero"} {
		require.Contains(t, revgen(t, dir, "train", name).stderr, "a regular file is needed")
	}
	require.Contains(t, revgen(t, dir, "train", "spins").stderr, "target.file: names no file")
}

// A run that was killed when the last checkpoint had got its second name, and the next one
// not yet its own, goes on.
func TestCheckpointUnderBothNames(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, tiny("run")...)
	last, before := filepath.Join(dir, "run", "checkpoint.rvg"), filepath.Join(dir, "run", "checkpoint.prev.rvg")
	require.NoError(t, os.Remove(last))
	require.NoError(t, os.Link(before, last))
	model := content(t, dir, "run", "model.rvg")
	ok(t, dir, tiny("run")...)
	require.Equal(t, model, content(t, dir, "run", "model.rvg"))
}
