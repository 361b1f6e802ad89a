package bench

import (
	"encoding/binary"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/hybrid"
)

type hybridModel struct{ *hybrid.Config }

func (m hybridModel) generator() (forward, backward work) {
	return perceptron(true, slices.Concat([]int{m.Generator.Latent}, m.Generator.Hidden, []int{1 + len(m.Target.Mu)})...)
}

// discrepancy counts the kernels that are not zero because of the modes. With
// the fractions p_c of the modes, which a transition changes little, each of
// the two sums has Σ p_c² of all pairs whose s′ agree, or s and s′, in mode; as
// kernels are symmetric, half of them need to be evaluated.
func (m hybridModel) discrepancy(s engine.System, params []float32) ([]phase, error) {
	n := m.Training.Batch
	states := make([]byte, 8*n) // x and k of each
	if err := s.(engine.Sampler).Sample(states, "states", params, 0, n, 0); err != nil {
		return nil, err
	}
	count := make([]float64, len(m.Target.Mu))
	for i := range n {
		count[binary.LittleEndian.Uint32(states[8*i+4:])]++
	}
	var evaluations float64
	for _, c := range count {
		evaluations += c * c
	}
	kernel := kernelCounts(m.Loss.Kernel)
	// Two differences and their squares, and the sums of the gradient.
	return []phase{{name: "discrepancy", counts: map[Resource]float64{
		FMA:   evaluations * (kernel[FMA] + 2 + 2),
		Float: evaluations * (kernel[Float] + 4 + 2),
	}}}, nil
}

// transition counts, for each step, a normal number, and for the move within a mode and that
// between modes three words, the density where it leads and the acceptance.
func (m hybridModel) transition() work {
	step := total(philox.times(1+2*3), normal, work{FMA: 2, Float: 4}.times(2), exponential.times(2))
	return step.times(float64(m.Transition.Steps))
}

func (m hybridModel) step(s engine.System, params []float32) (need, error) {
	return byPairs(m, m.Training.Batch, s, params)
}

func (m hybridModel) known() bool { return m.Transition.Order == "paper-order" }

func (m hybridModel) latent() (dim int, decided bool) { return m.Generator.Latent, true }

func (m hybridModel) moved(s engine.System) []float32 {
	_, to := lastMoves[vectors.States](s)
	width := 1 + len(m.Target.Mu)
	t := make([]float32, to.Len()*width)
	for i, k := range to.K {
		t[i*width], t[i*width+1+int(k)] = to.X[i], 1
	}
	return t
}
