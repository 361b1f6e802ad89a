package perceptron

import "github.com/revgen/revgen/engine/spins"

// A Categorical target's spins are the states of sites: those of one site follow each other,
// and the only one that is up says which it is in. Its generators have the head "sign".
type Categorical interface {
	spins.Target
	// States returns the numbers of spins of the sites.
	States() []int
}
