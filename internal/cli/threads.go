package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/internal/pool"
)

// defaultThreads returns the number of processors in the affinity mask, which batch systems set and
// runtime.NumCPU counts, or GOMAXPROCS if that is less, which a container's CPU limit sets.
func defaultThreads() int { return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

func addThreads(cmd *cobra.Command, threads *int) {
	cmd.Flags().IntVarP(threads, "threads", "t", 0, "threads (default the processors of the affinity mask)")
}

// newPool returns a pool of as many threads as --threads asks for.
func (p *program) newPool(threads int) (*pool.Pool, error) {
	if err := checkThreads(threads); err != nil {
		return nil, err
	}
	available := defaultThreads()
	switch {
	case threads == 0:
		threads = available
	case threads > available:
		p.say("more threads (%d) than processors (%d): expect them to wait for each other", threads, available)
	}
	return pool.New(threads), nil
}

// checkThreads checks --threads. newPool does too; commands that do something first call it before.
func checkThreads(threads int) error {
	const maxThreads = 1 << 12
	if threads < 0 || threads > maxThreads {
		return usagef("--threads: %d is not between 1 and %d", threads, maxThreads)
	}
	return nil
}
