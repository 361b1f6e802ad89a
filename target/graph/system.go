package graph

import (
	"fmt"
	"math"

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
	graph          *spins.Graph
	workers        *pool.Pool
	referenceCache shared.Once[reference]
}

// law returns the target in the form of package hierarchy.
func (t *TargetConfig) law() hierarchy.Target {
	return hierarchy.Target{Spins: t.Spins, Bonds: t.Edges, Fields: t.Fields, Offset: t.Offset, Beta: t.Beta}
}

func newEvaluator(c *Config, workers *pool.Pool) (*evaluator, error) {
	g, err := c.Target.graph()
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	kernel, err := spins.Boltzmann{Graph: g, Beta: c.Target.Beta}.Kernel(&c.Transition, 1)
	if err != nil {
		return nil, err
	}
	order := "; spin i has the number i from 0"
	if c.Target.Labels != nil {
		order = "; spin i has the label target.labels[i], the first " + g.Label(0)
	}
	return &evaluator{config: c, graph: g, workers: workers, Ensemble: &spins.Ensemble{
		States: spins.Packed{Spins: g.N(), Shape: []int{g.N()}, Order: order, Even: !g.HasFields()},
		Beta:   c.Target.Beta, Energy: g.Energies, Kernel: kernel,
		Mixing: func(beta float64) (spins.Kernel, error) { return spins.NewSweeper(g, beta) }, Tempered: true,
		Names: []string{"energy", "energy_squared", "magnetisation", "abs_magnetisation", "magnetisation_squared"},
		Observe: func(values []float64, stride int, batch []uint64) {
			for i := 0; i*g.Words() < len(batch); i++ {
				config := batch[i*g.Words():][:g.Words()]
				e, m := g.Energy(config), float64(g.Magnetisation(config))/float64(g.N())
				copy(values[i*stride:], []float64{e, e * e, m, math.Abs(m), m * m})
			}
		},
		Seed: c.Training.Seed, Workers: workers,
	}}, nil
}

// Operations returns how many numbers a sweep computes.
func (s *evaluator) Operations() int { return len(s.config.Target.Edges) }

var (
	_ engine.Adapter   = (*Config)(nil)
	_ engine.Loader    = (*Config)(nil)
	_ engine.Explainer = (*Config)(nil)
	_ engine.Sampler   = (*evaluator)(nil)
	_ engine.Evaluator = (*hierarchical)(nil)
	_ engine.Scorer    = (*evaluator)(nil)
)
