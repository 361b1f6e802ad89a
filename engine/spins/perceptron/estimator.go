package perceptron

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
)

// The spin layer has no derivative. The straight-through estimator takes ∂L/∂s to ∂L/∂h as
// if a spin were tanh(h/τ). The scale τ of a sign head is configured, and that of a bernoulli
// head is 1, since tanh h is the mean of its spins. The spins of a site's states count as
// 2 softmax(h/τ) − 1. The score function, in score.go, is the other way to ∂L/∂h.

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
// logits, in place: ds/dh := (1 − tanh²(h/τ))/τ, or for p = softmax(h/τ) of a site's states
// ds_c/dh_d := 2 p_c (δ_cd − p_d)/τ. It overwrites the logits.
func (g *generator) straightThrough(grad, logits []float32, width float64) {
	inverse := float32(1 / width)
	for i := range logits {
		logits[i] *= inverse
	}
	if g.states != nil {
		g.throughSoftmax(grad, logits, 2*inverse)
		return
	}
	asm.Tanh(logits, logits)
	for i, t := range logits {
		grad[i] *= (1 - t*t) * inverse
	}
}

// throughSoftmax is straightThrough for the states of sites, whose logits are scaled already.
func (g *generator) throughSoftmax(grad, logits []float32, scale float32) {
	forEachSite := func(visit func(h, grad []float32)) {
		for at := 0; at < len(logits); {
			for _, q := range g.states {
				visit(logits[at:at+q], grad[at:at+q])
				at += q
			}
		}
	}
	forEachSite(func(h, _ []float32) {
		largest := slices.Max(h)
		for c := range h {
			h[c] -= largest
		}
	})
	asm.Exp(logits, logits)
	forEachSite(func(p, grad []float32) {
		var sum, mean float32
		for c, x := range p {
			sum, mean = sum+x, mean+x*grad[c]
		}
		for c, x := range p {
			grad[c] = scale * x / sum * (grad[c] - mean/sum)
		}
	})
}
