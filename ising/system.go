package ising

import (
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// system trains a perceptron of the lattice's configurations and knows what there
// is to measure it by.
type system struct {
	*measured
	*perceptron.System
}

func newSystem(c *Config, workers *pool.Pool) (*system, error) {
	c = conf.Chosen(c)
	m, err := newMeasured(c, workers)
	if err != nil {
		return nil, err
	}
	own := c.objective
	if c.Loss.Average != "exact" {
		own = nil
	}
	s, err := perceptron.New(c.perceptron(), m.target, own, workers)
	if err != nil {
		return nil, err
	}
	m.Draws = func(params []float32) spins.Draws { return s.NewDraws(params) }
	return &system{m, s}, nil
}

// objective returns what only the lattice can be judged by.
func (c *Config) objective(b *perceptron.Batch) (perceptron.Objective, error) {
	o, err := newEnumeratedObjective(c, b)
	if err == nil && c.Loss.RaoBlackwell {
		return newRaoBlackwell(o), nil
	}
	return o, err
}
