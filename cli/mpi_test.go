//go:build mpi

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ranks returns the program as a job that has not started, of so many ranks.
// REVGEN_TEST_MPIRUN is another launcher than mpirun.
func ranks(t *testing.T, dir, n string, args ...string) *exec.Cmd {
	t.Helper()
	launcher := strings.Fields(os.Getenv("REVGEN_TEST_MPIRUN"))
	if len(launcher) == 0 {
		launcher = []string{"mpirun", "--oversubscribe"}
	}
	path, err := exec.LookPath(launcher[0])
	if err != nil {
		t.Skip(err)
	}
	self := command(t, dir, args...)
	cmd := exec.Command(path, append(append(launcher[1:], "-n", n), self.Args...)...)
	cmd.Dir = dir
	cmd.Env = append(self.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	return cmd
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	require.NoError(t, err)
	y, err := os.ReadFile(b)
	require.NoError(t, err)
	require.True(t, bytes.Equal(x, y), "%s and %s differ", a, b)
}

func TestMPISameBits(t *testing.T) {
	for name, args := range map[string][]string{
		"ising":     {"ising", "--preset", "paper"},
		"hierarchy": {"ising", "--preset", "quick", "--set", "target.l=8"},
		"gmm":       {"gmm", "--preset", "paper"},
		"hybrid":    {"hybrid"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"train"}, append(args, "--set", "training.steps=6", "--set", "evaluation.samples=1000", "-q", "-t", "1")...)
			ok(t, dir, append(args, "-o", "one")...)
			for _, n := range []string{"2", "4"} {
				o := finish(t, ranks(t, dir, n, append(args, "-o", n)...))
				require.Zero(t, o.code, o.stderr)
				sameFiles(t, filepath.Join(dir, "one", "model.rvg"), filepath.Join(dir, n, "model.rvg"))
				sameFiles(t, filepath.Join(dir, "one", "samples.npy"), filepath.Join(dir, n, "samples.npy"))
				require.Equal(t, 1, strings.Count(o.stdout, "sampling floor"), "rank 0 alone prints its table: %s", o.stdout)
			}
		})
	}
}

// long is a run that does not end before it is stopped.
func long(steps string) []string {
	return []string{"train", "ising", "--preset", "paper", "--set", "training.steps=" + steps, "--set", "training.batch=256",
		"--set", "evaluation.samples=1000", "--set", "training.checkpoint_every=5", "--set", "training.log_every=1", "-t", "1", "-o", "run"}
}

// begun waits for the job to be some steps further.
func begun(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "run", "metrics.jsonl")
	before, _ := os.ReadFile(path)
	require.Eventually(t, func() bool {
		now, err := os.ReadFile(path)
		return err == nil && bytes.Count(now, []byte("\n")) > bytes.Count(before, []byte("\n"))+8
	}, time.Minute, 10*time.Millisecond)
}

func TestMPIStopsAndResumesOnOtherRanks(t *testing.T) {
	dir := t.TempDir()
	const steps = "300"
	var stderr bytes.Buffer
	cmd := ranks(t, dir, "3", long(steps)...)
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	begun(t, dir)
	require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
	_ = cmd.Wait()
	require.Equal(t, exitStopped, cmd.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "stopped at step"), stderr.String())

	// A rank that dies takes the job with it, and leaves a checkpoint.
	cmd = ranks(t, dir, "2", long(steps)...)
	require.NoError(t, cmd.Start())
	begun(t, dir)
	self, err := os.Executable()
	require.NoError(t, err)
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	victim := 0
	for _, cwd := range links {
		where, _ := os.Readlink(cwd)
		what, _ := os.Readlink(filepath.Join(filepath.Dir(cwd), "exe"))
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(cwd))); where == dir && what == self {
			victim = max(victim, pid)
		}
	}
	require.NotZero(t, victim, "no rank was found")
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	_ = cmd.Wait()
	require.NotZero(t, cmd.ProcessState.ExitCode())

	o := finish(t, ranks(t, dir, "2", long(steps)...))
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stderr, "continuing from step")
	one := t.TempDir()
	ok(t, one, long(steps)...)
	sameFiles(t, filepath.Join(one, "run", "model.rvg"), filepath.Join(dir, "run", "model.rvg"))
}

func TestMPIErrors(t *testing.T) {
	dir := t.TempDir()
	o := finish(t, ranks(t, dir, "2", "train", "ising", "--set", "training.steps=-1"))
	require.NotZero(t, o.code)
	require.Equal(t, 1, strings.Count(o.stderr, "revgen: "), o.stderr)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	o = finish(t, ranks(t, dir, "3", "train", "-o", "file", "-t", "1"))
	require.NotZero(t, o.code)
	require.Equal(t, 1, strings.Count(o.stderr, "file: not a directory"), o.stderr)
}
