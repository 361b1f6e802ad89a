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
// kernel's continuation to real spins or, where it flips spins or has a witness,
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
	if o, ok := s.objective.(*score); ok {
		drawn := s.gradient(func(lo, hi int) {
			b.unpack(b.Grad, b.States, lo, hi)
			s.pullBack(lo, hi)
		})
		return func(h []float64) (sum float64) {
			for i, x := range h {
				sum -= float64(o.values[i/n]) / float64(b.Rows) * math.Log1p(math.Exp(-2*x*drawn[i]))
			}
			return sum
		}
	}
	if o, ok := s.objective.(LogitObjective); ok {
		c := s.gradient(o.LogitGradient)
		return func(h []float64) float64 { return floats.Dot(c, h) }
	}
	soft := func(h []float64) []float64 {
		t := make([]float64, len(h))
		for i, x := range h {
			t[i] = math.Tanh(x / width)
		}
		return t
	}
	if o, ok := s.objective.(*pairs); ok && !o.differences {
		site := s.sites()
		narrow := make([]float32, len(b.Grad))
		b.unpack(narrow, b.States, 0, b.Rows)
		from := number.Widen(narrow)
		b.unpack(narrow, b.Next, 0, b.Rows)
		to, before := number.Widen(narrow), soft(logits)
		naive := mmd.Naive
		if s.config.Loss.Kind == "stationarity" {
			naive = mmd.StationarityNaive
		}
		return func(h []float64) float64 {
			x, y := slices.Clone(from), slices.Clone(to)
			for i, t := range soft(h) {
				at, change := i/n*n+int(math.Abs(site[i]))-1, (t-before[i])*math.Copysign(1, site[i])
				x[at] += change
				if o.byNext != nil {
					y[at] += change * from[at] * to[at]
				}
			}
			return naive(&s.config.Loss.Kernel, s.config.Loss.Statistic, x, y, b.Rows, n, nil)
		}
	}
	c := s.gradient(func(lo, hi int) {
		s.objective.Gradient(lo, hi)
		s.pullBack(lo, hi)
	})
	return func(h []float64) float64 { return floats.Dot(c, soft(h)) }
}

// gradient returns what set makes of the batch's Grad, and leaves the batch as it
// was.
func (s *System) gradient(set func(lo, hi int)) []float64 {
	b := s.batch
	grad, logits := slices.Clone(b.Grad), slices.Clone(b.Logits)
	for lo := 0; lo < b.Rows; lo += nn.BlockRows() {
		set(lo, min(lo+nn.BlockRows(), b.Rows))
	}
	got := number.Widen(b.Grad)
	copy(b.Grad, grad)
	copy(b.Logits, logits)
	return got
}

// sites returns where the symmetry has taken each spin of the head: ±(i+1) for spin
// i, negative where it was flipped.
func (s *System) sites() []float64 {
	b := s.batch
	return s.gradient(func(lo, hi int) {
		for i := lo * b.Spins; i < hi*b.Spins; i++ {
			b.Grad[i] = float32(i%b.Spins + 1)
		}
		s.pullBack(lo, hi)
	})
}
