package mixed

import (
	"context"

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
