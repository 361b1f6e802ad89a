package cli

import (
	"os"
	"runtime"
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
