package ising

import (
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/nn"
)

// Demands implements engine.Demander.
func (c *Config) Demands() []engine.Demand { return c.demands() }

// demands bounds the memory of a run with a configuration that is valid
// otherwise.
func (c *Config) demands() []engine.Demand {
	if c.Generator.Kind == "hierarchy" {
		return c.hierarchyDemands()
	}
	p, n := c.perceptron(), c.Target.L*c.Target.L
	rows, count := float64(c.Training.Batch+nn.BlockRows()), float64(n)
	var all []engine.Demand
	switch l := &c.Loss; {
	case l.Average == "exact":
		states := math.Exp2(count)
		matrix := states
		if n > MaxMatrixSites {
			matrix = 1 << 10 // orbits of the 4×4 lattice, or moves of one step
		}
		all = append(p.OwnDemands(n), engine.Demand{Key: "target.l", Bytes: 64*matrix*matrix + 256*states})
		if l.RaoBlackwell { // a law of all configurations for each block of rows
			laws := rows * (16*math.Exp2(math.Ceil(count/2)) + 8*states/float64(nn.BlockRows()))
			all = append(all, engine.Demand{Key: "training.batch", Bytes: laws})
		}
	case l.Kind == "kfd" && l.Witness.Features == "invariant":
		features := newInvariants(c.Target.L, newSymmetry(c.Generator.Symmetry, c.Target.L).flip).count
		all = append(p.OwnDemands(n), engine.Demand{Key: "training.batch",
			Bytes: kfd.Bytes(c.Training.Batch, features) + rows*(4*float64(features)+8*count)})
	default:
		all = p.Demands(n)
	}
	const chunk = 1 << 16 // of an evaluation
	return append(all, engine.Demand{Key: "target.l", Bytes: chunk*8*float64(bitspin.Words(n)) + 16*count*count})
}
