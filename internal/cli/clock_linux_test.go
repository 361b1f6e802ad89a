package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/long"
)

// A wall clock that jumps back and forth, as those of virtual machines do, changes no bit and no
// limit of time. Go asks the kernel without libc for the time, which libfaketime cannot
// change; qemu asks libc for it.
func TestClockThatJumps(t *testing.T) {
	long.Only(t) // in an emulator
	emulator, err := exec.LookPath("qemu-x86_64")
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(libraries) == 0 || runtime.GOARCH != "amd64" {
		t.Skip("no qemu-user or no libfaketime")
	}
	dir := t.TempDir()
	clock := filepath.Join(dir, "clock")
	set := func(jump string) {
		require.NoError(t, os.WriteFile(clock+".new", []byte(jump+"\n"), 0o600))
		require.NoError(t, os.Rename(clock+".new", clock))
	}
	set("+0")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				set([]string{"+1h", "-2d", "+400d", "-10", "+0", "-30y", "+5m"}[i%7])
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	jumping := func(args ...string) (outcome, time.Duration) {
		cmd := command(t, dir, args...)
		cmd.Args, cmd.Path = append([]string{emulator}, cmd.Args...), emulator
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+libraries[0], "FAKETIME_TIMESTAMP_FILE="+clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "REVGEN_ISA=generic")
		start := time.Now()
		o := finish(t, cmd)
		return o, time.Since(start)
	}
	endless := tiny("run", "--set", "training.steps=1000000", "--max-time", "5s", "-t", "1")
	last := 0
	for range 2 { // the second goes on
		o, took := jumping(endless...)
		require.Equal(t, exitStopped, o.code, o.stderr)
		require.Greater(t, took, 5*time.Second)
		require.Less(t, took, time.Minute)
		var s struct{ Step, Checkpoint int }
		require.NoError(t, json.Unmarshal([]byte(content(t, dir, "run", "status.json")), &s))
		require.Greater(t, s.Checkpoint, last)
		require.Equal(t, s.Step, s.Checkpoint)
		last = s.Checkpoint
	}
	before := 0.0
	for line := range strings.Lines(content(t, dir, "run", "metrics.jsonl")) {
		var r engine.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.GreaterOrEqual(t, r.Seconds, before, "time of training goes on")
		before = r.Seconds
	}
	require.Less(t, before, 120.0)

	o, _ := jumping(tiny("short", "-t", "1")...)
	require.Zero(t, o.code, o.stderr)
	cmd := command(t, dir, tiny("plain", "-t", "1")...)
	cmd.Env = append(cmd.Env, "REVGEN_ISA=generic")
	require.Zero(t, finish(t, cmd).code)
	require.Equal(t, content(t, dir, "plain", "model.rvg"), content(t, dir, "short", "model.rvg"))
}
