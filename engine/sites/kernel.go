package sites

import (
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// A Kernel is a transition kernel p(s, s′) in detailed balance with a law, for batches of
// configurations. It is immutable, may be used by any number of goroutines, and does not
// allocate.
type Kernel[W uint64 | byte] interface {
	// Run takes a number of steps, at most MaxSteps, with configurations lo … hi−1
	// of the batch src, stores the results in the batch dst, which may be src, and
	// adds its proposals to st. Configuration i draws the random numbers of sample
	// firstSample+i of the stream. If halted is not nil, Run ends soon after it
	// returns true, with results of no use.
	Run(halted func() bool, dst, src []W, lo, hi, steps int, c *rng.Counter, firstSample uint64, st *bitspin.Count)
	// MaxSteps returns how many steps a stream has random numbers for.
	MaxSteps() int
	// BlockSize returns how many samples draw together. A batch that is split at multiples of it
	// gives the same bits.
	BlockSize() int
}

// PieceOf returns how many samples of a kernel a thread takes at a time.
func PieceOf[W uint64 | byte](k Kernel[W]) int {
	const minSamples = 128
	return (minSamples + k.BlockSize() - 1) / k.BlockSize() * k.BlockSize()
}
