// Package search trains a parameter vector by values of a loss alone, without a
// derivative of anything (the paper's remark on extensibility): evolution
// strategies and consensus-based optimisation.
//
// Whoever searches hands over the parameters, which a search moves, and a loss
// that gives all candidates of one step the same random numbers:
//
//	s := search.New(config, search.Problem{Params: params, Loss: loss, …})
//	for step := 1; step <= steps; step++ {
//		loss, norm, err := s.Look(ctx, step)
//		finite := s.Move(step, 1)
//	}
package search

import (
	"context"
	"errors"

	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// Methods says how θ is trained: by the gradient of the loss, or from losses
// alone.
type Methods struct {
	// Method is "gradient", "evolution" or "consensus".
	Method    string    `json:"method" enum:"gradient,evolution,consensus"`
	Evolution Evolution `json:"evolution" when:"method=evolution"`
	Consensus Consensus `json:"consensus" when:"method=consensus"`
}

// ByGradient returns the methods with the gradient chosen, and usable values
// for the others.
func ByGradient() Methods {
	return Methods{
		Method:    "gradient",
		Evolution: Evolution{Pairs: 32, Sigma: 0.03, Fitness: "rank"},
		Consensus: Consensus{Particles: 64, Spread: 0.3, Sharpness: 20, Noise: 1, TimeStep: 0.02},
	}
}

// Validate reports the first value of the chosen method that cannot be used, by
// its key, after conf.Check has checked the tags. clip is the largest norm of a gradient, 0 for none.
func (m *Methods) Validate(clip float64) error {
	switch {
	case m.Method != "consensus":
		return nil
	case clip > 0:
		return errors.New("clip_norm: consensus-based optimisation has no gradient to clip; set it to 0")
	}
	return conf.Under("consensus", m.Consensus.validate())
}

// A Search takes θ from one step to the next. Its methods allocate nothing and
// give the same bits for any number of threads.
type Search interface {
	// Look evaluates the loss of the given step at several θ and finds a direction.
	// It returns the loss and the direction's norm. After an error, of a loss or of
	// ctx, nothing has changed.
	Look(ctx context.Context, step int) (loss, norm float64, err error)
	// Move takes a step in that direction, its length multiplied by rate, and
	// reports whether all parameters are finite.
	Move(step int, rate float64) (finite bool)
	// Average is the exponential average of θ, nil if there is none.
	Average() []float32
	// State lists what a search carries from step to step besides θ.
	State() []state.Section
}

// A Problem is a loss to minimise, and what a search needs for that.
type Problem struct {
	Params []float32 // θ, which the search moves
	Grad   []float32 // buffer for the estimate of ∂L/∂θ by evolution strategies
	// Loss returns L at the given parameters. All losses of a step draw the same
	// random numbers.
	Loss      func(params []float32, step uint32) (float64, error)
	Optimizer *optim.Optimizer // of evolution strategies
	EMA       float64          // decay of the average of consensus points, 0 for none
	Seed      uint64
	Workers   *pool.Pool
}

// New returns the search that m names, nil for the gradient.
func New(m Methods, p Problem) Search {
	switch m.Method {
	case "evolution":
		return newEvolution(p, m.Evolution)
	case "consensus":
		return newConsensus(p, m.Consensus)
	}
	return nil
}

// StepLength returns the step length that the schedule multiplies: the
// optimiser's learning rate or the time step.
func (m *Methods) StepLength(learningRate float64) float64 {
	if m.Method == "consensus" {
		return m.Consensus.TimeStep
	}
	return learningRate
}
