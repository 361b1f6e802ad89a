package engine

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

// LogWeight is the observable ln π − ln q of a generator whose density q is known, π
// as the target gives it: where q is right it is ln Z everywhere. It may be −Inf.
const LogWeight = "log_weight"
