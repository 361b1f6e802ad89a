package mixed

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
)

// Witness implements engine.Witnesser: that of least squares is a function of a state.
func (s *System) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	o, ok := s.objective.(*leastSquares)
	if !ok {
		return nil, nil
	}
	c, err := engine.FitWitness(ctx, s, params, s.config.Training.Steps, fit, o.fit.Coefficients)
	return s.AtStates(func(values []float64, states vectors.States) { o.fit.At(values, c, states.X, states.K) }), err
}

// WitnessDivergence implements engine.Foreteller.
func (s *System) WitnessDivergence() float64 {
	o, ok := s.objective.(*leastSquares)
	if !ok {
		return math.NaN()
	}
	return engine.WitnessDivergence(len(s.batch.k), o.fit.Halves(), func(values, c []float64) { o.fit.At(values, c, s.batch.x, s.batch.k) })
}

var _ engine.Foreteller = (*System)(nil)
