package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNothingIsLeftOpen: a command that has ended, well or not, leaves no thread of its own and
// no file, as the jobs of a batch are commands of one process.
func TestNothingIsLeftOpen(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	ok(t, dir, "sample", run, "-n", "9", "-o", "states.npy")
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(files)
	}
	for _, args := range [][]string{
		tiny("new"), tiny("new", "--set", "training.steps=1"), // which is there already
		{"sample", run, "-n", "10", "-o", "x.npy"}, {"sample", run, "-n", "10", "--format", "none"},
		{"diagnose", run, "-n", "512"}, {"diagnose", "nowhere"},
		{"score", "ising", "--set", "target.l=3", "states.npy"}, {"score", "ising", "--set", "target.l=4", "states.npy"},
		{"mcmc", "ising", "--set", "target.l=3", "--chains", "2", "--draws", "10"},
		{"verify", "toy"}, {"report", run},
	} {
		threads, files := runtime.NumGoroutine(), open()
		if args[0] != "report" {
			args = append(args, "--threads", "3")
		}
		revgen(t, dir, append(args, "-q")...)
		for range 100 { // those that are told to end do soon
			if runtime.NumGoroutine() <= threads {
				break
			}
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), threads, args)
		require.LessOrEqual(t, open(), files, args)
	}
}

// children returns the processes that this one has begun and that have not ended.
func children(t *testing.T) (all []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if string(fields[0]) == "Z" || string(fields[1]) != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		require.NoError(t, err)
		all = append(all, pid)
	}
	return all
}

// TestProgramsEndWithTheirCommand: a target that is a program has no process left when a command
// has ended, as the jobs of a batch are commands of one process.
func TestProgramsEndWithTheirCommand(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(envServe, "1")
	dir := t.TempDir()
	target := []string{"-s", "target.kind=program", "-s", "target.dim=1", "-s", "target.command=[" + strconv.Quote(self) + "]"}
	before := children(t)
	ok(t, dir, append([]string{"train", "reals", "-p", "paper", "-o", "run", "-s", "training.steps=3", "-s", "training.batch=64", "-s", "evaluation.samples=200", "--figures", "none", "--diagnose", "none", "-q"}, target...)...)
	require.ElementsMatch(t, before, children(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "states.ndjson"), []byte("[0.5]\n[-2]\n"), 0o600))
	for _, args := range [][]string{
		{"sample", "run", "-n", "100", "--refine", "1", "-o", "x.npy"}, {"sample", "run", "-f", "?"}, {"sample", "run", "-n", "10", "-f", "none", "-o", "x.npy"},
		{"diagnose", "run", "-n", "256", "--max-time", "1s"}, {"score", "run", "states.ndjson"}, {"verify", filepath.Join("run", "model.rvg")},
		append([]string{"score", "reals", "states.ndjson", "--model", "run"}, target...),
		append([]string{"mcmc", "reals", "--chains", "2", "--draws", "8"}, target...),
	} {
		o := revgen(t, dir, append(args, "-q")...)
		require.Contains(t, []int{exitOK, exitUsage, exitCheck}, o.code, "%v: %s", args, o.stderr)
		require.ElementsMatch(t, before, children(t), args)
		if args[0] == "score" {
			require.Contains(t, o.stdout, `"energy":0.125`)
		}
	}
}
