package engine

import "context"

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

// A Witnesser is a system whose loss may see a law by a witness of least squares, a
// function of states.
type Witnesser interface {
	Energetic
	// Witness fits the witness to fresh samples of the generator with parameters params
	// and their moves, and returns a function that sets values to it at states in a
	// Sampler's format that holds all of a state; nil if the loss has none. Fits of
	// different numbers, 0, 1, …, see different samples.
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
