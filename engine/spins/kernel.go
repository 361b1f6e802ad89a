package spins

import (
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// A Kernel is a transition kernel p(s, s′) in detailed balance with a law of spins,
// for batches of packed configurations: a Metropolis or a Sweeper, of this package
// or of bitspin. It is immutable and may be used by any number of goroutines.
type Kernel interface {
	// Run takes a number of steps, at most MaxSteps, with configurations lo … hi−1
	// of the batch src, stores the results in the batch dst, which may be src, and
	// counts in st. Configuration i draws the random numbers of sample
	// firstSample+i of the stream. It does not allocate.
	Run(dst, src []uint64, lo, hi, steps int, c *rng.Counter, firstSample uint64, st *bitspin.Stats)
	// RunUntil is Run that ends early, with results of no use, soon after halted
	// returns true, if it is not nil.
	RunUntil(halted func() bool, dst, src []uint64, lo, hi, steps int, c *rng.Counter, firstSample uint64, st *bitspin.Stats)
	// MaxSteps returns how many steps a stream has random numbers for.
	MaxSteps() int
	// Together returns how many samples draw together: where samples are split into
	// ranges, at multiples of it the same bits result.
	Together() int
}

// PieceOf returns how many samples of a kernel a thread takes at a time.
func PieceOf(k Kernel) int {
	const least = 128
	return (least + k.Together() - 1) / k.Together() * k.Together()
}

// Together returns 1: each sample's draws are its own.
func (m *Metropolis) Together() int { return 1 }

// Together returns Lanes.
func (s *Sweeper) Together() int { return Lanes }

// MaxSteps returns the number of sweeps that one stream has draws for, whichever
// its samples.
func (s *Sweeper) MaxSteps() int {
	const most = 1 << 52 / (MaxSamples / Lanes) // spins that sweeps may redraw
	once := s.updates(1)
	more := max(1, s.updates(2)-once) // nothing is coloured twice by one colour
	if once > most {
		return 0
	}
	return int(min(math.MaxInt32, 1+(most-once)/more))
}

var (
	_ Kernel = (*Metropolis)(nil)
	_ Kernel = (*Sweeper)(nil)
	_ Kernel = (*bitspin.Metropolis)(nil)
	_ Kernel = (*bitspin.Sweeper)(nil)
)
