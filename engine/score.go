package engine

import (
	"context"
	"errors"
	"math"

	"github.com/revgen/revgen/internal/stat"
)

// A Scorer evaluates functions of any states.
type Scorer interface {
	Energetic
	// Observables names them, as an Observer's; LogWeight is the last.
	Observables() []string
	// Score sets values, [states][len(Observables())], row-major, of states in a Sampler's
	// format that holds all of a state. LogWeight is ln π − ln q, π = e^{−βE} by
	// Energies and q the density of the generator with parameters params; if these are
	// nil it is NaN.
	Score(values []float64, params []float32, format string, states []byte) error
}

// A Witnesser knows what its loss sees in a law: the witness, a function of states.
type Witnesser interface {
	Energetic
	// Witness fits the witness to fresh samples of the generator with parameters params
	// and their moves, and returns a function that sets values to it at states in a
	// Sampler's format that holds all of a state; nil if the loss has none that is a
	// function of one state. Fits of different numbers, 0, 1, …, see different samples.
	// The system must not be trained meanwhile, and has another witness afterwards. The
	// error may be ctx's.
	Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error)
}

// A Foreteller is a system whose loss may have a least-squares witness, which tells of every
// step how far the generator is from its target.
type Foreteller interface {
	// WitnessDivergence returns ½Cov(g, g′) over the last batch, where g and g′ are the
	// witnesses that its loss fitted to the batch's two halves, whose noise is
	// independent: near the target g is ln q − ln π up to a constant, and this an
	// estimate of KL(q‖π) to second order, at the step's temperature. It is NaN if the
	// loss has no such witness.
	WitnessDivergence() float64
}

// WitnessDivergence returns ½Cov(g, g′) over n states, at which at sets values to the
// witness of given coefficients, of which there are those of the two halves; NaN if these
// are nil.
func WitnessDivergence(n int, halves [2][]float64, at func(values, c []float64)) float64 {
	if halves[0] == nil {
		return math.NaN()
	}
	var g [2][]float64
	for half, c := range halves {
		g[half] = make([]float64, n)
		at(g[half], c)
	}
	return stat.Covariance(g[0], g[1]) / 2
}

// witnessBatches are those that a witness is the mean over, after as many in which its
// second moments settle.
const witnessBatches = 64

// FitWitness takes batches of a generator that no training step draws, and no fit of
// another number, through a system's loss. It returns the mean of the witness's
// coefficients over those that count, where add adds the last one's to c, and makes c
// where it is nil.
func FitWitness(ctx context.Context, s System, params []float32, trained, fit int, add func(c []float64) []float64) (c []float64, err error) {
	for i := range 2 * witnessBatches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := uint32(trained + 1 + 2*witnessBatches*fit + i)
		s.Generate(params, step)
		s.Transition(step)
		if loss := s.Discrepancy(step); loss != loss {
			return nil, errors.New("the loss's witness has no numbers that can be used at this generator; a larger loss.witness.ridge may help")
		}
		if i >= witnessBatches {
			c = add(c)
		}
	}
	for i := range c {
		c[i] /= witnessBatches
	}
	return c, nil
}
