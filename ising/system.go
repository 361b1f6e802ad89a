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

// system and hierarchical are the engine.System of a perceptron and of a hierarchy.
type (
	system struct {
		*evaluator
		*perceptron.System
	}
	hierarchical struct {
		*evaluator
		*hierarchy.System
	}
)

// An evaluator samples and measures generators of any kind. The kind of generator sets Draws of
// the ensemble, and Weigher if it has a density.
type evaluator struct {
	*spins.Ensemble
	config         *Config
	target         Target
	workers        *pool.Pool
	referenceCache *shared.Once[reference]
}

func newEvaluator(c *Config, workers *pool.Pool) (*evaluator, error) {
	target, err := c.target()
	if err != nil {
		return nil, err
	}
	kernel, err := target.Kernel(&c.Transition, 1)
	if err != nil {
		return nil, err
	}
	names, observe := observables(target.Model)
	cache := references.Get(c.Target, func() *shared.Once[reference] { return new(shared.Once[reference]) })
	return &evaluator{config: c, target: target, workers: workers, referenceCache: cache, Ensemble: &spins.Ensemble{
		States: spins.Packed{Spins: target.N, Shape: []int{target.L, target.L}, Order: "; spin i is that of row i div L and column i mod L", Even: target.H == 0},
		Beta:   target.Beta, Energy: target.Energies, Kernel: kernel,
		Mixing: func(beta float64) (spins.Kernel, error) { return bitspin.NewSweeper(target.Model, beta) },
		Names:  names, Observe: observe, Seed: c.Training.Seed, Workers: workers,
	}}, nil
}

// references keeps the references of the last targets for runs with other seeds, because one can
// take minutes.
var references = shared.Cache[TargetConfig, *shared.Once[reference]]{MaxKept: 4}

// reference returns what samples are compared with, computed once.
func (s *evaluator) reference(ctx context.Context) (*reference, error) {
	return s.referenceCache.Get(func() (*reference, error) { return newReference(ctx, s.target, s.workers) })
}

// absMagnetisation returns |m| of a configuration.
func (s *evaluator) absMagnetisation(config []uint64) float64 {
	return math.Abs(float64(s.target.Magnetisation(config))) / float64(s.target.N)
}

var _ engine.Evaluator = (*evaluator)(nil)
