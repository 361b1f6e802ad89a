package ising

import (
	"context"
	"fmt"
	"sync"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// measured is what any generator of the lattice's configurations is sampled and
// measured by. Who embeds it sets its Source.
type measured struct {
	*spins.Ensemble
	config  *Config
	model   bitspin.Model
	workers *pool.Pool
	exact   struct {
		sync.Mutex
		*reference
	} // computed when first asked for
}

func newMeasured(c *Config, workers *pool.Pool) (*measured, error) {
	model, err := c.model()
	if err != nil {
		return nil, err
	}
	moving, err := c.newTransition(model, c.Target.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return &measured{config: c, model: model, workers: workers, Ensemble: &spins.Ensemble{
		Spins: model.N, Shape: []int{model.L, model.L}, Order: "; spin i is that of row i div L and column i mod L",
		Beta: c.Target.Beta, Energy: model.Energies, Even: model.H == 0, Kernel: moving,
		Mixing: func(beta float64) (spins.Kernel, error) { return bitspin.NewSweeper(model, beta) },
		Names:  observables(model.L), Observe: newObserver(model).see, Seed: c.Training.Seed, Workers: workers,
	}}, nil
}

// reference returns what samples are compared with, computed once, for runs of other
// seeds too if they follow one another.
func (s *measured) reference(ctx context.Context) (*reference, error) {
	s.exact.Lock()
	defer s.exact.Unlock()
	if s.exact.reference == nil {
		r, err := s.workers.Recall(s.config.Target, func() (any, error) {
			return newReference(ctx, Target{s.model, s.config.Target.Beta}, s.workers)
		})
		if err != nil {
			return nil, err
		}
		s.exact.reference = r.(*reference)
	}
	return s.exact.reference, nil
}

var _ engine.Evaluator = (*measured)(nil)
