package perceptron

import "github.com/revgen/revgen/engine/spins"

// A Target is a law π(s) ∝ e^(−βE(s)) of spins, known by moves that leave it as it
// is. It is all that training needs.
type Target interface {
	// Spins returns n, the number of spins.
	Spins() int
	spins.Moving
}
