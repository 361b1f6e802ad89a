package potts

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/shared"
)

// An evaluator samples and measures generators of any kind. The kind of generator sets Draws of
// the ensemble, and Weigher if it has a density.
type evaluator struct {
	*categories.Ensemble
	config         *Config
	law            *categories.Target
	observables    *observables
	workers        *pool.Pool
	referenceCache shared.Once[reference]
}

func newEvaluator(c *Config, workers *pool.Pool) (*evaluator, error) {
	law, err := c.Target.law()
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	moves, err := categories.NewMoves(law, &c.Transition, 1)
	if err != nil {
		return nil, err
	}
	shape, order := []int{law.N()}, "; site i has the number i from 0"
	switch {
	case c.Target.L > 0:
		shape, order = []int{c.Target.L, c.Target.L}, "; rows and columns of the lattice"
	case c.Target.Labels != nil:
		order = "; site i has the label target.labels[i], the first " + c.Target.Labels[0]
	}
	o := newObservables(law, c.Target.Model)
	return &evaluator{config: c, law: law, observables: o, workers: workers, Ensemble: &categories.Ensemble{
		States: categories.Bytes{Target: law, Shape: shape, Order: order},
		Beta:   law.Beta, Energy: law.Energies, Kernel: moves, Mixing: categories.MixingOf(law),
		Names:   []string{"energy", "energy_squared", "order", "order_squared", "agreement"},
		Observe: o.observe,
		Seed:    c.Training.Seed, Workers: workers,
	}}, nil
}

// system is the engine.System of a generator with a density.
type system struct {
	*evaluator
	*categories.System
}

// paper is the engine.System of the paper's generator, of sites as one-hot spins.
type paper struct {
	*evaluator
	*perceptron.System
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	c = conf.Chosen(c)
	e, err := newEvaluator(c, workers)
	if err != nil {
		return nil, err
	}
	if c.Generator.Kind == "perceptron" {
		t := categories.OneHot{Target: e.law}
		s, err := perceptron.New(c.perceptron(), t, workers)
		if err != nil {
			return nil, err
		}
		e.Draws = func(params []float32) sites.Draws[byte] { return t.Draws(s.NewDraws(params)) }
		return &paper{e, s}, nil
	}
	net, err := categories.NewModel(*e.law, categories.Network{Side: c.Target.side(), Neighbours: c.Generator.Neighbours, Hidden: c.Generator.Units}, workers)
	if err != nil {
		return nil, fmt.Errorf("generator.%w", err)
	}
	s, err := categories.NewSystem(net, &c.Training, c.Loss.Balancing, &c.Transition, workers)
	if err != nil {
		return nil, err
	}
	e.Draws, e.Weigher = s.NewDraws, s.Weigher
	return &system{e, s}, nil
}

// LogZ returns the ln Z of the reference and its standard error, NaN where it is not known.
func (s *evaluator) LogZ(ctx context.Context) (value, standardError float64, err error) {
	r, err := s.reference(ctx)
	if err != nil {
		return 0, 0, err
	}
	return r.logZ, r.logZError, nil
}

var (
	_ engine.Sampler   = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
	_ engine.Scorer    = (*system)(nil)
)
