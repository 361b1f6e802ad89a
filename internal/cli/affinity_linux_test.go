package cli

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A batch system gives a task its processors by the affinity mask.
func TestThreadsFollowTheAffinityMask(t *testing.T) {
	runtime.LockOSThread() // a child has the mask of the thread that starts it
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	defer func() { require.NoError(t, unix.SchedSetaffinity(0, &all)) }()
	var m machine
	require.NoError(t, json.Unmarshal([]byte(finish(t, command(t, "", "info", "--json")).stdout), &m))
	require.Equal(t, 1, m.Affinity)
	require.Equal(t, 1, m.Threads)

	dir := t.TempDir()
	o := finish(t, command(t, dir, tiny("run", "--threads", "3")...))
	require.Zero(t, o.code)
	require.Contains(t, o.stderr, "more threads (3) than processors (1)")
}
