package perceptron

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/number"
)

// Surrogate implements engine.Differentiable. A spin has no derivative. For the straight-through
// estimator it counts as s_d + tanh(h_d(θ)/τ) − tanh(h_d/τ), with 2 softmax in place of tanh for
// a site's states. The loss is then that of the kernel for real spins or, with differences or a
// discriminator, linear in the spins with slopes ∂L/∂s. For the score function Surrogate is the
// logarithm of the draws' probabilities, weighted with F_i − b_i.
func (s *System) Surrogate() func(params []float64) float64 {
	l := s.learner
	noise, logits := number.Widen(l.activations[0]), number.Widen(l.logits)
	loss := s.lossOfLogits(logits, l.width)
	return func(params []float64) float64 {
		h := make([]float64, 0, len(logits))
		for r := range l.batch.n {
			h = append(h, l.net.Forward64(params, noise[r*l.net.In():][:l.net.In()])...)
		}
		return loss(h)
	}
}

// unpacked returns states as ±1.
func (s *System) unpacked(states []uint64) []float64 {
	narrow := make([]float32, len(s.DS.bySpin))
	s.learner.batch.unpack(narrow, states, 0, s.learner.batch.n)
	return number.Widen(narrow)
}

// lossOfLogits returns Surrogate as a function of the logits.
func (s *System) lossOfLogits(logits []float64, width float64) func(h []float64) float64 {
	n, spins, from := s.learner.batch.n, s.learner.spins, s.unpacked(s.S)
	if s.DS.bySample != nil {
		return func(h []float64) (sum float64) {
			for i, x := range h {
				sum -= float64(s.DS.bySample[i/spins]) / float64(n) * math.Log1p(math.Exp(-2*x*from[i]))
			}
			return sum
		}
	}
	realSpins := func(h []float64) []float64 { // up to constants
		t := make([]float64, len(h))
		for i, x := range h {
			t[i] = math.Tanh(x / width)
		}
		for at := 0; s.learner.states != nil && at < len(h); {
			for _, q := range s.learner.states {
				var sum float64
				for _, x := range h[at : at+q] {
					sum += math.Exp((x - h[at]) / width)
				}
				for c, x := range h[at : at+q] {
					t[at+c] = 2 * math.Exp((x-h[at])/width) / sum
				}
				at += q
			}
		}
		return t
	}
	if l := &s.config.Loss; l.Kind == "mmd" && l.Gradient != "difference" {
		to, drawn := s.unpacked(s.Next), realSpins(logits)
		return func(h []float64) float64 {
			x, y := slices.Clone(from), slices.Clone(to)
			for i, t := range realSpins(h) {
				change := t - drawn[i]
				x[i] += change
				if l.Gradient == "full" {
					y[i] += change * from[i] * to[i]
				}
			}
			return mmd.Naive(&l.Kernel, l.Statistic, x, y, n, spins, nil)
		}
	}
	c := number.Widen(s.DS.bySpin)
	return func(h []float64) float64 { return floats.Dot(c, realSpins(h)) }
}
