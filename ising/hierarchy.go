package ising

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// largestIrregular is the largest side that is no multiple of four. Such a
// lattice is a graph to the generator, with weights for every site.
const largestIrregular = 31

// network returns the generator that the configuration describes.
func (c *Config) network(workers *pool.Pool) (*hierarchy.Model, error) {
	t, g := &c.Target, &c.Generator
	lattice := hierarchy.Square{Side: t.L, J: t.J, Field: t.H, Beta: t.Beta, Neighbours: g.Neighbours, Hidden: g.Units}
	if t.L%4 == 0 {
		return hierarchy.NewSquare(lattice)
	}
	return hierarchy.NewGraph(hierarchy.Graph{Target: lattice.Target(), Neighbours: g.Neighbours, Hidden: 8 * g.Units}, workers)
}

// hierarchical is engine.System for a generator with a density.
type hierarchical struct {
	*measured
	*hierarchy.System
}

func newHierarchical(c *Config, workers *pool.Pool) (*hierarchical, error) {
	c = conf.Chosen(c)
	m, err := newMeasured(c, workers)
	if err != nil {
		return nil, err
	}
	net, err := c.network(workers)
	if err != nil {
		return nil, fmt.Errorf("generator.%w", err)
	}
	s, err := hierarchy.NewSystem(net, &c.Training, c.Loss.Balancing, &c.Transition, m.target, workers)
	if err != nil {
		return nil, err
	}
	m.Draws, m.Weigher = s.NewDraws, s.Weigher
	return &hierarchical{m, s}, nil
}

// hierarchyDemands bounds the memory of a run.
func (c *Config) hierarchyDemands() []engine.Demand {
	sites := float64(c.Target.L * c.Target.L)
	params := 64 * sites // of a lattice that is a graph, and more than of others
	if c.Target.L%4 != 0 {
		params = sites * float64(8*c.Generator.Units*(c.Generator.Neighbours+2))
	}
	return append(hierarchy.Demands(&c.Training, c.Loss.Balancing, sites, params), engine.Demand{Key: "target.l", Bytes: 4096 * sites})
}

// Evaluate adds to the table of any generator what its density says. ln Z is
// compared with Kaufman's or with the sum over all configurations.
func (s *hierarchical) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	e, err := s.measured.Evaluate(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	logZ, _, err := s.LogZ(ctx)
	if err != nil {
		return nil, err
	}
	return e, s.Reweigh(ctx, params, e, logZ, 0, s.absMagnetisation)
}

// LogZ returns the exact ln Z, NaN where it is not known.
func (s *hierarchical) LogZ(context.Context) (value, standardError float64, err error) {
	if s.target.L <= MaxCounted {
		g, err := CountStates(s.target.L)
		if err != nil {
			return 0, 0, err
		}
		return g.Observables(s.target).LogZ, 0, nil
	}
	k, err := Kaufman(s.target.L, s.target.J, s.target.Beta)
	if err != nil || s.target.H != 0 { // frustrated, or in a field
		return math.NaN(), 0, nil
	}
	return k.LogZ, 0, nil
}
