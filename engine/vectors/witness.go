package vectors

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
)

// A Witness is that of least squares of a system's loss: a function of a state that is
// linear in coefficients.
type Witness struct {
	System engine.System
	Steps  int // of its training
	Loss   interface {
		// Halves returns the coefficients of the two halves of the last batch.
		Halves() [2][]float64
		// Coefficients adds those of the last batch to c, nil for zeros, and returns it.
		Coefficients(c []float64) []float64
	}
	Batch States                              // of a step
	At    func(values, c []float64, s States) // sets values to the function's at states
}

// Witness implements engine.Witnesser.
func (e *Ensemble) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	w := e.Fitted
	if w == nil {
		return nil, nil
	}
	c, err := engine.FitWitness(ctx, w.System, params, w.Steps, fit, w.Loss.Coefficients)
	return func(values []float64, format string, states []byte) error {
		s, err := e.Read(format, states)
		if err == nil && s.Len() != len(values) {
			err = fmt.Errorf("states: there are %d for %d values", s.Len(), len(values))
		}
		if err == nil {
			w.At(values, c, s)
		}
		return err
	}, cmp.Or(err, e.err())
}

// WitnessDivergence implements engine.Foreteller.
func (e *Ensemble) WitnessDivergence() float64 {
	w := e.Fitted
	if w == nil {
		return math.NaN()
	}
	return engine.WitnessDivergence(w.Batch.Len(), w.Loss.Halves(), func(values, c []float64) { w.At(values, c, w.Batch) })
}

var (
	_ engine.Witnesser  = (*Ensemble)(nil)
	_ engine.Foreteller = (*Ensemble)(nil)
)
