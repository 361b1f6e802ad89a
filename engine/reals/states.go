package reals

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/vectors"
)

// Witness implements engine.Witnesser: that of least squares is a function of a state.
func (s *System) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	loss, ok := s.loss.(*kfd.Random)
	if !ok {
		return nil, nil
	}
	c, err := engine.FitWitness(ctx, s, params, s.config.Training.Steps, fit, loss.Coefficients)
	return s.AtStates(func(values []float64, states vectors.States) { loss.At(values, c, states.X) }), err
}

// WitnessDivergence implements engine.Foreteller.
func (s *System) WitnessDivergence() float64 {
	loss, ok := s.loss.(*kfd.Random)
	if !ok {
		return math.NaN()
	}
	return engine.WitnessDivergence(s.config.Training.Batch, loss.Halves(), func(values, c []float64) { loss.At(values, c, s.states) })
}

var _ engine.Foreteller = (*System)(nil)
