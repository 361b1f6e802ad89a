package vectors

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
)

// A coupling that bends first maps v_l by h of mixture.Shape, whose ε_l and δ_l two more perceptrons
// give:
//
//	v_{l+2} = h(v_l) ⊙ e^{σ_l} + t_l,   ε = a tanh(s_ε/a),   ln δ = b tanh(s_δ/b).
//
// The bounds are as small as they can be: with a = 2 a step to the wrong side of h's origin
// may be 55 of z's units, and tails of couplings compose to high powers.

// bendBounds returns a and b.
func (g *GeneratorConfig) bendBounds() (maxEpsilon, maxLogDelta float32) {
	if g.Bend == 0 {
		return 2, 1
	}
	return float32(g.Bend), float32(g.Bend)
}

// setBends sets the maps h of coupling l by the outputs s_ε and s_δ of its perceptrons, which it finds
// in lean and tail.
func (p *flowPass) setBends(l int) {
	n := p.rows * p.flow.width(l)
	lean, tail, exponents := p.lean[l][:n], p.tail[l][:n], p.exponents[:n]
	for i := range lean {
		lean[i] /= p.flow.maxEpsilon
		tail[i] /= p.flow.maxLogDelta
	}
	asm.Tanh(lean, lean)
	asm.Tanh(tail, tail)
	b := &p.bends[l]
	for i, t := range lean {
		exponents[i] = p.flow.maxEpsilon * t
		b.Epsilon[i] = float64(exponents[i])
	}
	asm.Exp(exponents, exponents)
	for i, t := range tail {
		b.Up[i], exponents[i] = float64(exponents[i]), p.flow.maxLogDelta*t
	}
	asm.Exp(exponents, exponents)
	for i, delta := range exponents {
		b.Delta[i] = float64(delta)
	}
}

// bend sets u_l to h(v_l).
func (p *flowPass) bend(l int) { p.map64(p.u[l], p.v[l], l, (*asm.Bends).Apply, 1) }

// unbend sets v_l to h⁻¹(u_l).
func (p *flowPass) unbend(l int) { p.map64(p.v[l], p.u[l], l, (*asm.Bends).Invert, -1) }

// map64 sets dst to the maps of coupling l of src, or their inverses, in float64. It adds sign times
// the logarithms of their slopes to logSlopes.
func (p *flowPass) map64(dst, src []float32, l int, apply func(b *asm.Bends, dst, src []float64, bent *asm.Bent), sign float64) {
	width := p.flow.width(l)
	n := p.rows * width
	bent, x := &p.intermediates[l], p.x64[:asm.Octets(n)]
	for i, v := range src[:n] {
		x[i] = float64(v)
	}
	apply(&p.bends[l], x, x, bent)
	for i := range dst[:n] {
		dst[i] = float32(x[i])
	}
	for r := range p.rows {
		volume := mixture.NewVolume()
		for _, slope := range bent.Slope[r*width : (r+1)*width] {
			volume.Times(slope)
		}
		p.logSlopes[r] += sign * volume.Log()
	}
}

// backwardBend turns g from the gradient of Σ_r c_r ln q(x_r) with respect to v_l into that with
// respect to u_l, which ln ∂v/∂u adds to. It leaves the gradients with respect to the
// perceptrons' outputs s_ε and s_δ in s.
func (p *flowPass) backwardBend(l int, g []float32, c []float64, s *scratch) {
	const chunk = 256 // numbers at a time, in arrays on the stack
	var u, slope, volume, dU, dEpsilon, dTau [chunk]float64
	width := p.flow.width(l)
	lean, tail := p.lean[l][:len(g)], p.tail[l][:len(g)]
	b, bent := &p.bends[l], &p.intermediates[l]
	r, end := 0, width // row r, which ends before element end
	for lo := 0; lo < len(g); lo += chunk {
		n := min(chunk, len(g)-lo)
		for i := range n {
			if lo+i == end {
				r, end = r+1, end+width
			}
			u[i], slope[i], volume[i] = float64(p.u[l][lo+i]), float64(g[lo+i]), c[r]
		}
		bends := asm.Bends{Epsilon: b.Epsilon[lo:], Up: b.Up[lo:], Delta: b.Delta[lo:]}
		bends.Differentiate(dU[:], dEpsilon[:], dTau[:], u[:asm.Octets(n)], slope[:], volume[:], &asm.Bent{W: bent.W[lo:], E: bent.E[lo:]})
		for i := range n {
			g[lo+i] = float32(dU[i])
			s.dLean[lo+i] = float32(dEpsilon[i]) * (1 - lean[lo+i]*lean[lo+i])
			s.dTail[lo+i] = float32(dTau[i]) * (1 - tail[lo+i]*tail[lo+i])
		}
	}
}
