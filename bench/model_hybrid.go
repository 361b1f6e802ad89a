package bench

import (
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/hybrid"
)

func hybridModel(c *hybrid.Config) *model {
	modes := len(c.Target.Mu)
	// A step takes a normal number and, for each of its two moves, within a mode and between
	// modes, three words, the density at the move's end and the acceptance.
	step := sumOf(philox.times(1+2*3), normal, work{FMA: 2, Float: 4}.times(2), exponential.times(2))
	m := &model{
		latent: c.Generator.Latent, discrete: true,
		hasPeer:    c.Transition.Order == "paper-order",
		transition: step.times(float64(c.Transition.Steps)),
		// Kernels are zero between different modes. Transitions change the modes' fractions p_c
		// little, so in each of the two sums the fraction Σ p_c² of all pairs has equal modes. As
		// kernels are symmetric, half of these need to be evaluated.
		discrepancy: func(s engine.System) phase {
			from, _ := lastMoves[vectors.States](s)
			counts := make([]float64, modes)
			for _, k := range from.K {
				counts[k]++
			}
			var evaluations float64
			for _, n := range counts {
				evaluations += n * n
			}
			// Two differences and their squares, and the sums of the gradient.
			evaluation := sumOf(kernelWork(c.Loss.Kernel), work{FMA: 2 + 2, Float: 4 + 2})
			return phase{name: "discrepancy", counts: evaluation.times(evaluations)}
		},
		movedStates: func(s engine.System) []float32 {
			_, to := lastMoves[vectors.States](s)
			width := 1 + modes
			t := make([]float32, to.Len()*width)
			for i, k := range to.K {
				t[i*width], t[i*width+1+int(k)] = to.X[i], 1
			}
			return t
		},
	}
	m.forward, m.backward = perceptron(true, slices.Concat([]int{m.latent}, c.Generator.Hidden, []int{1 + modes})...)
	return m
}
