package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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

// Where GOMAXPROCS says more, there are as many threads as processors, and who asks for more is told.
func TestThreadsAreProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1))
	for threads, want := range map[int]string{
		0: "", runtime.NumCPU(): "",
		runtime.NumCPU() + 1: fmt.Sprintf("more threads (%d) than processors (%d): expect them to wait for each other\n", runtime.NumCPU()+1, runtime.NumCPU()),
	} {
		var said bytes.Buffer
		p := &program{stderr: &said}
		workers, err := p.newPool(threads)
		require.NoError(t, err)
		require.Equal(t, cmp.Or(threads, runtime.NumCPU()), workers.Threads())
		workers.Close()
		require.Equal(t, want, said.String())
	}
	for _, threads := range []int{-1, 4097} {
		_, err := new(program).newPool(threads)
		require.EqualError(t, err, fmt.Sprintf("--threads: %d is not between 1 and 4096", threads))
	}
	require.NoError(t, checkThreads(4096))
}
