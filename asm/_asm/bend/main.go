// Command bend generates the kernels of sinh-arcsinh maps. All arithmetic is the generic
// kernels', operation by operation and without fused multiply-adds, so that all paths give the
// same bits.
package main

import (
	"math"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*ISA{AVX512, AVX2} {
		k := kernel{w}
		k.bend()
		k.unbend()
		k.unbendSlopes()
		k.unbendNormal()
		k.logNormals()
	}
	Generate()
}

type kernel struct{ *ISA }

var constants = NewPool("bendConstants")

type vec = VecVirtual

// bits returns a vector of copies of a constant.
func (w kernel) bits(b uint64) vec {
	v := w.Vector()
	VBROADCASTSD(constants.Vector64(b), v)
	return v
}

func (w kernel) number(x float64) vec { return w.bits(math.Float64bits(x)) }

// do returns what an operation of numbers makes of a and b; a − b and a/b in that order.
func (w kernel) do(op func(...Op), a, b vec) vec {
	v := w.Vector()
	op(b, a, v)
	return v
}

func (w kernel) add(a, b vec) vec { return w.do(VADDPD, a, b) }
func (w kernel) sub(a, b vec) vec { return w.do(VSUBPD, a, b) }
func (w kernel) mul(a, b vec) vec { return w.do(VMULPD, a, b) }
func (w kernel) div(a, b vec) vec { return w.do(VDIVPD, a, b) }

// within returns x, no farther from 0 than bendArgument, and NaN as it is.
func (w kernel) within(x vec) vec {
	const maxArgument = 300
	v := w.Vector()
	VMINPD(x, w.number(maxArgument), v)
	VMAXPD(v, w.number(-maxArgument), v)
	return v
}

// horner returns c[0] + x (c[1] + x (c[2] + …)).
func (w kernel) horner(x vec, c ...float64) vec {
	p := w.number(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = w.add(w.mul(p, x), w.number(c[i]))
	}
	return p
}

// Those of asm/bend.go.
const (
	log2e    = 1.44269504088896338700
	ln2High  = 6.93147180369123816490e-01
	ln2Low   = 1.90821492927058770002e-10
	shifter  = 3 << 51
	sqrtHalf = 0x3fe6a09e667f3bcd
)

// exp is expGeneric64.
func (w kernel) exp(x vec) vec {
	shifted := w.add(w.mul(x, w.number(log2e)), w.number(shifter))
	k := w.sub(shifted, w.number(shifter))
	high, low := w.sub(x, w.mul(k, w.number(ln2High))), w.mul(k, w.number(ln2Low))
	r := w.sub(high, low)
	t := w.mul(r, r)
	p := w.horner(t, 1.66666666666666657415e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05, -1.65339022054652515390e-06, 4.13813679705723846039e-08)
	c := w.sub(r, w.mul(p, t))
	y := w.sub(w.number(1), w.sub(w.sub(low, w.div(w.mul(r, c), w.sub(w.number(2), c))), high))
	VPSLLQ(Imm(52), shifted, shifted)
	VPADDQ(shifted, y, y)
	return w.add(y, w.sub(x, x))
}

// log is logGeneric64.
func (w kernel) log(x vec) vec {
	bits, k := w.Vector(), w.Vector()
	VPADDQ(w.bits(0x3ff0000000000000-sqrtHalf), x, bits)
	VPSRLQ(Imm(52), bits, k)
	w.Or(w.number(1<<52), k, k)
	k = w.sub(k, w.number(1<<52+1023))
	f := w.Vector()
	w.And(w.bits(1<<52-1), bits, f)
	VPADDQ(w.bits(sqrtHalf), f, f)
	f = w.sub(f, w.number(1))
	s := w.div(f, w.add(w.number(2), f))
	z := w.mul(s, s)
	r := w.mul(w.horner(z, LogTail64...), z)
	half := w.mul(w.mul(f, f), w.number(0.5))
	correction := w.add(w.mul(s, w.add(half, r)), w.mul(k, w.number(ln2Low)))
	return w.sub(w.mul(k, w.number(ln2High)), w.sub(w.sub(half, correction), f))
}

// asinh is asinhGeneric. Its exponential, which takes a division, comes where it is asked for.
func (w kernel) asinh(x vec) (at, root vec, exp func() vec) {
	finite := w.within(x)
	nan := w.sub(finite, finite)
	root = w.Vector()
	VSQRTPD(w.add(w.number(1), w.mul(x, x)), root)
	sign, size := w.Vector(), w.Vector()
	w.And(w.bits(1<<63), x, sign)
	w.Xor(sign, x, size)
	up := w.add(root, size)
	at = w.log(up)
	w.Xor(sign, at, at)
	return w.add(at, nan), w.add(root, nan), func() vec {
		down, e := w.div(w.number(1), up), w.Vector()
		if w.Wide() {
			negative := K()
			VPMOVQ2M(sign, negative)
			VBLENDMPD(down, up, negative, e)
		} else {
			VBLENDVPD(sign, down, up, e)
		}
		return w.add(e, nan)
	}
}

// sinh is sinhGeneric.
func (w kernel) sinh(x vec) (sinh, cosh, e vec) {
	e = w.exp(w.within(x))
	sinh, cosh = w.halves(e)
	return sinh, cosh, e
}

// halves is halvesGeneric.
func (w kernel) halves(e vec) (sinh, cosh vec) {
	down := w.div(w.number(1), e)
	return w.mul(w.sub(e, down), w.number(0.5)), w.mul(w.add(e, down), w.number(0.5))
}

// maps are the parameters of maps, which are repeated.
var maps = []string{"epsilon", "up", "delta"}

// walk emits a kernel of slices of one length, the first of which tells it, but for maps, of the
// length of up.
func (w kernel) walk(name string, names []string, body func(load func(slice string) vec, store func(v vec, slice string))) {
	w.Kernel(name, "func("+strings.Join(names, ", ")+" []float64)", "is "+name+"Generic.")
	pointer := map[string]Register{}
	for _, s := range names {
		pointer[s] = Address(s)
	}
	i, k := GP64(), GP64()
	XORQ(i, i)
	XORQ(k, k)
	JMP(LabelRef("next"))
	Label("loop")
	at := func(s string) Mem {
		if slices.Contains(maps, s) {
			return Mem{Base: pointer[s], Index: k, Scale: 8}
		}
		return Mem{Base: pointer[s], Index: i, Scale: 8}
	}
	body(func(s string) vec {
		v := w.Vector()
		VMOVUPD(at(s), v)
		return v
	}, func(v vec, s string) { VMOVUPD(v, at(s)) })
	ADDQ(Imm(uint64(w.Bytes/8)), i)
	ADDQ(Imm(uint64(w.Bytes/8)), k)
	CMPQ(k, Length("up"))
	JB(LabelRef("next"))
	XORQ(k, k)
	Label("next")
	CMPQ(i, Length(names[0]))
	JB(LabelRef("loop"))
	Leave()
}

// each emits a kernel that maps the numbers of one slice, by the parameters of their maps, to another.
func (w kernel) each(name, to, from string, body func(value, epsilon, up, delta vec) (result, slope, at, e vec)) {
	w.walk(name, append([]string{to, "slope", "w", "e", from}, maps...), func(load func(string) vec, store func(vec, string)) {
		result, slope, at, e := body(load(from), load("epsilon"), load("up"), load("delta"))
		store(result, to)
		store(slope, "slope")
		store(at, "w")
		store(e, "e")
	})
}

func (w kernel) bend() {
	w.each("bend", "y", "z", func(z, epsilon, up, delta vec) (y, slope, at, e vec) {
		sinhE, coshE := w.halves(up)
		at, root, exp := w.asinh(z)
		e = exp()
		sinh, cosh, _ := w.sinh(w.add(w.mul(delta, at), epsilon))
		return w.div(w.sub(sinh, sinhE), w.mul(delta, coshE)), w.div(cosh, w.mul(root, coshE)), at, e
	})
}

func (w kernel) unbend() {
	w.each("unbend", "z", "y", func(y, epsilon, up, delta vec) (z, slope, at, e vec) {
		sinhE, coshE := w.halves(up)
		a, root, _ := w.asinh(w.add(w.mul(w.mul(delta, coshE), y), sinhE))
		at = w.div(w.sub(a, epsilon), delta)
		z, cosh, e := w.sinh(at)
		return z, w.div(w.mul(cosh, coshE), root), at, e
	})
}

func (w kernel) unbendSlopes() {
	names := []string{"byY", "byEpsilon", "byTau", "y", "slope", "c", "w", "e", "up", "delta"}
	w.walk("unbendSlopes", names, func(load func(string) vec, store func(vec, string)) {
		sinh, cosh := w.halves(load("e"))
		c := load("c")
		w.slopes(w.add(w.mul(load("slope"), cosh), w.div(w.mul(c, sinh), cosh)), c, load, store)
	})
}

func (w kernel) unbendNormal() {
	names := []string{"byY", "byEpsilon", "byTau", "y", "w", "e", "up", "delta"}
	w.walk("unbendNormal", names, func(load func(string) vec, store func(vec, string)) {
		sinh, cosh := w.halves(load("e"))
		w.slopes(w.sub(w.div(sinh, cosh), w.mul(sinh, cosh)), w.number(1), load, store)
	})
}

// slopes is slopesGeneric.
func (w kernel) slopes(byW, c vec, load func(string) vec, store func(vec, string)) {
	sinhE, coshE := w.halves(load("up"))
	delta, y := load("delta"), load("y")
	steep := w.mul(delta, coshE)
	x := w.add(w.mul(steep, y), sinhE)
	root := w.Vector()
	VSQRTPD(w.add(w.number(1), w.mul(x, x)), root)
	inverse := w.div(w.number(1), root)
	byA := w.mul(byW, w.div(w.number(1), delta))
	byX := w.mul(w.sub(byA, w.mul(w.mul(c, x), inverse)), inverse)
	byY := w.mul(byX, steep)
	store(byY, "byY")
	store(w.sub(w.mul(byY, y), w.mul(byW, load("w"))), "byTau")
	lean := w.mul(byX, w.add(w.mul(w.mul(y, delta), sinhE), coshE))
	store(w.add(w.sub(lean, byA), w.div(w.mul(c, sinhE), coshE)), "byEpsilon")
}

// logNormals emits the squares of a group, and where there are slopes their product, of which it
// keeps the mantissa and counts the exponents.
func (w kernel) logNormals() {
	w.Kernel("logNormals", "func(log, z, slope []float64, norm float64, d int)", "is logNormalsGeneric.")
	log, z, slope, norm := Address("log"), Address("z"), Address("slope"), w.Vector()
	VBROADCASTSD(Argument("norm"), norm)
	next := Copy(log)
	Label("group")
	ADDQ(Imm(8*8), next)
	Label("rows")
	squares, product, least, exponents, sum, n, at := w.Zeros(), w.number(1), w.number(1), w.Zeros(), w.Zeros(), Number("d"), GP64()
	XORQ(at, at)
	Label("coordinate")
	v := w.Vector()
	VMOVUPD(AtOffset(z, at, 0), v)
	VMULPD(v, v, v)
	VADDPD(v, squares, squares)
	TESTQ(slope, slope)
	JZ(LabelRef("straight"))
	exponent := w.Vector()
	VMINPD(AtOffset(slope, at, 0), least, least)
	VMULPD(AtOffset(slope, at, 0), product, product)
	VPSRLQ(Imm(52), product, exponent)
	VPADDQ(exponent, exponents, exponents)
	w.And(w.bits(1<<52-1), product, product)
	w.Or(w.number(1), product, product)
	Label("straight")
	ADDQ(Imm(8*8), at)
	DECQ(n)
	JNZ(LabelRef("coordinate"))
	TESTQ(slope, slope)
	JZ(LabelRef("flat"))
	ADDQ(Imm(uint64(w.Bytes)), slope)
	w.Or(w.number(1<<52), exponents, exponents)
	count, bias := w.sub(exponents, w.number(1<<52)), w.Vector()
	VBROADCASTSD(Argument("d"), bias)
	w.Or(w.number(1<<52), bias, bias)
	count = w.sub(count, w.mul(w.sub(bias, w.number(1<<52)), w.number(1023)))
	VMOVAPD(w.add(w.mul(count, w.number(math.Ln2)), w.log(product)), sum)
	none, infinite := w.Mask(), w.number(math.Inf(-1))
	VCMPPD(Imm(0), w.Zeros(), least, none)
	if w.Wide() {
		VMOVAPD_Z(infinite, none, infinite)
	} else {
		VANDPD(none, infinite, infinite)
	}
	VADDPD(infinite, sum, sum)
	Label("flat")
	VMOVUPD(w.add(norm, w.sub(sum, w.mul(w.number(0.5), squares))), At(log, 0))
	ADDQ(Imm(uint64(w.Bytes)), z)
	ADDQ(Imm(uint64(w.Bytes)), log)
	Comment("at is what the coordinates of a group take, of which the first has been gone through.")
	CMPQ(log, next)
	JB(LabelRef("rows"))
	SUBQ(Imm(8*8), at)
	ADDQ(at, z)
	TESTQ(slope, slope)
	CMOVQEQ(slope, at)
	ADDQ(at, slope)
	JumpBefore("log", log, "group")
	Leave()
}
