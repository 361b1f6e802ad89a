package perceptron

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
)

// Surrogate implements engine.Differentiable. A spin has no derivative: straight
// through, it counts as s_d + tanh(h_d(θ)/τ) − tanh(h_d/τ), and the loss is the
// kernel's continuation to real spins or, where it flips spins or has a discriminator,
// linear in them with the ∂L/∂s that the objective gives. The score function gives the
// logarithms of the draws' probabilities, weighed with the samples' values.
func (s *System) Surrogate() func(params []float64) float64 {
	b, net := s.batch, s.generator.net
	noise, logits, width := number.Widen(s.activations[0]), number.Widen(b.Logits), s.width
	ofLogits := s.ofLogits(logits, width)
	return func(params []float64) float64 {
		h := make([]float64, 0, len(logits))
		for r := range b.Rows {
			h = append(h, net.Forward64(params, noise[r*net.In():][:net.In()])...)
		}
		return ofLogits(h)
	}
}

// ofLogits is Surrogate as a function of the logits.
func (s *System) ofLogits(logits []float64, width float64) func(h []float64) float64 {
	b, n := s.batch, s.batch.Spins
	if o := s.score; o != nil {
		narrow := make([]float32, len(b.Grad))
		b.unpack(narrow, b.States, 0, b.Rows)
		drawn := number.Widen(narrow)
		return func(h []float64) (sum float64) {
			for i, x := range h {
				sum -= float64(o.values[i/n]) / float64(b.Rows) * math.Log1p(math.Exp(-2*x*drawn[i]))
			}
			return sum
		}
	}
	soft := func(h []float64) []float64 {
		t := make([]float64, len(h))
		for i, x := range h {
			t[i] = math.Tanh(x / width)
		}
		return t
	}
	if o, ok := s.objective.(*pairs); ok && !o.differences {
		narrow := make([]float32, len(b.Grad))
		b.unpack(narrow, b.States, 0, b.Rows)
		from := number.Widen(narrow)
		b.unpack(narrow, b.Next, 0, b.Rows)
		to, before := number.Widen(narrow), soft(logits)
		return func(h []float64) float64 {
			x, y := slices.Clone(from), slices.Clone(to)
			for i, t := range soft(h) {
				change := t - before[i]
				x[i] += change
				if o.byNext != nil {
					y[i] += change * from[i] * to[i]
				}
			}
			return mmd.Naive(&s.config.Loss.Kernel, s.config.Loss.Statistic, x, y, b.Rows, n, nil)
		}
	}
	c := s.byState()
	return func(h []float64) float64 { return floats.Dot(c, soft(h)) }
}

// byState returns the batch's ∂L/∂s, and leaves the batch as it was.
func (s *System) byState() []float64 {
	b := s.batch
	grad := slices.Clone(b.Grad)
	for lo := 0; lo < b.Rows; lo += nn.BlockRows() {
		s.objective.Gradient(lo, min(lo+nn.BlockRows(), b.Rows))
	}
	got := number.Widen(b.Grad)
	copy(b.Grad, grad)
	return got
}
