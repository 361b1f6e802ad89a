package ising

import (
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
	s, err := perceptron.New(c.perceptron(), m.target, workers)
	if err != nil {
		return nil, err
	}
	m.Draws = s.NewDraws
	return &system{m, s}, nil
}
