package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/internal/pool"
)

// defaultThreads is the number of processors that the process may run on: those of its
// affinity mask, which batch systems set and Go counts, less what a container's CPU limit
// or GOMAXPROCS takes away.
func defaultThreads() int { return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

func addThreads(cmd *cobra.Command, threads *int) {
	cmd.Flags().IntVarP(threads, "threads", "t", 0, "threads (default the processors of the affinity mask)")
}

// newPool returns the workers that --threads asks for.
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

// checkThreads is for those who do something before they make a pool.
func checkThreads(threads int) error {
	const maxThreads = 1 << 12
	if threads < 0 || threads > maxThreads {
		return usagef("--threads: %d is not between 1 and %d", threads, maxThreads)
	}
	return nil
}
