package ising

import (
	"context"
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/shared"
)

// system and hierarchical train a perceptron and a hierarchy of the lattice's
// configurations, and know what there is to measure them by.
type (
	system struct {
		*measured
		*perceptron.System
	}
	hierarchical struct {
		*measured
		*hierarchy.System
	}
)

// measured is what any generator of the lattice's configurations is sampled and
// measured by. The kind of generator sets its Draws, and its Weigher of a density.
type measured struct {
	*spins.Ensemble
	config  *Config
	target  Target
	workers *pool.Pool
	exact   *shared.Once[reference]
}

func newMeasured(c *Config, workers *pool.Pool) (*measured, error) {
	target, err := c.target()
	if err != nil {
		return nil, err
	}
	kernel, err := target.Kernel(&c.Transition, 1)
	if err != nil {
		return nil, err
	}
	names, observe := observables(target.Model)
	known := references.Get(c.Target, func() *shared.Once[reference] { return new(shared.Once[reference]) })
	return &measured{config: c, target: target, workers: workers, exact: known, Ensemble: &spins.Ensemble{
		States: spins.Packed{Spins: target.N, Shape: []int{target.L, target.L}, Order: "; spin i is that of row i div L and column i mod L", Even: target.H == 0},
		Beta:   target.Beta, Energy: target.Energies, Kernel: kernel,
		Mixing: func(beta float64) (spins.Kernel, error) { return bitspin.NewSweeper(target.Model, beta) },
		Names:  names, Observe: observe, Seed: c.Training.Seed, Workers: workers,
	}}, nil
}

// references are those of the last targets, which take minutes, for runs of other seeds too.
var references = shared.Cache[TargetConfig, *shared.Once[reference]]{Most: 4}

// reference returns what samples are compared with, computed once.
func (s *measured) reference(ctx context.Context) (*reference, error) {
	return s.exact.Get(func() (*reference, error) { return newReference(ctx, s.target, s.workers) })
}

// absMagnetisation returns |m| of a configuration.
func (s *measured) absMagnetisation(config []uint64) float64 {
	return math.Abs(float64(s.target.Magnetisation(config))) / float64(s.target.N)
}

var _ engine.Evaluator = (*measured)(nil)
