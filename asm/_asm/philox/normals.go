package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Minimax polynomials, lowest power first.
var (
	// −2 log1p(f)/f for f in [−1/4, 1/2], relative error 2.7e-8.
	logarithm = []float64{
		-1.99999998829, 1.00000132797, -0.666671842415, 0.499864368352, -0.39951826098,
		0.336486231885, -0.29988989479, 0.241534388042, -0.108223547138,
	}
	// sin(πt/4)/t in t² for |t| ≤ 1, error 2.4e-9.
	sine = []float64{0.785398160983, -0.0807454348302, 0.00249000712695, -3.59545076647e-5}
	// cos(πt/4) in t² for |t| ≤ 1, error 2.8e-8.
	cosine = []float64{0.999999972423, -0.308424253562, 0.0158499152556, -0.000318880507385}
)

// boxMuller turns words (x0, x2) and (x1, x3) of each block into two pairs of
// normals.
func (p *path) boxMuller() func(a, b VecVirtual) [2]VecVirtual {
	interleave := p.interleave32()
	return func(a, b VecVirtual) [2]VecVirtual { return interleave(p.polar(p.radius(a), b)) }
}

// polar returns r·cos φ and r·sin φ.
func (p *path) polar(r, angle VecVirtual) (x, y VecVirtual) {
	sin, cos := p.sincos(angle)
	VMULPS(r, cos, cos)
	VMULPS(r, sin, sin)
	p.breathe()
	return cos, sin
}

// radius returns √(−2 ln u), u = (x+½)/2³².
//
// With u = 2^e·m, m in [3/4, 3/2), ln u = e ln 2 + log1p(f), f = m−1. The upper
// half of x is read as negative, v = x−2³² + ½, so that u = 1 + v/2³² and f is
// v/2³² itself where e = 0: no digit of x is lost near u = 1, where ln u
// vanishes. In general f = v·2^(−32−e) + (c·2^−e − 1), c being 1 in the upper
// half and 0 in the lower. The complement of u's exponent bits is that of 2·2^−e,
// so half of v is what it multiplies.
func (p *path) radius(x VecVirtual) VecVirtual {
	v, u, exponent, inverse, f := p.Vector(), p.Vector(), p.Vector(), p.Vector(), p.Vector()
	VCVTDQ2PS(x, v)
	VBROADCASTSS(constants.Number(0.5/(1<<33)), u)
	p.applyNumber(VFMADD132PS, VFMADD132PS_BCST, 1.0/(1<<33), u, v) // half of v/2³²
	p.breathe()
	if p.Wide() {
		upper := K()
		VPMOVD2M(x, upper)
		VMULPS_BCST(constants.Number(8./3), v, u)
		VADDPS_BCST(constants.Number(4./3), u, upper, u)
		p.breathe()
		VPANDND_BCST(constants.Vector32(0x7F800000), u, inverse) // 2·2^−e
		VGETEXPPS(u, exponent)
		p.breathe()
		VBROADCASTSS(constants.Number(-1), f)
		VFMADD231PS_BCST(constants.Number(0.5), inverse, upper, f)
	} else {
		VPSRAD(Imm(31), x, x)
		p.applyNumber(VANDPS, VANDPS_BCST, 4./3, x, u)
		p.applyNumber(VFMADD231PS, VFMADD231PS_BCST, 8./3, v, u)
		VPSRLD(Imm(23), u, exponent)
		const field = 0x7F800000
		VPANDN(constants.Vector32(field, field, field, field, field, field, field, field), u, inverse)
		p.apply(VPSUBD, VPSUBD_BCST, 127, exponent, exponent)
		VCVTDQ2PS(exponent, exponent)
		VPAND(x, inverse, f)
		p.applyNumber(VMULPS, VMULPS_BCST, 0.5, f, f)
		p.applyNumber(VSUBPS, VSUBPS_BCST, 1, f, f)
	}
	VFMADD231PS(v, inverse, f)
	square := p.horner(f, logarithm)
	VMULPS(f, square, square)
	scale := u
	VBROADCASTSS(constants.Number(-2*math.Ln2), scale)
	VFMADD231PS(scale, exponent, square)
	p.breathe()
	VSQRTPS(square, square)
	p.breathe()
	return square
}

// sincos returns sin φ and cos φ of φ = 2πx/2³².
//
// The quadrant nearest to φ is in the two upper bits of x + 2²⁹, and what
// remains is the lower 30 bits of x as a signed number.
func (p *path) sincos(x VecVirtual) (sin, cos VecVirtual) {
	quadrant, next, t, z := p.Vector(), p.Vector(), p.Vector(), p.Vector()
	p.apply(VPADDD, VPADDD_BCST, 1<<29, x, quadrant)
	p.apply(VPADDD, VPADDD_BCST, 1<<29+1<<30, x, next)
	p.breathe()
	VPSLLD(Imm(2), x, t)
	VCVTDQ2PS(t, t)
	p.applyNumber(VMULPS, VMULPS_BCST, 1.0/(1<<31), t, t)
	VMULPS(t, t, z)
	p.breathe()
	s, c := p.horner(z, sine), p.horner(z, cosine)
	VMULPS(t, s, s)
	p.breathe()
	const sign = 0x80000000
	if p.Wide() {
		swap := K()
		VPTESTMD_BCST(constants.Vector32(1<<30), quadrant, swap)
		sin = p.Vector()
		VMOVAPS(s, sin)
		VMOVAPS(c, swap, sin)
		VMOVAPS(s, swap, c)
		cos = c
		p.breathe()
		const xorAnd = 0x78 // a ^ b&c
		VPTERNLOGD_BCST(Imm(xorAnd), constants.Vector32(sign), quadrant, sin)
		VPTERNLOGD_BCST(Imm(xorAnd), constants.Vector32(sign), next, cos)
		return sin, cos
	}
	sin, cos = p.Vector(), p.Vector()
	VPSLLD(Imm(1), quadrant, t)
	VBLENDVPS(t, c, s, sin)
	VBLENDVPS(t, s, c, cos)
	p.apply(VANDPS, VANDPS_BCST, sign, quadrant, quadrant)
	p.apply(VANDPS, VANDPS_BCST, sign, next, next)
	VXORPS(quadrant, sin, sin)
	VXORPS(next, cos, cos)
	return sin, cos
}

// horner evaluates a polynomial.
func (p *path) horner(x VecVirtual, coefficients []float64) VecVirtual {
	n := len(coefficients)
	sum := p.BroadcastFloat(constants.Number(coefficients[n-1]))
	for i := n - 2; i >= 0; i-- {
		p.multiplyAdd(sum, x, coefficients[i])
		p.breathe()
	}
	return sum
}

// multiplyAdd sets a to a·b + c.
func (p *path) multiplyAdd(a, b VecVirtual, c float64) {
	p.applyNumber(VFMADD213PS, VFMADD213PS_BCST, c, b, a)
}
