package ising

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/hyperdual"
)

// Kaufman returns ln Z, ⟨E⟩ and C_v of the periodic l×l lattice, l ≥ 2, without a field, from the
// closed form of B. Kaufman, Phys. Rev. 76, 1232 (1949). With K = βJ and S = sinh 2K,
//
//	Z = ½ (2S)^(l²/2) [ Π 2cosh(½lγ_2r+1) + Π 2sinh(½lγ_2r+1) + Π 2cosh(½lγ_2r) + Π 2sinh(½lγ_2r) ],
//	cosh γ_j = (cosh² 2K)/S − cos(jπ/l),  γ_0 = 2K + ln tanh K,
//
// all products over r = 0 … l−1. Derivatives with respect to K are exact, by hyperdual numbers.
//
// On the 2×2 lattice each pair of neighbours has two bonds, as in package bitspin. A negative
// coupling maps to a positive one by flipping one sublattice if l is even; for odd l the lattice is
// frustrated, the four products cancel, and Kaufman returns an error.
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
	return Thermodynamics{LogZ: f.Real, Energy: -j * f.E1mag, SpecificHeat: k * k * f.E1E2mag}, nil
}

// logPartition returns ln Z with its first and second derivatives with respect to K ≥ 0, E1mag and
// E1E2mag. Products are taken relative to the first, Z1, whose logarithm neither
// overflows nor cancels: with x = exp(−|γ|) ≤ 1,
//
//	(2S)^½l · 2cosh(½lγ) = (2S e^|γ|)^½l (1 + x^l),  sinh/cosh = ±(1 − x^l)/(1 + x^l),
//
// the sign being that of γ, negative only for γ_0 above the critical temperature.
func logPartition(l int, k float64) hyperdual.Number {
	one := hyperdual.Number{Real: 1}
	var log1, log3 hyperdual.Number // ln of the first and third product, less ½N ln 2
	ratio2, ratio4 := one, one
	for r := range 2 * l {
		g, x, positive := angleTerms(k, float64(r)*math.Pi/float64(l))
		xl := hyperdual.PowReal(x, float64(l))
		onePlus := hyperdual.Add(one, xl)
		log := hyperdual.Log(onePlus)
		log.Real = math.Log1p(xl.Real) // accurate where x^l is small
		log = hyperdual.Add(hyperdual.Scale(float64(l)/2, g), log)
		tanh := hyperdual.Mul(hyperdual.Sub(one, xl), hyperdual.Inv(onePlus))
		if !positive {
			tanh = hyperdual.Scale(-1, tanh)
		}
		if r%2 == 1 {
			log1, ratio2 = hyperdual.Add(log1, log), hyperdual.Mul(ratio2, tanh)
		} else {
			log3, ratio4 = hyperdual.Add(log3, log), hyperdual.Mul(ratio4, tanh)
		}
	}
	ratio3 := hyperdual.Exp(hyperdual.Sub(log3, log1))
	sum := hyperdual.Add(hyperdual.Add(one, ratio2), hyperdual.Mul(ratio3, hyperdual.Add(one, ratio4)))
	logZ := hyperdual.Add(log1, hyperdual.Log(sum))
	logZ.Real += (float64(l*l)/2 - 1) * math.Ln2
	return logZ
}

// angleTerms returns g = ln(S e^|γ|) and x = e^(−|γ|) for one angle θ, and whether
// γ > 0. With a = S cosh γ = 1 + S² − S cos θ,
//
//	S e^|γ| = a + √((a−S)(a+S)),  a−S = (1−S)² + 2S sin²(θ/2),  a+S = 1+S² + 2S sin²(θ/2),
//
// sums of squares, so that nothing cancels for small K. All terms are scaled by
// e^(−4K), so that nothing overflows for large K. At θ = 0 the root is
// |1−S|·√(1+S²), which is smooth on either side of the critical point.
func angleTerms(k, theta float64) (g, x hyperdual.Number, positive bool) {
	e := hyperdual.Exp(hyperdual.Number{Real: -2 * k, E1mag: -2, E2mag: -2}) // e^(−2K)
	e2 := hyperdual.Mul(e, e)                                                // e^(−4K)
	sigma := hyperdual.Scale(-0.5, e2)                                       // S e^(−2K) = (1 − e^(−4K))/2
	sigma.Real = -math.Expm1(-4*k) / 2
	s := hyperdual.Mul(sigma, e)                                               // S e^(−4K)
	bend := hyperdual.Scale(2*math.Pow(math.Sin(theta/2), 2), s)               // 2S sin²(θ/2) e^(−4K)
	gap := hyperdual.Sub(e, sigma)                                             // (1−S) e^(−2K)
	difference := hyperdual.Add(hyperdual.Mul(gap, gap), bend)                 // (a−S) e^(−4K)
	sum := hyperdual.Add(hyperdual.Add(e2, hyperdual.Mul(sigma, sigma)), bend) // (a+S) e^(−4K)
	mean := hyperdual.Scale(0.5, hyperdual.Add(difference, sum))               // a e^(−4K)
	positive = true
	var root hyperdual.Number
	if theta == 0 {
		positive = gap.Real < 0
		root = hyperdual.Mul(gap, hyperdual.Sqrt(sum))
		if positive {
			root = hyperdual.Scale(-1, root)
		}
	} else {
		root = hyperdual.Sqrt(hyperdual.Mul(difference, sum))
	}
	scaled := hyperdual.Add(mean, root)
	g = hyperdual.Add(hyperdual.Log(scaled), hyperdual.Number{Real: 4 * k, E1mag: 4, E2mag: 4})
	return g, hyperdual.Mul(s, hyperdual.Inv(scaled)), positive
}
