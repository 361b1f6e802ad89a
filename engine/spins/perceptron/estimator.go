package perceptron

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// The spin layer has no derivative. Its estimator takes ∂L/∂s to ∂L/∂h as if a spin
// were tanh(h/τ): straight through a sign with a scale τ of its own, and with τ = 1
// through a bernoulli head, of which tanh h is the mean. Package's score is the
// other way.

// width returns the scale τ at the given step, for logits of the given standard
// deviation.
func (g *generator) width(step, steps int, spread float64) float64 {
	c := &g.config
	if c.Head == "bernoulli" {
		return 1 // ⟨s⟩ = tanh h
	}
	t := c.Width.Start * math.Pow(c.Width.Final/c.Width.Start, float64(step)/float64(max(steps, 1)))
	if c.Width.Unit == "spread" {
		t *= max(spread, 1e-12)
	}
	return t
}

// straightThrough turns gradients with respect to spins into those with respect to
// logits, in place: ds/dh := (1 − tanh²(h/τ))/τ. It overwrites the logits.
func straightThrough(grad, logits []float32, width float64) {
	inverse := float32(1 / width)
	for i := range logits {
		logits[i] *= inverse
	}
	asm.Tanh(logits, logits)
	for i, t := range logits {
		grad[i] *= (1 - t*t) * inverse
	}
}
