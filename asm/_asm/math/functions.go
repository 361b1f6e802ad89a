package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// The constants that AVX-512 keeps in registers.
var (
	signBit          = word(1 << 31)
	splitConstants   = append(floats(math.Log2E, Ln2High, Ln2Low), floats(Expm1Tail...)...)
	expConstants     = append(floats(1, -104, 89), splitConstants...)
	sigmoidConstants = append(expConstants, signBit)
	tanhConstants    = append([]Mem{signBit, word(1<<31 - 1), float(-40), float(-1), float(1), float(2)}, splitConstants...)
	logConstants     = append(floats(math.Sqrt2, 0.5, 1, -1, Ln2High, Ln2Low), floats(LogTail...)...)
)

// split emits n and r with x = n ln 2 + r, |r| ≤ ln 2 / 2. It overwrites x by r.
func (w *isa) split(x []VecVirtual) (n []VecVirtual) {
	n = w.Vectors(len(x))
	w.side(VMULPS, VMULPS_BCST, float(math.Log2E), x, n)
	for _, n := range n {
		if w == avx512 {
			VRNDSCALEPS(Imm(0), n, n)
		} else {
			VROUNDPS(Imm(0), n, n)
		}
	}
	w.side(VFNMADD231PS, VFNMADD231PS_BCST, float(Ln2High), n, x)
	w.side(VFNMADD231PS, VFNMADD231PS_BCST, float(Ln2Low), n, x)
	return n
}

// exp emits 2^n (1 + r + r² tail(r)). Subnormal results and infinity come out of the scaling.
// Where the result is zero nothing is scaled: many processors take a hundred cycles to find
// that a product vanishes. NaN is the second source of the minimum, and not less than anything.
func (w *isa) exp(x []VecVirtual) []VecVirtual {
	low, kept := w.constant(float(-104)), make([]Register, len(x))
	for i, x := range x {
		VMINPS(x, w.constant(float(89)), x)
		kept[i] = w.Mask()
		VCMPPS(Imm(NotLess), low, x, kept[i])
		if w == avx2 {
			VANDPS(kept[i], x, x)
		}
	}
	n := w.split(x)
	p := w.horner(x, append([]float64{1, 1}, Expm1Tail...)...)
	if w == avx512 {
		for i, p := range p {
			VSCALEFPS_Z(n[i], p, kept[i], p)
		}
		return p
	}
	Comment("2^n in two factors, as n may be outside of the range of exponents")
	for i, n := range n {
		VCVTPS2DQ(n, n)
		half := w.Vector()
		VPSRAD(Imm(1), n, half)
		VPSUBD(half, n, n)
		for _, e := range []VecVirtual{half, n} {
			w.power(e)
			VMULPS(e, p[i], p[i])
		}
		VANDPS(kept[i], p[i], p[i])
	}
	return p
}

// power turns integers n into the floats 2^n, in AVX2.
func (w *isa) power(n VecVirtual) {
	VPADDD(word(127), n, n)
	VPSLLD(Imm(23), n, n)
}

// bits emits a bitwise operation with a constant.
func (w *isa) bits(op, opBroadcast, op256 func(...Op), constant Mem, x, dst VecVirtual) {
	if w == avx512 {
		w.with(op, opBroadcast, constant, x, dst)
	} else {
		op256(constant, x, dst)
	}
}

// sigmoid emits 1/(1+e) with e = e^−|x|, or e/(1+e) for negative x.
func (w *isa) sigmoid(x []VecVirtual) []VecVirtual {
	minus := w.Vectors(len(x))
	for i := range x {
		w.bits(VPORD, VPORD_BCST, VORPS, signBit, x[i], minus[i])
	}
	e := w.exp(minus)
	for i := range x {
		one, top := w.constant(float(1)), x[i]
		if w == avx512 {
			negative := K()
			VPMOVD2M(x[i], negative)
			VBLENDMPS(e[i], one, negative, top)
		} else {
			VBLENDVPS(x[i], e[i], one, top) // by the sign bit
		}
		VADDPS(one, e[i], e[i])
		VDIVPS(e[i], top, top)
	}
	return x
}

// tanh emits −t/(2+t) with t = e^(−2|x|)−1 and x's sign. With t = 2^n e^r − 1 =
// 2^n (e^r−1) + (2^n−1) nothing cancels.
func (w *isa) tanh(x []VecVirtual) []VecVirtual {
	sign := w.Vectors(len(x))
	for i, x := range x {
		w.bits(VPANDD, VPANDD_BCST, VANDPS, signBit, x, sign[i])
		w.bits(VPORD, VPORD_BCST, VORPS, signBit, x, x)
		VADDPS(x, x, x)
		VMAXPS(x, w.constant(float(-40)), x)
	}
	n := w.split(x)
	p := w.horner(x, Expm1Tail...)
	ForEach(VMULPS, x, p, p)
	ForEach(VFMADD213PS, x, x, p) // r + r (r tail)
	for i, t := range x {
		scale := n[i]
		if w == avx512 {
			VSCALEFPS(n[i], w.constant(float(1)), scale)
		} else {
			VCVTPS2DQ(n[i], scale)
			w.power(scale)
		}
		w.with(VADDPS, VADDPS_BCST, float(-1), scale, t)
		VFMADD231PS(scale, p[i], t)
		w.with(VADDPS, VADDPS_BCST, float(2), t, p[i])
		VDIVPS(p[i], t, t)
		// t is negative or zero: clear its sign, set x's.
		w.bits(VPANDD, VPANDD_BCST, VANDPS, word(1<<31-1), t, t)
		if w == avx512 {
			VPORD(sign[i], t, t)
		} else {
			VORPS(sign[i], t, t)
		}
	}
	return x
}

// log emits e ln 2 + ln m with √½ ≤ m < √2.
func (w *isa) log(x []VecVirtual) []VecVirtual {
	m, e := w.Vectors(len(x)), w.Vectors(len(x))
	if w == avx512 {
		for i := range x {
			high := K()
			VGETEXPPS(x[i], e[i])
			VGETMANTPS(Imm(0x8), x[i], m[i]) // 1 ≤ m < 2, NaN for negative x
			VCMPPS(Imm(13), w.constant(float(math.Sqrt2)), m[i], high)
			VMULPS(w.constant(float(0.5)), m[i], high, m[i])
			VADDPS(w.constant(float(1)), e[i], high, e[i])
		}
		return w.logOf(m, e)
	}
	root := math.Float32bits(math.Sqrt2 / 2)
	for i, x := range x {
		Comment("Subnormal numbers are scaled into the normal range.")
		small, t := w.Vector(), w.Vector()
		VCMPPS(Imm(1), word(1<<23), x, small)
		VMULPS(float(1<<23), x, t)
		VBLENDVPS(small, t, x, m[i])
		VANDPS(float(23), small, small)
		Comment("e and m from the bits of m/√½, so that √½ ≤ m < √2")
		VPSUBD(word(root), m[i], m[i])
		VPSRAD(Imm(23), m[i], e[i])
		VCVTDQ2PS(e[i], e[i])
		VSUBPS(small, e[i], e[i])
		VPAND(word(1<<23-1), m[i], m[i])
		VPADDD(word(root), m[i], m[i])
	}
	y := w.logOf(m, e)
	for i, x := range x {
		Comment("Infinity and NaN stay, negative numbers give NaN, zero −Inf.")
		mask := w.Vector()
		VCMPPS(Imm(0x5), float(math.Inf(1)), x, mask) // not less than
		VBLENDVPS(mask, x, y[i], y[i])
		zero := w.Zeros()
		VCMPPS(Imm(1), zero, x, mask)
		VORPS(mask, y[i], y[i])
		VCMPPS(Imm(0), zero, x, mask)
		VBLENDVPS(mask, w.constant(float(math.Inf(-1))), y[i], y[i])
	}
	return y
}

// logOf emits e ln 2 + ln m, the small parts first.
func (w *isa) logOf(m, e []VecVirtual) []VecVirtual {
	w.side(VADDPS, VADDPS_BCST, float(-1), m, m)
	p := w.horner(m, LogTail...)
	square := w.Vectors(len(m))
	ForEach(VMULPS, m, m, square)
	ForEach(VMULPS, m, p, p)
	ForEach(VMULPS, square, p, p)
	w.side(VFMADD231PS, VFMADD231PS_BCST, float(Ln2Low), e, p)
	w.side(VFNMADD231PS, VFNMADD231PS_BCST, float(0.5), square, p)
	ForEach(VADDPS, m, p, p)
	w.side(VFMADD231PS, VFMADD231PS_BCST, float(Ln2High), e, p)
	return p
}
