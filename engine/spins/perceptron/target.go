package perceptron

import "github.com/revgen/revgen/engine/spins"

// A Target is a law π(s) ∝ e^(−βE(s)) of spins, known by moves that leave it as it
// is. It is all that training needs.
type Target interface {
	// Spins returns n, the number of spins.
	Spins() int
	spins.Moving
}

// A Categorical target's spins are the states of sites: those of one site follow each other,
// and the only one that is up says which it is in. Its generators have the head "sign".
type Categorical interface {
	Target
	// States returns the numbers of spins of the sites.
	States() []int
}
