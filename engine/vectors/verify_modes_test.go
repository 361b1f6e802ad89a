package vectors

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// newModalTestSubject takes smaller samples than Checks.
func newModalTestSubject(workers *pool.Pool, dim int) *subject {
	c := modalPaper()
	c.Transition.Steps = 1 // more of them are less irreversible in the paper's order
	v := newModalSubject(c.converted(), threeTwins(dim).known(), workers)
	v.chains, v.steps, v.batches, v.samples, v.summed = 1<<12, 300, 120, 1<<16, 70
	return v
}

// wrongProposals changes the proposals of both orders of moves.
func wrongProposals(change func(p *proposal)) func(*subject) {
	return func(v *subject) {
		v.kernel = func(target Target, c TransitionConfig) *kernel {
			t := newKernel(target, c)
			for i := range t.proposals {
				change(&t.proposals[i])
			}
			return t
		}
	}
}

// wrongTarget moves as if towards another target.
func wrongTarget(change func(m *twin)) func(*subject) {
	return func(v *subject) {
		v.kernel = func(target Target, c TransitionConfig) *kernel {
			return newKernel(target.(twins).changed(change), c)
		}
	}
}

func modalFaults() []fault {
	noVolume := func(p *proposal) { p.logVolume = 0 }
	atTarget := []string{"invariance_random", "invariance_paper_order", "long_run_moments", "reversible_random"}
	list := []fault{
		{"teleports forget their Jacobian", append([]string{"detailed_balance_teleport", "population_loss_random"}, atTarget...), wrongProposals(noVolume)},
		{"teleports have their Jacobian twice", append([]string{"detailed_balance_teleport"}, atTarget...), wrongProposals(func(p *proposal) { p.logVolume *= 2 })},
		{"the way back of a teleport is another", []string{"teleport_returns"}, wrongProposals(func(p *proposal) {
			if p.fromMode < p.toMode {
				p.factor *= 1 + 1e-8
			}
		})},
		{"a scale is off by a thousandth", []string{"detailed_balance_walk", "detailed_balance_flip", "detailed_balance_teleport"}, wrongTarget(func(m *twin) { m.scale *= 1.001 })},
		{"a weight is another", append([]string{"detailed_balance_teleport"}, atTarget...), wrongTarget(func(m *twin) { m.weight *= 1.5 })},
		{"the orders are exchanged", []string{"reversible_random", "not_reversible_paper_order", "population_loss_random", "population_loss_paper_order"}, func(v *subject) {
			v.kernel = func(target Target, c TransitionConfig) *kernel {
				if c.Order == "random" {
					c.Order = "paper-order"
				} else {
					c.Order = "random"
				}
				return newKernel(target, c)
			}
		}},
		{"the loss is off by 1e-4", []string{"loss_against_naive"}, wrongEstimator(func(loss *float64, _ stateGradient) { *loss *= 1.0001 })},
		{"the gradient is not a number", []string{"gradient_against_naive"}, wrongEstimator(func(_ *float64, ds stateGradient) { ds.x[7] = float32(math.NaN()) })},
		{"coordinates are exchanged", []string{"gradient_against_naive"}, wrongEstimator(func(_ *float64, ds stateGradient) { slices.Reverse(ds.x[:4]) })},
		{"one mode's gradient is twice as large", []string{"gradient_against_naive"}, wrongEstimator(func(_ *float64, ds stateGradient) { ds.k[5] *= 2 })},
		{"the oracle's gradient by coordinates is off by 1e-5", []string{"gradient_against_differences"}, wrongNaive(func(_ *float64, _, gradX, _ []float64) { increase(gradX) })},
		{"the oracle's gradient by modes is off by 1e-5", []string{"gradient_against_differences"}, wrongNaive(func(_ *float64, _, _, gradE []float64) { increase(gradE) })},
	}
	return append(list, fault{"one layer's biases are off by a hundredth", []string{"backward"}, func(v *subject) {
		v.backward = func(s *System, params, grad []float32) {
			s.Backward(params, grad)
			biases := s.generator.nets.nets[0].Biases(grad, 2)
			for i := range biases {
				biases[i] *= 1.01
			}
		}
	}})
}

// TestCentralDifferencesAreChecked breaks the function that is differentiated.
func TestCentralDifferencesAreChecked(t *testing.T) {
	x := 2.0
	require.InDelta(t, 12, number.CentralDifference(&x, 1e-4, func() float64 { return x * x * x }), 1e-6)
	require.Equal(t, 2.0, x)
}

// TestNoiseIsAMixtureOfGaussians: its density is that of the widths with equal weights, up to
// a constant, also where that is too small for a float64.
func TestNoiseIsAMixtureOfGaussians(t *testing.T) {
	const d = 3
	tr := &kernel{dim: d, config: TransitionConfig{Sigma: []float64{0.1, 2, 0.7}}}
	at := func(distance float64) float64 {
		return tr.logNoise([]float64{1, 1 + 0.6*distance, 2 - 0.8*distance}, []float64{1, 1, 2})
	}
	for _, x := range []float64{0, 0.05, 0.3, 1, 4} {
		sum := 0.0
		for _, s := range tr.config.Sigma {
			sum += math.Exp(-x*x/(2*s*s)) / (s * s * s)
		}
		require.InDelta(t, math.Log(sum), at(x), 1e-12)
	}
	require.InDelta(t, -1e6/8-math.Log(8), at(1000), 1e-6, "the widest is left")
}
