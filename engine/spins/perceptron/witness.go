package perceptron

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
)

// A Fitted objective has a witness that is a function of one configuration, and linear
// in coefficients.
type Fitted interface {
	Objective
	// Halves returns the coefficients of the witnesses of the two halves of the last
	// batch, nil where these are not of least squares.
	Halves() [2][]float64
	// Coefficients adds those of the last discrepancy to c, and returns it; nil stands
	// for zeros.
	Coefficients(c []float64) []float64
	// Witness sets values to the function's at packed states.
	Witness(values, c []float64, states []uint64)
}

// WitnessDivergence implements engine.Foreteller.
func (s *System) WitnessDivergence() float64 {
	f, ok := s.Objective().(Fitted)
	if !ok {
		return math.NaN()
	}
	return engine.WitnessDivergence(s.batch.Rows, f.Halves(), func(values, c []float64) { s.atStates(f, values, c, s.batch.States) })
}

// atStates sets values to the witness of the given coefficients at packed states.
func (s *System) atStates(f Fitted, values, c []float64, states []uint64) {
	const rows = 256
	words := s.batch.Words
	s.workers.Run((len(values)+rows-1)/rows, func(piece int) {
		lo, hi := piece*rows, min(len(values), (piece+1)*rows)
		f.Witness(values[lo:hi], c, states[lo*words:hi*words])
	})
}

// Witness is that of engine.Witnesser.
func (s *System) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	f, ok := s.Objective().(Fitted)
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
		s.atStates(f, values, c, packed)
		return nil
	}, nil
}

var _ engine.Foreteller = (*System)(nil)
