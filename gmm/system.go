package gmm

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/reals"
	"github.com/revgen/revgen/internal/pool"
)

// system trains a generator of a mixture and knows what there is to measure it
// by.
type system struct {
	*reals.System
	config  *Config
	target  *Target
	workers *pool.Pool
}

func newSystem(c *Config, workers *pool.Pool) (*system, error) {
	target, err := NewTarget(c.Target)
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	s, err := reals.New(&c.Config, newDensity(target), workers)
	if err != nil {
		return nil, err
	}
	return &system{s, c, target, workers}, nil
}

// A sampler draws from the system's generator.
type sampler struct {
	*reals.Sampler
	s *system
}

func (s *system) newSampler(params []float32) *sampler {
	return &sampler{s.NewSampler(params), s}
}

var (
	_ engine.System    = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
	_ engine.Sampler   = (*system)(nil)
)
