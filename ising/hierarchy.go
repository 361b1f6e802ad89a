package ising

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// maxIrregularSide is the largest side that need not be a multiple of four. The generator treats
// an irregular lattice as a graph, with weights for every site.
const maxIrregularSide = 31

// hierarchy returns the hierarchy that the configuration describes.
func (c *Config) hierarchy() *hierarchy.Config {
	t, g := &c.Target, &c.Generator
	sites := float64(t.L * t.L)
	params := 64 * sites // more than enough for weights that the sites share
	if t.L%4 != 0 {
		params = sites * float64(8*g.Units*(g.Neighbours+2))
	}
	return &hierarchy.Config{
		Training: &c.Training, Transition: &c.Transition, Loss: c.Loss.Balancing, Params: params,
		Description: "a hierarchy of spins, from coarse to fine",
		Check: func() error {
			if err := conf.First(
				conf.Between("generator.neighbours", g.Neighbours, hierarchy.MinNeighbours, hierarchy.MaxNeighbours),
				conf.Between("generator.units", g.Units, 1, hierarchy.MaxHidden)); err != nil {
				return err
			}
			switch {
			case g.From == "half" && t.L%8 != 0:
				return fmt.Errorf("generator.from: half of target.l = %d is not a multiple of 4; set it to scratch", t.L)
			case t.L%4 != 0 && t.L > maxIrregularSide:
				return fmt.Errorf("generator.kind: a hierarchy's groups halve the lattice, so that target.l = %d must be a multiple of 4, or at most %d; set it so, or generator.kind to perceptron with loss.kind mmd", t.L, maxIrregularSide)
			}
			return nil
		},
		Network: func(workers *pool.Pool) (*hierarchy.Model, error) {
			lattice := hierarchy.Square{Side: t.L, J: t.J, Field: t.H, Beta: t.Beta, Neighbours: g.Neighbours, Hidden: g.Units, Rotations: g.Symmetries == "rotations"}
			if t.L%4 == 0 {
				return hierarchy.NewSquare(lattice)
			}
			return hierarchy.NewGraph(hierarchy.Graph{Target: lattice.Target(), Neighbours: g.Neighbours, Hidden: 8 * g.Units}, workers)
		},
	}
}

// LogZ returns the exact ln Z, NaN where it is not known.
func (s *evaluator) LogZ(context.Context) (value, standardError float64, err error) {
	if s.target.L <= MaxCounted {
		return crash.Must(CountStates(s.target.L)).Observables(s.target).LogZ, 0, nil
	}
	k, err := Kaufman(s.target.L, s.target.J, s.target.Beta)
	if err != nil || s.target.H != 0 { // frustrated, or in a field
		return math.NaN(), 0, nil
	}
	return k.LogZ, 0, nil
}
