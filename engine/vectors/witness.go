package vectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/internal/stat"
)

// A Witness is that of least squares of a system's loss: a function of a state that is
// linear in coefficients.
type Witness struct {
	System engine.System
	Steps  int // of its training
	Loss   *kfd.Witness
	Batch  []float32 // states of a step
}

// witnessBatches are those that a witness is the mean over, after as many in which its
// second moments settle.
const witnessBatches = 64

// fit takes batches of the generator that no training step draws, and no fit of another
// number, through the loss. It returns the mean of the witness's coefficients over those
// that count.
func (w *Witness) fit(ctx context.Context, params []float32, number int) (c []float64, err error) {
	for i := range 2 * witnessBatches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := uint32(w.Steps + 1 + 2*witnessBatches*number + i)
		w.System.Generate(params, step)
		w.System.Transition(step)
		if loss := w.System.Discrepancy(step); loss != loss {
			return nil, errors.New("the loss's witness has no numbers that can be used at this generator; a larger loss.witness.ridge may help")
		}
		if i >= witnessBatches {
			c = w.Loss.Coefficients(c)
		}
	}
	for i := range c {
		c[i] /= witnessBatches
	}
	return c, nil
}

// Witness implements engine.Witnesser.
func (e *Ensemble) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	w := e.Fitted
	if w == nil {
		return nil, nil
	}
	c, err := w.fit(ctx, params, fit)
	return func(values []float64, format string, states []byte) error {
		s, err := e.read(format, states)
		if err == nil && s.Len() != len(values) {
			err = fmt.Errorf("states: there are %d for %d values", s.Len(), len(values))
		}
		if err == nil {
			w.Loss.At(values, c, s.X)
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
	var g [2][]float64
	for half, c := range w.Loss.Halves() {
		g[half] = make([]float64, len(w.Batch)/e.Dim)
		w.Loss.At(g[half], c, w.Batch)
	}
	return stat.Covariance(g[0], g[1]) / 2
}

// State implements engine.Stateful: what the witness carries from step to step.
func (e *Ensemble) State() []engine.Section {
	if e.Fitted == nil {
		return nil
	}
	return e.Fitted.Loss.State()
}

var (
	_ engine.Witnesser  = (*Ensemble)(nil)
	_ engine.Foreteller = (*Ensemble)(nil)
	_ engine.Stateful   = (*Ensemble)(nil)
)
