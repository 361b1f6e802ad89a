//go:build mpi

package cli

import (
	"bytes"
	"encoding/json"
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

// The kits hold every system's bits for any ranks; here messages go by MPI, among more ranks and
// fewer.
func TestMPISameBits(t *testing.T) {
	for name, c := range map[string]struct {
		ranks string
		args  []string
	}{
		"ising":     {"4", []string{"ising", "--preset", "paper"}},
		"hierarchy": {"2", []string{"ising", "--preset", "quick", "--set", "target.l=8"}},
		"gmm":       {"3", []string{"gmm", "--preset", "paper"}},
		"hybrid":    {"3", []string{"hybrid"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"train"}, append(c.args, "--set", "training.steps=6", "--set", "evaluation.samples=1000", "-q", "-t", "1")...)
			ok(t, dir, append(args, "-o", "one")...)
			o := finish(t, ranks(t, dir, c.ranks, append(args, "-o", "all")...))
			require.Zero(t, o.code, o.stderr)
			sameFiles(t, filepath.Join(dir, "one", "model.rvg"), filepath.Join(dir, "all", "model.rvg"))
			sameFiles(t, filepath.Join(dir, "one", "samples.npy"), filepath.Join(dir, "all", "samples.npy"))
			require.Equal(t, 1, strings.Count(o.stdout, "sampling floor"), "rank 0 alone prints its table: %s", o.stdout)
		})
	}
}

// lasting is a run that does not end before it is stopped.
func lasting(steps string) []string {
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
	cmd := ranks(t, dir, "3", lasting(steps)...)
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	begun(t, dir)
	require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
	_ = cmd.Wait()
	require.Equal(t, exitStopped, cmd.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "stopped at step"), stderr.String())

	// A rank that dies takes the job with it, and leaves a checkpoint.
	cmd = ranks(t, dir, "2", lasting(steps)...)
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

	o := finish(t, ranks(t, dir, "2", lasting(steps)...))
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stderr, "continuing from step")
	one := t.TempDir()
	ok(t, one, lasting(steps)...)
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

// Ranks write one file, which is that of one process; and its record too.
func TestMPISample(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"ising":     tiny("ising")[1:],
		"gmm":       {"gmm", "--set", "training.steps=4", "--set", "evaluation.samples=100"},
		"hierarchy": {"ising", "--preset", "quick", "--set", "target.l=8", "--set", "training.steps=4", "--set", "evaluation.samples=100"},
	} {
		ok(t, dir, append(append([]string{"train"}, args...), "-q", "--figures", "none", "-o", name)...)
	}
	for name, c := range map[string]struct {
		ranks string
		args  []string
	}{
		"spins":    {"4", []string{"ising", "-n", "100003"}},
		"bits":     {"2", []string{"ising", "-n", "1003", "--format", "bits", "--first", "17"}},
		"refined":  {"3", []string{"ising", "-n", "1003", "--refine", "5"}},
		"sweeps":   {"2", []string{"hierarchy", "-n", "3001", "--refine", "2", "--seed", "9"}},
		"weighted": {"3", []string{"gmm", "-n", "1003", "--format", "weighted"}},
		"vectors":  {"4", []string{"gmm", "-n", "1003", "--refine", "7"}},
		"few":      {"3", []string{"ising", "-n", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"sample"}, append(c.args, "-t", "1", "--json")...)
			ok(t, dir, append(args, "-o", name+"-1.npy")...)
			o := finish(t, ranks(t, dir, c.ranks, append(args, "-o", name+"-n.npy")...))
			require.Zero(t, o.code, o.stderr)
			sameFiles(t, filepath.Join(dir, name+"-1.npy"), filepath.Join(dir, name+"-n.npy"))
			require.Equal(t, recordOf(t, dir, name+"-1"), recordOf(t, dir, name+"-n"))
			require.Equal(t, 1, strings.Count(o.stdout, `"file"`), o.stdout)
			left, err := filepath.Glob(filepath.Join(dir, ".*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// recordOf returns what is beside a file of samples, less its name and the time, and their hash.
func recordOf(t *testing.T, dir, name string) (r sampleRecord) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".npy.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	require.Equal(t, name+".npy", r.File)
	r.File, r.Date, r.SHA256 = "", "", ""
	return r
}

// What goes wrong on one rank leaves nothing.
func TestMPISampleErrors(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	fails := func(want string, env []string, n string, args ...string) {
		t.Helper()
		cmd := ranks(t, dir, n, append([]string{"sample", run, "-t", "1", "--first", "0"}, args...)...)
		cmd.Env = append(cmd.Env, env...)
		o := finish(t, cmd)
		require.NotZero(t, o.code)
		require.Equal(t, 1, strings.Count(o.stderr, "revgen: "), o.stderr)
		require.Contains(t, o.stderr, want)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
	broken := []string{envSignal + "=0", envAtStep + "=-1", envSample + "=80"}
	fails("revgen: rank 2: writing x.npy: sample 80 cannot be drawn", broken, "3", "-n", "100", "-o", "x.npy")
	fails("revgen: writing x.npy: sample 80 cannot be drawn", broken, "2", "-n", "1e8", "-o", "x.npy")
	fails("revgen: writing x.npy: sample 80 cannot be drawn", broken, "1", "-n", "100", "-o", "x.npy")
	fails("revgen: -o -: 2 ranks write parts of one file", nil, "2", "-n", "100", "-o", "-")
	fails("none/x.npy: no such file or directory", nil, "2", "-n", "100", "-o", "none/x.npy")

	// A rank that dies cannot tidy up; who writes there next does.
	cmd := ranks(t, dir, "2", "sample", run, "-t", "1", "--first", "0", "-n", "100", "-o", "x.npy", "-q")
	cmd.Env = append(cmd.Env, append(broken, envKill+"=1")...)
	require.NotZero(t, finish(t, cmd).code)
	require.NoFileExists(t, filepath.Join(dir, "x.npy"))
	o := finish(t, ranks(t, dir, "2", "sample", run, "-t", "1", "--first", "0", "-n", "100", "-o", "x.npy", "-q"))
	require.Zero(t, o.code, o.stderr)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)

	// A signal to the job.
	cmd = ranks(t, dir, "2", "sample", run, "-t", "1", "-n", "1e9", "-o", "y.npy", "-q", "--format", "bits", "--refine", "300000")
	o, took := interrupt(t, cmd, func() bool { // once the ranks have met, and write
		begun, err := filepath.Glob(filepath.Join(dir, "*y.npy*"))
		return err == nil && len(begun) > 0
	})
	require.NotZero(t, o.code)
	require.Contains(t, o.stderr, "revgen: stopped by SIGTERM")
	require.Less(t, took, 30*time.Second)
	require.NoFileExists(t, filepath.Join(dir, "y.npy"))

	// A file each.
	o = finish(t, ranks(t, dir, "2", "sample", run, "-t", "1", "-n", "100", "-o", "part-%t.npy", "--shard", "auto"))
	require.Zero(t, o.code, o.stderr)
	require.FileExists(t, filepath.Join(dir, "part-1.npy"))
	o = finish(t, ranks(t, dir, "2", "sample", run, "-t", "1", "-n", "100", "-o", "part-%t.npy"))
	require.NotZero(t, o.code)
	require.Contains(t, o.stderr, "ask for parts with --shard auto")
}

// Chains on ranks write the files of one process, and say the same of them.
func TestMPIChains(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		ranks string
		args  []string
	}{
		"ladder":    {"2", []string{"ising", "--set", "target.l=4", "--ladder", "0.2,0.3", "--chains", "1100", "--draws", "5", "--format", "bits"}},
		"pilot":     {"3", []string{"gmm", "--chains", "300", "--draws", "5", "--spacing", "auto"}},
		"tempering": {"2", []string{"spins", "--set", "target.spins=4", "--set", "target.edges=[[0,1,1],[1,2,-1],[2,3,0.5]]", "--chains", "70", "--draws", "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"mcmc"}, append(c.args, "-t", "1")...)
			seen := func(text string) string { // of a table, less what is of time
				return text[:strings.Index(text, "chains of")]
			}
			summary := func(o outcome) string {
				var rows []string
				for _, line := range strings.Split(seen(o.stdout), "\n") {
					if words := strings.Fields(line); len(words) > 5 {
						rows = append(rows, strings.Join(words[:len(words)-1], " "))
					}
				}
				return strings.Join(rows, "\n")
			}
			one := ok(t, dir, append(args, "-o", name+"-1.npy", "--states", name+"-1s.npy")...)
			o := finish(t, ranks(t, dir, c.ranks, append(args, "-o", name+"-n.npy", "--states", name+"-ns.npy")...))
			require.Zero(t, o.code, o.stderr)
			sameFiles(t, filepath.Join(dir, name+"-1.npy"), filepath.Join(dir, name+"-n.npy"))
			sameFiles(t, filepath.Join(dir, name+"-1s.npy"), filepath.Join(dir, name+"-ns.npy"))
			require.Equal(t, summary(one), summary(o))
			require.Equal(t, 1, strings.Count(o.stdout, "chains of"), o.stdout)
		})
	}
	fails := func(want string, args ...string) {
		t.Helper()
		o := finish(t, ranks(t, dir, "2", append([]string{"mcmc", "gmm", "-t", "1"}, args...)...))
		require.NotZero(t, o.code)
		require.Equal(t, 1, strings.Count(o.stderr, "revgen: "), o.stderr)
		require.Contains(t, o.stderr, want)
	}
	fails("--states -: 2 ranks write parts of one file", "--states", "-")
	fails("--format: \"none\" is not one of", "--states", "x.npy", "--format", "none")
	fails("none/x.npy", "-o", "none/x.npy", "--draws", "4")
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// apart returns a job of one rank for each command line.
func apart(t *testing.T, dir string, commands ...[]string) *exec.Cmd {
	t.Helper()
	cmd := ranks(t, dir, "1", commands[0]...)
	for _, args := range commands[1:] {
		other := ranks(t, dir, "1", args...)
		from := 0
		for other.Args[from] != "-n" {
			from++
		}
		cmd.Args = append(append(cmd.Args, ":"), other.Args[from:]...)
	}
	cmd.Env = append(cmd.Env, envRankWait+"=20s")
	return cmd
}

// Ranks that were started as something else than rank 0 are told what, and none computes.
func TestMPIRanksStartedDifferently(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	train := func(more ...string) []string { return tiny("out", append(more, "-q", "-t", "1")...) }
	mcmc := []string{"mcmc", "gmm", "--draws", "5", "-o", "out.npy", "-t", "1"}
	sample := []string{"sample", run, "-n", "10", "-o", "out.npy", "-t", "1"}
	for want, commands := range map[string][][]string{
		"target.beta 0.6, rank 0 0.2, ":                                                 {train(), train("-s", "target.beta=0.6")},
		"rank 2 has training.seed 4, rank 0 1, training.steps 10, rank 0 60\n":          {train(), train(), train("--seed", "4", "-s", "training.steps=10")},
		"rank 1 has kernel path generic":                                                {train(), train("--isa", "generic")},
		"rank 1 has command sample, rank 0 train\n":                                     {train(), sample},
		"rank 1 has refine \"auto\", rank 0 \"0\"\n":                                    {sample, append(sample[:len(sample):len(sample)], "--refine", "auto")},
		"rank 1 has flags.Draws 6, rank 0 5, training.seed 4, rank 0 1\n":               {mcmc, append(mcmc[:len(mcmc):len(mcmc)], "--draws", "6", "--seed", "4")},
		"rank 0 of 2 has waited 2s for the others to begin, and gives up: was every pr": {train(), {"info", "-q"}},
	} {
		cmd := apart(t, dir, commands...)
		code := exitUsage
		if strings.Contains(want, "waited") {
			cmd.Env, code = append(cmd.Env, envRankWait+"=2s"), exitError
		}
		o := finish(t, cmd)
		require.Equal(t, code, o.code, "%s: %s", want, o.stderr)
		require.Contains(t, o.stderr, want)
		require.Equal(t, 1, strings.Count(o.stderr, "revgen: "), o.stderr)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// Rank 0 looks at a target for all, each places its generator, and they stop together.
func TestMPISetUp(t *testing.T) {
	dir := t.TempDir()
	job := func(look string) *exec.Cmd {
		cmd := ranks(t, dir, "2", "train", "lookout", "-q", "--figures", "none", "-o", "run")
		cmd.Env = append(cmd.Env, envLook+"="+look)
		return cmd
	}
	var stderr bytes.Buffer
	cmd := job("1m")
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	waitFor(t, has("look", dir, "begun"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
	_ = cmd.Wait()
	require.Equal(t, exitStopped, cmd.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "revgen: SIGUSR1: stopped before the first step; "), stderr.String())
	o := finish(t, job("0"))
	require.Zero(t, o.code, o.stderr)
	require.Equal(t, "look\nlook\nplace\nplace\n", content(t, dir, "begun"))
}
