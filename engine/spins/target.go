package spins

import (
	"fmt"

	"github.com/revgen/revgen/engine/sites"
)

// A Kernel is a transition kernel of packed configurations: a Metropolis or Flips of package
// bitspin, or a Sweeper of either. It does not allocate.
type Kernel = sites.Kernel[uint64]

// A Target is a law π(s) ∝ e^(−βE(s)) of spins, given by transition kernels that leave it
// invariant. Training needs no more.
type Target interface {
	// Spins returns n, the number of spins.
	Spins() int
	Kernels[uint64]
}

// Kernels are the transition kernels of a law of any sites.
type Kernels[W uint64 | byte] interface {
	// Kernel returns a kernel whose steps are one step of the configured transition, in
	// detailed balance with the law at inverse temperature fraction·β. An error begins with
	// the key of the configuration that it is about.
	Kernel(c *TransitionConfig, fraction float64) (sites.Kernel[W], error)
}

// A Boltzmann is the law of a graph at inverse temperature Beta.
type Boltzmann struct {
	*Graph
	Beta float64
}

// Spins implements Target.
func (t Boltzmann) Spins() int { return t.N() }

// Kernel implements Target: flips of single spins, also of all spins, or heat-bath sweeps.
func (t Boltzmann) Kernel(c *TransitionConfig, fraction float64) (Kernel, error) {
	switch beta := fraction * t.Beta; c.Proposal {
	case "single":
		return NewMetropolis(t.Graph, beta, 0)
	case "mixture":
		m, err := NewMetropolis(t.Graph, beta, c.GlobalFlip)
		if err != nil {
			return nil, fmt.Errorf("transition.global_flip: %w", err)
		}
		return m, nil
	case Sweeping:
		return NewSweeper(t.Graph, beta)
	}
	return nil, fmt.Errorf("transition.proposal: %q is for lattices; a graph takes single, mixture or %s", c.Proposal, Sweeping)
}
