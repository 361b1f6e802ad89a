// Command double generates the elementwise functions of float64. A kernel takes eight elements
// at a time. The processor overlaps their chains of operations with those of the next eight.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// group is the number of elements that a kernel takes at a time.
const group = 8

type isa struct{ *ISA }

var constants = NewPool("doubleConstants")

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []isa{{AVX512}, {AVX2}} {
		w.elementwise("exp64", "e^x", w.exp)
		w.elementwise("log64", "ln x", w.log)
		w.elementwise("log1p64", "ln(1+x)", w.log1p)
		w.combine()
		w.logSumExp()
	}
	Generate()
}

// word returns eight copies of a constant in memory.
func word(bits uint64) Mem {
	return constants.Vector64(bits, bits, bits, bits, bits, bits, bits, bits)
}

func number(x float64) Mem { return word(math.Float64bits(x)) }

// elementwise emits a kernel that applies f to every element.
func (w isa) elementwise(name, formula string, f func(x VecVirtual) VecVirtual) {
	w.Kernel(name, "func(dst, x []float64)", "sets dst[i] = "+formula+" of x[i]; the lengths are equal, and whole eights.")
	dst, x, n := Address("dst"), Address("x"), Length("dst")
	JMP(LabelRef("next"))
	Label("block")
	for at := 0; at < 8*group; at += w.Bytes {
		v := w.Vector()
		VMOVUPD(At(x, at), v)
		VMOVUPD(f(v), At(dst, at))
	}
	ADDQ(I32(8*group), x)
	ADDQ(I32(8*group), dst)
	Label("next")
	SUBQ(I32(group), n)
	JGE(LabelRef("block"))
	Leave()
}

// combine emits sums of products, each of which is rounded before it is added. It takes
// thirty-two elements at a time, and then eight at a time.
func (w isa) combine() {
	w.Kernel("combine64", "func(dst, weights, v []float64, stride int)",
		"is combine64Generic for whole eights of elements, and at least one weight.")
	dst, n, weights, v, stride := Address("dst"), Length("dst"), Address("weights"), Address("v"), Number("stride")
	SHLQ(Imm(3), stride)
	for _, size := range []int{4 * group, group} {
		name := map[int]string{4 * group: "thirtytwo", group: "eight"}[size]
		JMP(LabelRef(name + "_next"))
		Label(name)
		sums, term, weight := w.Vectors(8*size/w.Bytes), w.Vector(), w.Vector()
		from, weightAddress, count := Copy(v), Copy(weights), Length("weights")
		VBROADCASTSD(At(weightAddress, 0), weight)
		for i, sum := range sums {
			VMULPD(At(from, i*w.Bytes), weight, sum)
		}
		JMP(LabelRef(name + "_weights_next"))
		Label(name + "_weights")
		ADDQ(stride, from)
		ADDQ(Imm(8), weightAddress)
		VBROADCASTSD(At(weightAddress, 0), weight)
		for i, sum := range sums {
			VMULPD(At(from, i*w.Bytes), weight, term)
			VADDPD(term, sum, sum)
		}
		Label(name + "_weights_next")
		DECQ(count)
		JNZ(LabelRef(name + "_weights"))
		for i, sum := range sums {
			VMOVUPD(sum, At(dst, i*w.Bytes))
		}
		ADDQ(I32(8*size), dst)
		ADDQ(I32(8*size), v)
		Label(name + "_next")
		SUBQ(I32(size), n)
		JGE(LabelRef(name))
		ADDQ(I32(size), n)
	}
	Leave()
}

// logSumExp takes as many columns at a time as a vector holds. It finds the largest term, then
// exponentials and their sum, then quotients. Terms are the second source of the maximum, which
// returns that source if one is NaN. The largest term starts from the lowest finite number, so
// that a column of −Inf gives −Inf.
func (w isa) logSumExp() {
	w.Kernel("logSumExp64", "func(log, terms []float64, stride int)", "is logSumExp64Generic for whole eights of columns.")
	log, terms, stride := Address("log"), Address("terms"), Number("stride")
	SHLQ(Imm(3), stride)
	lines := func(name string, body func(line Mem)) {
		line := Copy(terms)
		Label(name)
		body(At(line, 0))
		ADDQ(stride, line)
		JumpBefore("terms", line, name)
	}
	Label("columns")
	highest, sum := w.Vector(), w.Vector()
	VMOVUPD(number(-math.MaxFloat64), highest)
	lines("largest", func(line Mem) { VMAXPD(line, highest, highest) })
	VXORPD(sum, sum, sum)
	lines("exponentials", func(line Mem) {
		v, limit, kept := w.Vector(), w.Vector(), w.Mask()
		VMOVUPD(line, v)
		VSUBPD(highest, v, v)
		VMOVUPD(number(-45), limit)
		VCMPPD(Imm(NotLess), limit, v, kept)
		e := w.exp(v)
		if w.Wide() {
			VMOVAPD_Z(e, kept, e)
		} else {
			VANDPD(kept, e, e)
		}
		VADDPD(e, sum, sum)
		VMOVUPD(e, line)
	})
	divisor := w.Vector()
	VMOVUPD(number(1), divisor)
	VMAXPD(sum, divisor, divisor)
	lines("shares", func(line Mem) {
		v := w.Vector()
		VMOVUPD(line, v)
		VDIVPD(divisor, v, v)
		VMOVUPD(v, line)
	})
	result := w.log(sum)
	VADDPD(highest, result, result)
	VMOVUPD(result, At(log, 0))
	ADDQ(Imm(uint64(w.Bytes)), log)
	ADDQ(Imm(uint64(w.Bytes)), terms)
	JumpBefore("log", log, "columns")
	Leave()
}

// The natural logarithm of 2 in two parts, the first exact when multiplied by an exponent.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = 0x1.a39ef35793c76p-33
)

// exp emits 2ⁿ e^r with x = n ln 2 + r and |r| ≤ ln 2/2, where e^r is Taylor's polynomial, whose
// remainder is 4e-18. Subnormal results and infinity come out of the scaling. Results of zero
// are not scaled, as that takes many processors a hundred cycles. A NaN passes the minimum,
// which returns its second source then, and the comparison, as it is not less than anything.
func (w isa) exp(x VecVirtual) VecVirtual {
	n, p, limit := w.Vector(), w.Vector(), w.Vector()
	kept := w.Mask()
	VMOVUPD(number(710), limit)
	VMINPD(x, limit, x)
	VMOVUPD(number(-746), limit)
	VCMPPD(Imm(NotLess), limit, x, kept)
	if !w.Wide() {
		VANDPD(kept, x, x)
	}
	VMULPD(number(math.Log2E), x, n)
	if w.Wide() {
		VRNDSCALEPD(Imm(0), n, n)
	} else {
		VROUNDPD(Imm(0), n, n)
	}
	VFNMADD231PD(number(ln2High), n, x)
	VFNMADD231PD(number(ln2Low), n, x)
	const degree = 13
	factorial := 1.0
	for k := 2; k <= degree; k++ {
		factorial *= float64(k)
	}
	VMOVUPD(number(1/factorial), p)
	for k := degree; k > 0; k-- {
		factorial /= float64(k)
		VFMADD213PD(number(1/factorial), x, p)
	}
	if w.Wide() {
		VSCALEFPD_Z(n, p, kept, p)
		return p
	}
	Comment("2ⁿ in two factors, as n may be outside of the range of exponents")
	whole, half := XMM(), XMM()
	VCVTPD2DQY(n, whole)
	VPSRAD(Imm(1), whole, half)
	VPSUBD(half, whole, whole)
	for _, part := range []VecVirtual{half, whole} {
		VPMOVSXDQ(part, n)
		VPADDQ(word(1023), n, n)
		VPSLLQ(Imm(52), n, n)
		VMULPD(n, p, p)
	}
	VANDPD(kept, p, p)
	return p
}

// log emits e ln 2 + ln m with √½ ≤ m < √2.
func (w isa) log(x VecVirtual) VecVirtual {
	m, e := w.Vector(), w.Vector()
	if w.Wide() {
		high := K()
		VGETEXPPD(x, e)
		VGETMANTPD(Imm(0x8), x, m) // 1 ≤ m < 2, NaN for negative x
		root, half, one := w.Vector(), w.Vector(), w.Vector()
		VMOVUPD(number(math.Sqrt2), root)
		VMOVUPD(number(0.5), half)
		VMOVUPD(number(1), one)
		VCMPPD(Imm(13), root, m, high)
		VMULPD(half, m, high, m)
		VADDPD(one, e, high, e)
		return w.logOf(m, e)
	}
	root := math.Float64bits(math.Sqrt2 / 2)
	Comment("Subnormal numbers are scaled into the normal range.")
	small, t := w.Vector(), w.Vector()
	VMOVUPD(number(0x1p-1022), small)
	VCMPPD(Imm(1), small, x, small)
	VMULPD(number(0x1p54), x, t)
	VBLENDVPD(small, t, x, m)
	VANDPD(number(54), small, small)
	Comment("e and m from the bits of m/√½, so that √½ ≤ m < √2; e is in the upper halves")
	VPSUBQ(word(root), m, m)
	exponents, upper := w.Vector(), XMM()
	VPSRAD(Imm(20), m, exponents)
	VEXTRACTI128(Imm(1), exponents, upper)
	VSHUFPS(Imm(0xDD), upper, exponents.AsX(), upper)
	VCVTDQ2PD(upper, e)
	VSUBPD(small, e, e)
	VPAND(word(1<<52-1), m, m)
	VPADDQ(word(root), m, m)
	y := w.logOf(m, e)
	Comment("Infinity and NaN stay, negative numbers give NaN, zero −Inf.")
	mask, other := w.Vector(), w.Vector()
	VMOVUPD(number(math.Inf(1)), other)
	VCMPPD(Imm(0x5), other, x, mask) // not less than
	VBLENDVPD(mask, x, y, y)
	VXORPD(other, other, other)
	VCMPPD(Imm(1), other, x, mask)
	VORPD(mask, y, y)
	VCMPPD(Imm(0), other, x, mask)
	VMOVUPD(number(math.Inf(-1)), other)
	VBLENDVPD(mask, other, y, y)
	return y
}

// log1p emits ln u + (x − (u − 1))/u, where u is 1 + x after rounding. The second term is dropped
// where it is NaN, as u is 0 or infinite.
func (w isa) log1p(x VecVirtual) VecVirtual {
	u, correction := w.Vector(), w.Vector()
	VADDPD(number(1), x, u)
	VADDPD(number(-1), u, correction)
	VSUBPD(correction, x, correction)
	VDIVPD(u, correction, correction)
	if w.Wide() {
		ordered := K()
		VCMPPD(Imm(7), correction, correction, ordered)
		VMOVAPD_Z(correction, ordered, correction)
	} else {
		ordered := w.Vector()
		VCMPPD(Imm(7), correction, correction, ordered)
		VANDPD(ordered, correction, correction)
	}
	y := w.log(u)
	VADDPD(correction, y, y)
	return y
}

// logOf emits e ln 2 + ln m, the small parts first.
func (w isa) logOf(m, e VecVirtual) VecVirtual {
	f, s, z, square, r := m, w.Vector(), w.Vector(), w.Vector(), w.Vector()
	VADDPD(number(-1), m, f)
	VADDPD(number(2), f, s)
	VDIVPD(s, f, s)
	VMULPD(s, s, z)
	VMULPD(f, f, square)
	VMULPD(number(0.5), square, square)
	VMOVUPD(number(LogTail64[len(LogTail64)-1]), r)
	for k := len(LogTail64) - 2; k >= 0; k-- {
		VFMADD213PD(number(LogTail64[k]), z, r)
	}
	VFMADD213PD(square, z, r) // f²/2 + R
	VMULPD(r, s, r)
	VFMADD231PD(number(ln2Low), e, r)
	VSUBPD(square, r, r)
	VADDPD(f, r, r)
	VFMADD231PD(number(ln2High), e, r)
	return r
}
