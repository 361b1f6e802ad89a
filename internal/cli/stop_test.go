package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/engine/run"
)

// The exit code 75 is that of a checkpoint on the disk and of nothing else.
func TestExitCodeOfAStop(t *testing.T) {
	p := &program{parsed: true}
	stop := &run.StopError{Dir: "run", Step: 1, Steps: 2}
	defer p.catchSignals()()
	end := func(err error) error {
		return p.runResumable(0, 0, func(context.Context) error { return err })
	}
	require.Equal(t, exitStopped, p.exitCode(end(stop)))
	for _, err := range []error{errors.Join(stop, errors.New("disk full")), fmt.Errorf("after it: %w", stop), run.ErrStopped} {
		require.Equal(t, exitError, p.exitCode(end(err)), "%v", err)
	}
	require.NoError(t, end(nil))
	err := p.runResumable(0, 0, func(context.Context) error { panic("out of range") })
	require.Regexp(t, `^out of range \(internal/cli/stop_test.go:\d+\)$`, err.Error())
	require.Equal(t, exitDefect, p.exitCode(err))
}

// A stop on a full disk is an error: the same command does not continue.
func TestStopOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=4m")
	for _, args := range [][]string{tiny("mount/run", "--set", "training.checkpoint_every=0"), smallReproduction("mount/out")} {
		cmd := command(t, dir, args...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=15", envFill+"="+filepath.Join(dir, "mount", "filler"))
		o := finish(t, cmd)
		require.Equal(t, exitError, o.code, o.stderr)
		require.Contains(t, o.stderr, "no space left on device")
		require.NotContains(t, o.stderr, "the same command continues")
		require.NoError(t, os.Remove(filepath.Join(dir, "mount", "filler")))
		ok(t, dir, args...)
	}
}

// interrupt sends SIGTERM to a command.
func interrupt(t *testing.T, cmd *exec.Cmd, ready func() bool) (outcome, time.Duration) {
	t.Helper()
	return send(t, cmd, syscall.SIGTERM, ready)
}

// send starts a command, sends a signal when it is ready and heeds one, and
// returns what it leaves, and for how long it went on.
func send(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, ready func() bool) (outcome, time.Duration) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	heeds := filepath.Join(t.TempDir(), "heeds")
	cmd.Env = append(cmd.Env, envHeeds+"="+heeds)
	require.NoError(t, cmd.Start())
	waitFor(t, func() bool {
		_, err := os.Stat(heeds)
		return err == nil && ready()
	})
	require.NoError(t, cmd.Process.Signal(signal))
	start := time.Now()
	_ = cmd.Wait()
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, time.Since(start)
}

// after is ready when a command has had so much time to get to what it does. That it
// did is not needed for a test to pass.
func after(d time.Duration) func() bool {
	begun := sync.OnceValue(time.Now)
	return func() bool { return time.Since(begun()) > d }
}

// What went to stdout cannot be taken back, and is not denied.
func TestSampleInterruptedOnStdout(t *testing.T) {
	run := trained(t)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd := command(t, t.TempDir(), "sample", run, "-n", "1e9", "-o", "-", "-q")
	cmd.Stdout = write
	begun := make(chan struct{})
	go func() { // and then reads no more
		_, _ = io.ReadFull(read, make([]byte, 1<<20))
		close(begun)
	}()
	o, _ := interrupt(t, cmd, func() bool {
		select {
		case <-begun:
			return true
		default:
			return false
		}
	})
	write.Close()
	require.Equal(t, exitError, o.code)
	require.Regexp(t, `^revgen: stopped by SIGTERM; the array on stdout is not complete: it has some [1-9]\d* of 9000000000 bytes\n$`, o.stderr)
}

// A pipe that nobody reads is waited for, until a signal.
func TestSampleIntoAPipe(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	o, _ := interrupt(t, command(t, dir, "sample", run, "-n", "10", "-o", "pipe", "-q"), after(2*time.Second))
	require.Equal(t, exitStopped, o.code)
	require.Contains(t, o.stderr, "stopped by SIGTERM")

	got := make(chan []byte)
	go func() {
		data, _ := os.ReadFile(pipe)
		got <- data
	}()
	ok(t, dir, "sample", run, "-n", "10", "-o", "pipe")
	require.Len(t, <-got, 128+90)
}

// Files that never end or never begin are refused at once.
func TestSpecialFiles(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600))
	copied := filepath.Join(dir, "copied")
	require.NoError(t, os.CopyFS(copied, os.DirFS(run)))
	special := func(name string) {
		require.NoError(t, os.Remove(filepath.Join(copied, name)))
		require.NoError(t, os.Symlink("/dev/zero", filepath.Join(copied, name)))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "results"), 0o700))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "results", "results.json")))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "pipe.json: is a pipe; a regular file is needed", []string{"train", "pipe.json"}},
		{exitUsage, "/dev/zero: is a device; a regular file is needed", []string{"train", "/dev/zero"}},
		{exitError, "pipe.json: is a pipe", []string{"sample", "pipe.json", "-n", "1", "-o", "x.npy"}},
		{exitError, "/dev/zero: is a device", []string{"info", "/dev/zero"}},
		{exitError, "/dev/zero: is a device", []string{"verify", "/dev/zero"}},
		{exitUsage, "/dev/zero: is a device", []string{"bench", "--from", "/dev/zero"}},
		{exitUsage, "pipe.json: is a pipe", []string{"bench", "--baseline", "pipe.json"}},
		{exitUsage, "results.json: is a link to /dev/zero", []string{"reproduce", "-o", "results"}},
	} {
		o := revgen(t, dir, c.args...)
		require.Equal(t, c.code, o.code, "%v: %s", c.args, o.stderr)
		require.Contains(t, o.stderr, c.want, "%v", c.args)
	}
	for _, name := range []string{"summary.json", "metrics.jsonl", "status.json", "checkpoint.rvg", "model.rvg"} {
		special(name)
		code, want := exitError, name+": (is a device|not a regular file)"
		args := map[string][]string{"summary.json": {"verify", "copied"}, "status.json": {"info", "copied"}, "model.rvg": {"sample", "copied", "-n", "1", "-o", "x.npy"}}[name]
		if args == nil {
			args = tiny("copied")
			code, want = exitUsage, name+": is a link to /dev/zero"
		}
		o := revgen(t, dir, args...)
		require.Equal(t, code, o.code, "%s: %s", name, o.stderr)
		require.Regexp(t, want, o.stderr)
		require.NoError(t, os.Remove(filepath.Join(copied, name)))
		data, err := os.ReadFile(filepath.Join(run, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(copied, name), data, 0o600))
	}
}

// closed returns the end for writing of a pipe that nobody reads.
func closed(t *testing.T) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	t.Cleanup(func() { write.Close() })
	return write
}

// Training does not end because nobody listens any longer, as after
// "2>&1 | head -1".
func TestLostStderr(t *testing.T) {
	dir := t.TempDir()
	cmd := command(t, dir, tiny("run")...)
	cmd.Stderr = closed(t)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Run())
	require.Contains(t, stdout.String(), "energy")
	require.Equal(t, readResults(t, trained(t)), readResults(t, filepath.Join(dir, "run")))

	// A stop leaves its checkpoint.
	cmd = command(t, dir, tiny("stopped")...)
	cmd.Stderr = closed(t)
	cmd.Stdout = cmd.Stderr
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30")
	require.Error(t, cmd.Run())
	require.Equal(t, exitStopped, cmd.ProcessState.ExitCode())
}

func TestLostStdout(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"sample", run, "-n", "1e6", "-o", "-", "-q"}, {"info"}, {"info", run}, {"info", "--json"}, {"verify", run, "-q"},
		tiny("run", "-q", "--figures", "all"), tiny("run", "-q", "--json"), {"sample", run, "--format", "?"},
	} {
		cmd := command(t, dir, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = closed(t), &stderr
		require.Error(t, cmd.Run())
		require.Equal(t, exitPipe, cmd.ProcessState.ExitCode(), "%v", args)
		require.Empty(t, stderr.String(), "%v", args)
	}
	require.FileExists(t, filepath.Join(dir, "run", "figures", "training.png"), "training is complete")
	// A check that failed is more than a reader that went.
	cmd := command(t, dir, "verify", "toy", "-q")
	cmd.Stdout = closed(t)
	require.Error(t, cmd.Run())
	require.Equal(t, exitCheck, cmd.ProcessState.ExitCode())
}

func TestTwoProcessesInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	first := command(t, dir, tiny("run")...)
	first.Env = append(first.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30", envStuck+"=1")
	require.NoError(t, first.Start())
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "run", "checkpoint.rvg"))
		return err == nil
	})
	o := revgen(t, dir, tiny("run", "--seed", "2")...)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, fmt.Sprintf("run: in use by process %d on ", first.Process.Pid))
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	require.FileExists(t, filepath.Join(dir, "run", "lock"))
	ok(t, dir, tiny("run")...)
}

// Who removes the file of a lock does not make room for a second owner, and a link in its
// place, which leads anywhere, is refused at once.
func TestLockOfARun(t *testing.T) {
	dir := t.TempDir()
	first := command(t, dir, tiny("run")...)
	first.Env = append(first.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30", envStuck+"=1")
	require.NoError(t, first.Start())
	lock := filepath.Join(dir, "run", "lock")
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "run", "checkpoint.rvg"))
		return err == nil
	})
	require.NoError(t, os.Remove(lock))
	o := revgen(t, dir, tiny("run")...)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "run: in use by another process; ")
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	list(t, dir, `{"train":"ising",`+quickJob+`}`)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "batch"), 0o700))
	for _, path := range []string{lock, filepath.Join(dir, "batch", "lock")} {
		require.NoError(t, os.Symlink("elsewhere", path))
	}
	o = revgen(t, dir, tiny("run")...)
	require.Equal(t, exitError, o.code, o.stderr)
	require.Contains(t, o.stderr, ": lock is a symbolic link; ")
	o = revgen(t, dir, "run", "jobs.ndjson", "-o", "batch")
	require.Equal(t, exitUsage, o.code, o.stderr)
	require.Contains(t, o.stderr, "batch/lock: is a link to elsewhere")
	require.NoFileExists(t, filepath.Join(dir, "run", "elsewhere"))
}

// A link that leads to nothing yet is followed.
func TestSampleThroughADanglingLink(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "disk"), 0o700))
	link := filepath.Join(dir, "x.npy")
	require.NoError(t, os.Symlink(filepath.Join("disk", "y.npy"), link))
	ok(t, dir, "sample", run, "-n", "10", "-o", "x.npy")
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	_, data := readArray(t, filepath.Join(dir, "disk", "y.npy"))
	require.Len(t, data, 90)
}

// Work that does not look at its context is left to itself.
func TestWorkThatDoesNotEnd(t *testing.T) {
	run := trained(t)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"bench", "math", "--time", "1h", "--repetitions", "1", "--peers=false", "--threads", "1"},
		{"sample", run, "-n", "1e6", "--refine", "300000", "-o", "x.npy", "-q"},
	} {
		o, took := interrupt(t, command(t, dir, args...), after(time.Second))
		require.Equal(t, exitStopped, o.code, "%v: %s", args, o.stderr)
		require.Contains(t, o.stderr, "stopped by SIGTERM")
		require.Less(t, took, 5*time.Minute, "%v: not after an hour", args)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "nothing half-written is left")
}
