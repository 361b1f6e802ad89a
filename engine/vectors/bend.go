package vectors

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
)

// A coupling that bends has two perceptrons more, for ε_l and δ_l of the maps h of
// mixture.Shape:
//
//	v_{l+2} = h(v_l) ⊙ e^{σ_l} + t_l,   ε = a tanh(s_ε/a),   ln δ = b tanh(s_δ/b).
//
// The bounds are as small as they can be: with a = 2 a step to the wrong side of h's origin
// may be 55 of z's units, and tails of couplings compose to high powers.

// bounds returns a and b.
func (g *GeneratorConfig) bounds() (lean, tail float32) {
	if g.Bend == 0 {
		return 2, 1
	}
	return float32(g.Bend), float32(g.Bend)
}

// measure makes e^ε and δ of what the perceptrons of coupling l have left.
func (p *flowPass) measure(l int) {
	n := p.rows * p.flow.width(l)
	lean, tail := p.lean[l][:n], p.tail[l][:n]
	for i := range lean {
		lean[i] /= p.flow.lean
		tail[i] /= p.flow.tail
	}
	asm.Tanh(lean, lean)
	asm.Tanh(tail, tail)
	p.expand(lean, tail)
}

// expand sets bends to e^ε and δ.
func (p *flowPass) expand(lean, tail []float32) {
	n := len(lean)
	for i := range lean {
		p.bends[0][i], p.bends[1][i] = p.flow.lean*lean[i], p.flow.tail*tail[i]
	}
	asm.Exp(p.bends[0][:n], p.bends[0][:n])
	asm.Exp(p.bends[1][:n], p.bends[1][:n])
}

// shape returns the map of number i of coupling l, of those that measure has made.
func (p *flowPass) shape(l, i int) mixture.Shape {
	return mixture.MakeShape(float64(p.flow.lean*p.lean[l][i]), float64(p.bends[0][i]), float64(p.bends[1][i]))
}

// bend sets u_l to h(v_l).
func (p *flowPass) bend(l int) {
	width, v, u, bent := p.flow.width(l), p.versions[l], p.bowed[l], p.bent[l]
	for r := range p.rows {
		volume := mixture.NewVolume()
		for i := r * width; i < (r+1)*width; i++ {
			h := p.shape(l, i)
			y, slope, at := h.Apply(float64(v[i]))
			u[i], bent[i] = float32(y), at
			volume.Times(slope)
		}
		p.bowing[r] += volume.Log()
	}
}

// unbend sets v_l to h⁻¹(u_l).
func (p *flowPass) unbend(l int) {
	width, v, u, bent := p.flow.width(l), p.versions[l], p.bowed[l], p.bent[l]
	for r := range p.rows {
		volume := mixture.NewVolume()
		for i := r * width; i < (r+1)*width; i++ {
			h := p.shape(l, i)
			z, slope, at := h.Invert(float64(u[i]))
			v[i], bent[i] = float32(z), at
			volume.Times(slope)
		}
		p.bowing[r] -= volume.Log()
	}
}

// straighten takes g, the gradient with respect to v_l, to that of u_l, with the part of ln ∂v/∂u,
// and leaves those by the perceptrons' outputs in s.
func (p *flowPass) straighten(l int, g []float32, c []float64, s *scratch) {
	width := p.flow.width(l)
	n := len(g)
	lean, tail := p.lean[l][:n], p.tail[l][:n]
	p.expand(lean, tail)
	for i := range g {
		h := p.shape(l, i)
		byU, byEpsilon, byTau := h.Differentiate(float64(p.bowed[l][i]), p.bent[l][i], float64(g[i]), c[i/width])
		g[i] = float32(byU)
		s.lean[i] = float32(byEpsilon) * (1 - lean[i]*lean[i])
		s.tail[i] = float32(byTau) * (1 - tail[i]*tail[i])
	}
}
