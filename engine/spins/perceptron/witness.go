package perceptron

import (
	"context"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
)

// A Fitted objective has a witness that is a function of one configuration, and linear
// in coefficients.
type Fitted interface {
	Objective
	// Coefficients adds those of the last discrepancy to c, and returns it; nil stands
	// for zeros.
	Coefficients(c []float64) []float64
	// Witness sets values to the function's at packed states.
	Witness(values, c []float64, states []uint64)
}

// Witness is that of engine.Witnesser.
func (s *System) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	objective := s.objective
	if o, ok := objective.(*score); ok {
		objective = o.Valued
	}
	f, ok := objective.(Fitted)
	if !ok {
		return nil, nil
	}
	c, err := engine.FitWitness(ctx, s, params, s.config.Training.Steps, fit, f.Coefficients)
	if err != nil {
		return nil, err
	}
	return func(values []float64, format string, states []byte) error {
		packed, err := spins.ReadStates(format, states, s.batch.Spins)
		if err != nil {
			return err
		}
		words := s.batch.Words
		if len(packed) != len(values)*words {
			panic("perceptron: as many values as states")
		}
		const rows = 256
		s.workers.Run((len(values)+rows-1)/rows, func(piece int) {
			lo, hi := piece*rows, min(len(values), (piece+1)*rows)
			f.Witness(values[lo:hi], c, packed[lo*words:hi*words])
		})
		return nil
	}, nil
}
