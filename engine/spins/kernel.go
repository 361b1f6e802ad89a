package spins

import (
	"math"

	"github.com/revgen/revgen/engine/sites"
)

// A Kernel is a transition kernel of packed configurations: a Metropolis or a Sweeper, of
// this package or of bitspin. It does not allocate.
type Kernel = sites.Kernel[uint64]

// An Ensemble is a sites.Ensemble of packed configurations.
type Ensemble = sites.Ensemble[uint64]

// Together returns 1: each sample's draws are its own.
func (m *Metropolis) Together() int { return 1 }

// Together returns Lanes.
func (s *Sweeper) Together() int { return Lanes }

// MaxSteps returns the number of sweeps that one stream has draws for, whichever
// its samples.
func (s *Sweeper) MaxSteps() int {
	const most = 1 << 52 / (MaxSamples / Lanes) // spins that sweeps may redraw
	once := s.updates(1)                        // less than 2·MaxSpins
	more := max(1, s.updates(2)-once)           // nothing is coloured twice by one colour
	return int(min(math.MaxInt32, 1+(most-once)/more))
}
