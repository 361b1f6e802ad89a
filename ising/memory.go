package ising

import (
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
)

// demands bounds the memory of a run with a configuration that is valid
// otherwise.
func (c *Config) demands() []engine.Demand {
	if c.Generator.Kind == "hierarchy" {
		return c.hierarchyDemands()
	}
	g := newGenerator(c.Generator, c.Target.L)
	n, spins, words := c.Training.Batch, float64(g.spins), float64(bitspin.Words(g.spins))
	width, widest := 0, 0
	for l := range g.net.Layers() + 1 {
		width, widest = width+g.net.Width(l), max(widest, g.net.Width(l))
	}
	rows := float64(n + nn.BlockRows())
	// Activations; ∂L/∂h, uniforms and odds of the head, s and s′; moves and values.
	perRow := 4*float64(width) + 4*5*spins + 8*4*words + 64
	if c.Loss.Gradient == "full" {
		perRow += 4 * spins
	}
	batch := rows*perRow + float64(nn.LanesOf(n)*nn.BlockRows())*8*float64(widest)

	all := c.Training.Demands(g.numParams())
	switch l := &c.Loss; {
	case l.Average == "exact":
		states := math.Exp2(spins)
		matrix := states
		if g.spins > MaxMatrixSites {
			matrix = 1 << 10 // orbits of the 4×4 lattice, or moves of one step
		}
		if l.RaoBlackwell { // a law of all configurations for each block of rows
			batch += rows * (16*math.Exp2(math.Ceil(spins/2)) + 8*states/float64(nn.BlockRows()))
		}
		all = append(all, engine.Demand{Key: "target.l", Bytes: 64*matrix*matrix + 256*states})
	case l.Kind == "kfd" && l.Witness.Features == "invariant":
		count := newInvariants(c.Target.L, g.symmetry.flip).count
		batch += rows * 8 * spins
		all = append(all, engine.Demand{Key: "training.batch", Bytes: kfd.Bytes(n, count) + rows*4*float64(count)})
	case l.Kind == "kfd":
		r := max(l.Witness.Rank, g.spins*(g.spins+1)/2) // sets of one and two sites are always there
		all = append(all, engine.Demand{Key: "loss.witness.rank", Bytes: kfd.Bytes(n, r) + rows*4*64})
	case l.Kind == "discriminator":
		all = append(all, engine.Demand{Key: "training.batch", Bytes: l.Discriminator.Bytes(n, g.spins) + rows*12*spins})
	default:
		batch += mmd.HammingBytes(n, g.spins)
	}
	const chunk = 1 << 16 // of an evaluation
	return append(all, engine.Demand{Key: "training.batch", Bytes: batch},
		engine.Demand{Key: "target.l", Bytes: chunk*8*words + 16*spins*spins})
}
