package bench

import (
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/hybrid"
)

func hybridModel(c *hybrid.Config) *model {
	modes := len(c.Target.Mu)
	// For each step a normal number, and for the move within a mode and that between modes three
	// words, the density where it leads and the acceptance.
	step := total(philox.times(1+2*3), normal, work{FMA: 2, Float: 4}.times(2), exponential.times(2))
	m := &model{
		latent: c.Generator.Latent, decided: true,
		known:      c.Transition.Order == "paper-order",
		transition: step.times(float64(c.Transition.Steps)),
		// The kernels that are not zero because of the modes. With the fractions p_c of the modes,
		// which a transition changes little, each of the two sums has Σ p_c² of all pairs whose s′
		// agree, or s and s′, in mode; as kernels are symmetric, half of them need to be evaluated.
		discrepancy: func(s engine.System) phase {
			from, _ := lastMoves[vectors.States](s)
			count := make([]float64, modes)
			for _, k := range from.K {
				count[k]++
			}
			var evaluations float64
			for _, n := range count {
				evaluations += n * n
			}
			// Two differences and their squares, and the sums of the gradient.
			one := total(kernelCounts(c.Loss.Kernel), work{FMA: 2 + 2, Float: 4 + 2})
			return phase{name: "discrepancy", counts: one.times(evaluations)}
		},
		moved: func(s engine.System) []float32 {
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
