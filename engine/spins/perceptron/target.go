package perceptron

import (
	"fmt"

	"github.com/revgen/revgen/engine/spins"
)

// A Target is a law π(s) ∝ e^(−βE(s)) of spins, known by moves that leave it as it
// is. It is all that training needs.
type Target interface {
	// Spins returns n, the number of spins.
	Spins() int
	// Kernel returns the transition kernel of a configuration, one step of it, in
	// detailed balance with the law at the inverse temperature fraction·β. An error
	// begins with the key of the configuration that it is about.
	Kernel(c *TransitionConfig, fraction float64) (spins.Kernel, error)
}

// A SymmetricTarget has symmetries besides the flip of all spins.
type SymmetricTarget interface {
	Target
	// Symmetry returns the group of a name that generator.symmetry may have, nil if
	// it has none of that name.
	Symmetry(name string) Symmetry
}

// A GraphTarget is the Boltzmann law of a graph at inverse temperature Beta.
type GraphTarget struct {
	*spins.Graph
	Beta float64
}

// Spins implements Target.
func (t GraphTarget) Spins() int { return t.N() }

// Kernel implements Target, with flips of single spins, of all spins too, or
// heat-bath sweeps.
func (t GraphTarget) Kernel(c *TransitionConfig, fraction float64) (spins.Kernel, error) {
	switch beta := fraction * t.Beta; c.Proposal {
	case "single":
		return spins.NewMetropolis(t.Graph, beta, 0)
	case "mixture":
		m, err := spins.NewMetropolis(t.Graph, beta, c.GlobalFlip)
		if err != nil {
			return nil, fmt.Errorf("transition.global_flip: %w", err)
		}
		return m, nil
	case Sweeping:
		return spins.NewSweeper(t.Graph, beta)
	}
	return nil, fmt.Errorf("transition.proposal: %q is for lattices; a graph takes single, mixture or %s", c.Proposal, Sweeping)
}
