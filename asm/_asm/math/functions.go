package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// ln2 in two parts, the first exact when multiplied by a small integer.
const (
	ln2High = 0x1.62e3p-1
	ln2Low  = math.Ln2 - ln2High
)

// The minimax polynomial of e^r−1 = r + r²(…) on |r| ≤ ln 2 / 2, with relative
// error 1.4e-8.
var expm1Tail = []float64{0.49999997, 0.16666543, 0.0416672, 0.0083665205, 0.0013882521}

// clamp limits x to [low, high]; NaN stays, being the second source of both
// comparisons.
func (w *isa) clamp(x VecVirtual, low, high float64) {
	VMINPS(x, w.constant(float(high)), x)
	VMAXPS(x, w.constant(float(low)), x)
}

// split emits n and r with x = n ln 2 + r, |r| ≤ ln 2 / 2. It overwrites x by r.
func (w *isa) split(x VecVirtual) (n VecVirtual) {
	n = w.vector()
	w.with(VMULPS, VMULPS_BCST, float(math.Log2E), x, n)
	if w == avx512 {
		VRNDSCALEPS(Imm(0), n, n)
	} else {
		VROUNDPS(Imm(0), n, n)
	}
	w.with(VFNMADD231PS, VFNMADD231PS_BCST, float(ln2High), n, x)
	w.with(VFNMADD231PS, VFNMADD231PS_BCST, float(ln2Low), n, x)
	return n
}

// exp emits 2^n (1 + r + r² tail(r)). Subnormal results and infinity come out
// of the scaling.
func (w *isa) exp(x VecVirtual) VecVirtual {
	w.clamp(x, -104, 89)
	n := w.split(x)
	p := w.horner(x, append([]float64{1, 1}, expm1Tail...)...)
	if w == avx512 {
		VSCALEFPS(n, p, p)
		return p
	}
	Comment("2^n in two factors, as n may be outside of the range of exponents")
	VCVTPS2DQ(n, n)
	half := w.vector()
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	for _, e := range []VecVirtual{half, n} {
		w.power(e)
		VMULPS(e, p, p)
	}
	return p
}

// power turns integers n into the floats 2^n, in AVX2.
func (w *isa) power(n VecVirtual) {
	VPADDD(word(127), n, n)
	VPSLLD(Imm(23), n, n)
}

// sigmoid emits 1/(1+e) with e = e^−|x|, or e/(1+e) for negative x.
func (w *isa) sigmoid(x VecVirtual) VecVirtual {
	one, top, minus := w.constant(float(1)), w.vector(), w.vector()
	if w == avx512 {
		negative := K()
		VPMOVD2M(x, negative)
		VPORD_BCST(word(1<<31), x, minus)
		e := w.exp(minus)
		VBLENDMPS(e, one, negative, top)
		VADDPS(one, e, e)
		VDIVPS(e, top, top)
		return top
	}
	VORPS(word(1<<31), x, minus)
	e := w.exp(minus)
	VBLENDVPS(x, e, one, top) // by the sign bit
	VADDPS(one, e, e)
	VDIVPS(e, top, top)
	return top
}

// tanh emits −t/(2+t) with t = e^(−2|x|)−1 and x's sign. With t = 2^n e^r − 1 =
// 2^n (e^r−1) + (2^n−1) nothing cancels.
func (w *isa) tanh(x VecVirtual) VecVirtual {
	sign := w.vector()
	if w == avx512 {
		VPANDD_BCST(word(1<<31), x, sign)
		VPORD_BCST(word(1<<31), x, x)
	} else {
		VANDPS(word(1<<31), x, sign)
		VORPS(word(1<<31), x, x)
	}
	VADDPS(x, x, x)
	VMAXPS(x, w.constant(float(-40)), x)
	n := w.split(x)
	p := w.horner(x, expm1Tail...)
	VMULPS(x, p, p)
	VFMADD213PS(x, x, p) // r + r (r tail)
	scale := w.constant(float(1))
	if w == avx512 {
		VSCALEFPS(n, scale, scale)
	} else {
		VCVTPS2DQ(n, scale)
		w.power(scale)
	}
	t := w.vector()
	w.with(VADDPS, VADDPS_BCST, float(-1), scale, t)
	VFMADD231PS(scale, p, t)
	w.with(VADDPS, VADDPS_BCST, float(2), t, p)
	VDIVPS(p, t, t)
	Comment("t is negative or zero: clear its sign, set x's.")
	if w == avx512 {
		VPANDD_BCST(word(1<<31-1), t, t)
		VPORD(sign, t, t)
	} else {
		VANDPS(word(1<<31-1), t, t)
		VORPS(sign, t, t)
	}
	return t
}

// rsqrt emits an estimate and one Newton step, or a root and a division where
// the estimate has half the bits.
func (w *isa) rsqrt(x VecVirtual) VecVirtual {
	y := w.vector()
	if w == avx2 {
		VSQRTPS(x, x)
		VDIVPS(x, w.constant(float(1)), y)
		return y
	}
	e, half, special := w.vector(), w.vector(), K()
	VRSQRT14PS(x, y)
	VFPCLASSPSZ(Imm(0x1e), y, special) // zeros and infinities are exact
	VMULPS(y, x, e)
	VMULPS_BCST(float(0.5), y, half)
	VFNMADD213PS_BCST(float(1), y, e)
	VFMADD213PS(y, e, half)
	VMOVAPS(y, special, half)
	return half
}

// log emits e ln 2 + ln m with √½ ≤ m < √2.
func (w *isa) log(x VecVirtual) VecVirtual {
	m, e := w.vector(), w.vector()
	if w == avx512 {
		high := K()
		VGETEXPPS(x, e)
		VGETMANTPS(Imm(0x8), x, m) // 1 ≤ m < 2, NaN for negative x
		VCMPPS_BCST(Imm(13), float(math.Sqrt2), m, high)
		VMULPS_BCST(float(0.5), m, high, m)
		VADDPS_BCST(float(1), e, high, e)
		return w.logOf(m, e)
	}
	Comment("Subnormal numbers are scaled into the normal range.")
	small, t, shift := w.vector(), w.vector(), w.vector()
	VCMPPS(Imm(1), word(1<<23), x, small)
	VMULPS(float(1<<23), x, t)
	VBLENDVPS(small, t, x, m)
	VANDPS(float(23), small, shift)
	Comment("e and m from the bits of m/√½, so that √½ ≤ m < √2")
	root := math.Float32bits(math.Sqrt2 / 2)
	VPSUBD(word(root), m, m)
	VPSRAD(Imm(23), m, e)
	VCVTDQ2PS(e, e)
	VSUBPS(shift, e, e)
	VPAND(word(1<<23-1), m, m)
	VPADDD(word(root), m, m)
	y := w.logOf(m, e)
	Comment("Infinity and NaN stay, negative numbers give NaN, zero −Inf.")
	zero, mask := w.vector(), w.vector()
	VXORPS(zero, zero, zero)
	VCMPPS(Imm(0x5), float(math.Inf(1)), x, mask) // not less than
	VBLENDVPS(mask, x, y, y)
	VCMPPS(Imm(1), zero, x, mask)
	VORPS(mask, y, y)
	VCMPPS(Imm(0), zero, x, mask)
	VBLENDVPS(mask, w.constant(float(math.Inf(-1))), y, y)
	return y
}

// logOf emits e ln 2 + ln m, by the polynomial of Cephes' logf in r = m−1:
// ln(1+r) = r − r²/2 + r³ P(r).
func (w *isa) logOf(m, e VecVirtual) VecVirtual {
	w.with(VADDPS, VADDPS_BCST, float(-1), m, m)
	p := w.horner(m, 3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1,
		1.4249322787e-1, -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2)
	square := w.vector()
	VMULPS(m, m, square)
	VMULPS(m, p, p)
	VMULPS(square, p, p)
	w.with(VFMADD231PS, VFMADD231PS_BCST, float(ln2Low), e, p)
	w.with(VFNMADD231PS, VFNMADD231PS_BCST, float(0.5), square, p)
	VADDPS(m, p, p)
	w.with(VFMADD231PS, VFMADD231PS_BCST, float(ln2High), e, p)
	return p
}
