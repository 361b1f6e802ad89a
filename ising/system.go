package ising

import (
	"fmt"

	"github.com/revgen/revgen/bitspin"
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
	objective perceptron.Objective // of the lattice's own, nil for one of the kit's
}

func newSystem(c *Config, workers *pool.Pool) (*system, error) {
	c = conf.Chosen(c)
	m, err := newMeasured(c, workers)
	if err != nil {
		return nil, err
	}
	s := &system{measured: m}
	var own func(*perceptron.Batch) (perceptron.Objective, error)
	if c.Loss.Average == "exact" {
		own = func(b *perceptron.Batch) (perceptron.Objective, error) {
			s.objective, err = c.objective(b)
			return s.objective, err
		}
	}
	if s.System, err = perceptron.New(c.perceptron(), lattice{c, m.model}, own, workers); err != nil {
		return nil, err
	}
	m.Draws = func(params []float32) spins.Draws { return s.NewDraws(params) }
	return s, nil
}

// objective returns what only the lattice can be judged by.
func (c *Config) objective(b *perceptron.Batch) (perceptron.Objective, error) {
	o, err := newEnumeratedObjective(c, b)
	if err == nil && c.Loss.RaoBlackwell {
		return newRaoBlackwell(o), nil
	}
	return o, err
}

// lattice is the target, with bitspin's kernels.
type lattice struct {
	config *Config
	model  bitspin.Model
}

func (t lattice) Spins() int { return t.model.N }

func (t lattice) Kernel(_ *spins.TransitionConfig, fraction float64) (spins.Kernel, error) {
	k, err := t.config.newTransition(t.model, fraction*t.config.Target.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return k, nil
}
