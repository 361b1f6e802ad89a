package ising

import (
	"fmt"
	"math"
)

// Kaufman returns ln Z, ⟨E⟩ and C_v of the periodic l×l lattice, l ≥ 2,
// without a field, from the closed form of B. Kaufman, Phys. Rev. 76, 1232
// (1949). With K = βJ and S = sinh 2K,
//
//	Z = ½ (2S)^(l²/2) [ Π 2cosh(½lγ_2r+1) + Π 2sinh(½lγ_2r+1) + Π 2cosh(½lγ_2r) + Π 2sinh(½lγ_2r) ],
//	cosh γ_j = (cosh² 2K)/S − cos(jπ/l),  γ_0 = 2K + ln tanh K,
//
// all products over r = 0 … l−1. Its derivatives by K are carried along
// exactly.
//
// On the 2×2 lattice each pair of neighbours has two bonds, as in package
// bitspin. A negative coupling maps to a positive one by flipping one
// sublattice if l is even; for odd l the lattice is frustrated, the four
// products cancel, and Kaufman returns an error.
func Kaufman(l int, j, beta float64) (Thermodynamics, error) {
	switch k := beta * j; {
	case l < 2:
		return Thermodynamics{}, fmt.Errorf("lattice side %d is less than 2", l)
	case !(beta >= 0) || math.IsInf(k, 0) || math.IsNaN(k):
		return Thermodynamics{}, fmt.Errorf("β = %v and J = %v: β must not be negative, and both must be finite", beta, j)
	case k < 0 && l%2 != 0:
		return Thermodynamics{}, fmt.Errorf("no closed form for the frustrated %d×%d lattice with J = %v; Kaufman's formula needs J ≥ 0 or an even side", l, l, j)
	}
	j = math.Abs(j)
	k := beta * j
	f := logPartition(l, k)
	return Thermodynamics{LogZ: f.v, Energy: -j * f.d, SpecificHeat: k * k * f.dd}, nil
}

// logPartition returns ln Z as a function of K ≥ 0. Products are taken
// relative to the first, Z1, whose logarithm neither overflows nor cancels:
// with x = exp(−|γ|) ≤ 1,
//
//	(2S)^½l · 2cosh(½lγ) = (2S e^|γ|)^½l (1 + x^l),  sinh/cosh = ±(1 − x^l)/(1 + x^l),
//
// the sign being that of γ, negative only for γ_0 above the critical
// temperature.
func logPartition(l int, k float64) jet {
	half := constant(float64(l) / 2)
	var log1, log3 jet // ln of the first and third product, less ½N ln 2
	ratio2, ratio4 := constant(1), constant(1)
	for r := range 2 * l {
		g, x, positive := branch(k, float64(r)*math.Pi/float64(l), r == 0)
		xl := x.pow(l)
		log := half.mul(g).add(xl.log1p())
		tanh := constant(1).sub(xl).div(constant(1).add(xl))
		if !positive {
			tanh = tanh.neg()
		}
		if r%2 == 1 {
			log1, ratio2 = log1.add(log), ratio2.mul(tanh)
		} else {
			log3, ratio4 = log3.add(log), ratio4.mul(tanh)
		}
	}
	ratio3 := log3.sub(log1).exp()
	sum := constant(1).add(ratio2).add(ratio3.mul(constant(1).add(ratio4)))
	n := float64(l * l)
	return log1.add(sum.log()).add(constant((n/2 - 1) * math.Ln2))
}

// branch returns g = ln(S e^|γ|) and x = e^(−|γ|) for one angle θ, and whether
// γ > 0. With a = S cosh γ = 1 + S² − S cos θ,
//
//	S e^|γ| = a + √((a−S)(a+S)),  a−S = (1−S)² + 2S sin²(θ/2),  a+S = 1+S² + 2S sin²(θ/2),
//
// sums of squares, so that nothing cancels for small K. All are scaled by
// e^(−4K), so that nothing overflows for large K. At θ = 0 the root is
// |1−S|·√(1+S²), which is smooth on either side of the critical point.
func branch(k, theta float64, first bool) (g, x jet, positive bool) {
	e := jet{k, 1, 0}.scale(-2).exp()                   // e^(−2K)
	sigma := jet{k, 1, 0}.scale(-4).expm1().scale(-0.5) // S e^(−2K)
	s := sigma.mul(e)                                   // S e^(−4K)
	bend := s.scale(2 * math.Pow(math.Sin(theta/2), 2)) // 2S sin²(θ/2) e^(−4K)
	gap := e.sub(sigma)                                 // (1−S) e^(−2K)
	difference := gap.mul(gap).add(bend)                // (a−S) e^(−4K)
	sum := e.mul(e).add(sigma.mul(sigma)).add(bend)     // (a+S) e^(−4K)
	mean := difference.add(sum).scale(0.5)              // a e^(−4K)
	positive = true
	var root jet
	if first {
		positive = gap.v < 0
		root = gap.mul(sum.sqrt())
		if positive {
			root = root.neg()
		}
	} else {
		root = difference.mul(sum).sqrt()
	}
	scaled := mean.add(root)
	return scaled.log().add(jet{4 * k, 4, 0}), s.div(scaled), positive
}
