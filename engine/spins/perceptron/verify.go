package perceptron

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// CheckBackward takes a training step's gradient with respect to the parameters by
// backward, which is System.Backward but in tests, and returns its largest
// difference from central differences in float64, along so many random directions
// of each tensor and relative to the largest of these. Straight-through, the spin
// layer passes ∂L/∂s as if s were tanh(h/τ), so with c = ∂L/∂s fixed the gradient
// is that of
//
//	Σ c·tanh(h(θ)/τ),
//
// whose logits are computed again in float64. It is for a straight-through estimator,
// without a symmetry or learned signs.
func (s *System) CheckBackward(backward func(params, grad []float32), directions int) (worst float64) {
	const step = 1e-6
	params, grad := make([]float32, s.NumParams()), make([]float32, s.NumParams())
	s.Initialize(params)
	s.Generate(params, 0)
	s.Transition(0)
	s.Discrepancy(0)
	c := append([]float32(nil), s.batch.Grad...)
	backward(params, grad)

	wide, noise := make([]float64, len(params)), make([]float64, len(s.activations[0]))
	for i, x := range params {
		wide[i] = float64(x)
	}
	for i, x := range s.activations[0] {
		noise[i] = float64(x)
	}
	net := s.generator.net
	objective := func() (sum float64) {
		for r := range s.batch.Rows {
			for i, h := range net.Forward64(wide, noise[r*net.In():][:net.In()]) {
				sum += float64(c[r*net.Out()+i]) * math.Tanh(h/s.width)
			}
		}
		return sum
	}
	// A direction of random signs moves all parameters of one tensor at once.
	offset := 0
	for tensor := range 2 * net.Layers() {
		size := len(net.Weights(params, tensor/2))
		if tensor%2 == 1 {
			size = len(net.Biases(params, tensor/2))
		}
		signs := make([]uint32, (size+3)/4*4)
		var difference, scale float64
		for d := range directions {
			asm.PhiloxBlocks(signs, &asm.Counter{Seed: 9, Step: uint32(d)}, uint64(offset))
			sign := func(i int) float64 { return float64(signs[i]>>31)*2 - 1 }
			along := func(by float64) float64 {
				for i := range size {
					wide[offset+i] = float64(params[offset+i]) + by*sign(i)
				}
				return objective()
			}
			central := (along(step) - along(-step)) / (2 * step)
			along(0)
			var product float64
			for i, g := range grad[offset:][:size] {
				product += float64(g) * sign(i)
			}
			difference, scale = max(difference, math.Abs(central-product)), max(scale, math.Abs(central))
		}
		worst = max(worst, difference/scale)
		offset += size
	}
	return worst
}
