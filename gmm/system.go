package gmm

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// system trains a generator of a mixture and measures it.
type system struct {
	*vectors.System
	config *Config
	target *Target
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	target, err := NewTarget(c.Target)
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	return &system{vectors.New(&c.Config, newDensity(target), workers), c, target}, nil
}

// A sampler draws from the system's generator, and evaluates the target beside it.
type sampler struct {
	*vectors.Sampler
	system    *system
	densities *pool.Tools[*density] // of the target, one for each thread
}

func (s *system) newSampler(params []float32) *sampler {
	return &sampler{s.NewSampler(params), s, pool.NewTools(s.Workers, func() *density { return newDensity(s.target) })}
}

// states returns rows of x as a batch.
func (s *system) states(x []float32) vectors.States { return vectors.States{Dim: s.Dim, X: x} }

var _ engine.Evaluator = (*system)(nil)
