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

// measure makes the maps of what the perceptrons of coupling l have left.
func (p *flowPass) measure(l int) {
	n := p.rows * p.flow.width(l)
	lean, tail, of := p.lean[l][:n], p.tail[l][:n], p.raised[:n]
	for i := range lean {
		lean[i] /= p.flow.lean
		tail[i] /= p.flow.tail
	}
	asm.Tanh(lean, lean)
	asm.Tanh(tail, tail)
	b := &p.bends[l]
	for i, t := range lean {
		of[i] = p.flow.lean * t
		b.Epsilon[i] = float64(of[i])
	}
	asm.Exp(of, of)
	for i, t := range tail {
		b.Up[i], of[i] = float64(of[i]), p.flow.tail*t
	}
	asm.Exp(of, of)
	for i, delta := range of {
		b.Delta[i] = float64(delta)
	}
}

// bend sets u_l to h(v_l).
func (p *flowPass) bend(l int) { p.map64(p.bowed[l], p.versions[l], l, (*asm.Bends).Apply, 1) }

// unbend sets v_l to h⁻¹(u_l).
func (p *flowPass) unbend(l int) { p.map64(p.versions[l], p.bowed[l], l, (*asm.Bends).Invert, -1) }

// map64 sets dst to what the maps of coupling l, or their inverses, make of src, in float64, and
// adds sign times the logarithms of the slopes to bowing.
func (p *flowPass) map64(dst, src []float32, l int, apply func(b *asm.Bends, to, from []float64, left *asm.Bent), sign float64) {
	width := p.flow.width(l)
	n := p.rows * width
	left, x := &p.bent[l], p.wide[:asm.Octets(n)]
	for i, v := range src[:n] {
		x[i] = float64(v)
	}
	apply(&p.bends[l], x, x, left)
	for i := range dst[:n] {
		dst[i] = float32(x[i])
	}
	for r := range p.rows {
		volume := mixture.NewVolume()
		for _, slope := range left.Slope[r*width : (r+1)*width] {
			volume.Times(slope)
		}
		p.bowing[r] += sign * volume.Log()
	}
}

// straighten takes g, the gradient with respect to v_l, to that of u_l, with the part of ln ∂v/∂u,
// and leaves those by the perceptrons' outputs in s.
func (p *flowPass) straighten(l int, g []float32, c []float64, s *scratch) {
	const most = 256
	var u, slope, volume, byU, byEpsilon, byTau [most]float64
	width := p.flow.width(l)
	lean, tail := p.lean[l][:len(g)], p.tail[l][:len(g)]
	b, left := &p.bends[l], &p.bent[l]
	r, end := 0, width // of the row that i is in
	for lo := 0; lo < len(g); lo += most {
		n := min(most, len(g)-lo)
		for i := range n {
			if lo+i == end {
				r, end = r+1, end+width
			}
			u[i], slope[i], volume[i] = float64(p.bowed[l][lo+i]), float64(g[lo+i]), c[r]
		}
		bends := asm.Bends{Epsilon: b.Epsilon[lo:], Up: b.Up[lo:], Delta: b.Delta[lo:]}
		bends.Differentiate(byU[:], byEpsilon[:], byTau[:], u[:asm.Octets(n)], slope[:], volume[:], &asm.Bent{W: left.W[lo:], E: left.E[lo:]})
		for i := range n {
			g[lo+i] = float32(byU[i])
			s.lean[lo+i] = float32(byEpsilon[i]) * (1 - lean[lo+i]*lean[lo+i])
			s.tail[lo+i] = float32(byTau[i]) * (1 - tail[lo+i]*tail[lo+i])
		}
	}
}
