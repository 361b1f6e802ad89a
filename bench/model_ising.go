package bench

import (
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/ising"
)

func isingModel(c *ising.Config) *model {
	n, spins := c.Training.Batch, c.Target.L*c.Target.L
	m := &model{
		latent:  c.Generator.Latent,
		hasPeer: c.Generator.Head == "sign" && c.Loss.Kind == "mmd" && c.Loss.Gradient == string(mmd.Surrogate),
		// A Metropolis step takes a block of random words, the choice of a site, and its spin's
		// update: a mask, two levels of small lattices, a threshold of 64 bits.
		transition: sumOf(work{Multiply: 1, Integer: 8}, philox.times(4)).times(float64(c.Transition.Steps)),
		discrepancy: func(s engine.System) phase {
			from, to := lastMoves[[]uint64](s)
			path, _, _ := asm.Active()
			shape := shapeOf(from, to, n)
			shape.measureFar(from, to, n, spins, reachOf(&c.Loss.Kernel, spins))
			return hammingPhase("discrepancy", path, shape, spins)
		},
		movedStates: func(s engine.System) []float32 {
			_, to := lastMoves[[]uint64](s)
			t := make([]float32, n*spins)
			bitspin.Unpack(t, to, spins)
			return t
		},
	}
	m.forward, m.backward = perceptron(true, slices.Concat([]int{m.latent}, c.Generator.Hidden, []int{spins})...)
	return m
}
