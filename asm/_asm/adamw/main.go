// Command adamw generates the kernels that walk flat arrays: the AdamW step,
// the sum of squares, the accumulation of gradients and the check for finite elements.
//
// Every kernel takes slices whose length is a multiple of 16 (32 for the sum
// of squares); the callers give the rest to the generic kernels. All
// arithmetic is the generic kernels', operation by operation and without
// fused multiply-adds, so that all paths give the same bits: these kernels
// are bound by memory, division and square root.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The elements of adamWFactors.
const (
	gradScale = iota
	keep
	beta1
	beta1Rest
	beta2
	beta2Rest
	rootScale
	epsilon
	step
	emaDecay
	emaRest
	numFactors
)

// A width is a vector register size.
type width struct {
	suffix string
	bytes  int
	vector func() VecVirtual
}

var (
	avx512 = width{"AVX512", 64, func() VecVirtual { return ZMM() }}
	avx2   = width{"AVX2", 32, func() VecVirtual { return YMM() }}
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []width{avx512, avx2} {
		adamWStep(w)
		sumSquares(w)
		accumulate(w)
		allFinite(w)
	}
	Generate()
}

// forBlocks emits a loop over blocks of count vectors. The body addresses
// arrays as base[offset], with the offset in bytes.
func forBlocks(name string, w width, n Register, count int, body func(offset Register)) {
	offset := GP64()
	SHLQ(Imm(2), n)
	XORQ(offset, offset)
	JMP(LabelRef(name + "_next"))
	Label(name + "_block")
	body(offset)
	ADDQ(Imm(uint64(count*w.bytes)), offset)
	Label(name + "_next")
	CMPQ(offset, n)
	JB(LabelRef(name + "_block"))
}

func at(base, offset Register, displacement int) Mem {
	return Mem{Base: base, Index: offset, Scale: 1, Disp: displacement}
}

func adamWStep(w width) {
	TEXT("adamWStep"+w.suffix, NOSPLIT, "func(p, g, m, v, ema []float32, f *[11]float32)")
	Doc("adamWStep" + w.suffix + " is adamWStepGeneric for a multiple of 16 parameters.")
	Pragma("noescape")
	p := Load(Param("p").Base(), GP64())
	n := Load(Param("p").Len(), GP64())
	g := Load(Param("g").Base(), GP64())
	m := Load(Param("m").Base(), GP64())
	v := Load(Param("v").Base(), GP64())
	ema := Load(Param("ema").Base(), GP64())
	f := Load(Param("f"), GP64())
	var factor [numFactors]VecVirtual
	for i := range factor {
		factor[i] = w.vector()
		VBROADCASTSS(Mem{Base: f, Disp: 4 * i}, factor[i])
	}
	forBlocks("step", w, n, 1, func(offset Register) {
		grad, moment, square, param, t := w.vector(), w.vector(), w.vector(), w.vector(), w.vector()
		Comment("m = beta1 m + (1-beta1) g")
		VMULPS(at(g, offset, 0), factor[gradScale], grad)
		VMULPS(at(m, offset, 0), factor[beta1], moment)
		VMULPS(grad, factor[beta1Rest], t)
		VADDPS(t, moment, moment)
		VMOVUPS(moment, at(m, offset, 0))

		Comment("v = beta2 v + (1-beta2) g²")
		VMULPS(grad, grad, grad)
		VMULPS(at(v, offset, 0), factor[beta2], square)
		VMULPS(grad, factor[beta2Rest], grad)
		VADDPS(grad, square, square)
		VMOVUPS(square, at(v, offset, 0))

		Comment("p = keep p - step m / (sqrt(v) rootScale + epsilon)")
		VSQRTPS(square, square)
		VMULPS(factor[rootScale], square, square)
		VADDPS(factor[epsilon], square, square)
		VDIVPS(square, moment, moment)
		VMULPS(at(p, offset, 0), factor[keep], param)
		VMULPS(factor[step], moment, moment)
		VSUBPS(moment, param, param)
		VMOVUPS(param, at(p, offset, 0))

		Comment("ema = emaDecay ema + (1-emaDecay) p")
		TESTQ(ema, ema)
		JZ(LabelRef("noEMA"))
		VMULPS(factor[emaRest], param, param)
		VMULPS(at(ema, offset, 0), factor[emaDecay], t)
		VADDPS(param, t, t)
		VMOVUPS(t, at(ema, offset, 0))
		Label("noEMA")
	})
	VZEROUPPER()
	RET()
}

func sumSquares(w width) {
	TEXT("sumSquares"+w.suffix, NOSPLIT, "func(lanes *[32]float64, x []float32)")
	Doc("sumSquares" + w.suffix + " is sumSquaresGeneric for a multiple of 32 elements.")
	Pragma("noescape")
	lanes := Load(Param("lanes"), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	sums := make([]VecVirtual, 32*8/w.bytes)
	for i := range sums {
		sums[i] = w.vector()
		VMOVUPD(Mem{Base: lanes, Disp: i * w.bytes}, sums[i])
	}
	forBlocks("sum", w, n, 32*4/w.bytes, func(offset Register) {
		for i, sum := range sums {
			value := w.vector()
			VCVTPS2PD(at(x, offset, i*w.bytes/2), value)
			VMULPD(value, value, value)
			VADDPD(value, sum, sum)
		}
	})
	for i, sum := range sums {
		VMOVUPD(sum, Mem{Base: lanes, Disp: i * w.bytes})
	}
	VZEROUPPER()
	RET()
}

func accumulate(w width) {
	TEXT("accumulate"+w.suffix, NOSPLIT, "func(dst, src []float32)")
	Doc("accumulate" + w.suffix + " is accumulateGeneric for a multiple of 16 elements.")
	Pragma("noescape")
	dst := Load(Param("dst").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	src := Load(Param("src").Base(), GP64())
	forBlocks("add", w, n, 1, func(offset Register) {
		sum := w.vector()
		VMOVUPS(at(dst, offset, 0), sum)
		VADDPS(at(src, offset, 0), sum, sum)
		VMOVUPS(sum, at(dst, offset, 0))
	})
	VZEROUPPER()
	RET()
}

// allFinite takes the largest pattern of the absolute values, as unsigned
// integers: those of infinity and NaN are the largest of all.
func allFinite(w width) {
	TEXT("allFinite"+w.suffix, NOSPLIT, "func(x []float32) bool")
	Doc("allFinite" + w.suffix + " is allFiniteGeneric for a multiple of 16 elements.")
	Pragma("noescape")
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	absolute, largest := w.vector(), w.vector()
	setAllBits(w, absolute)
	VPSRLD(Imm(1), absolute, absolute)
	zero(w, largest)
	forBlocks("max", w, n, 1, func(offset Register) {
		value := w.vector()
		if w.bytes == 64 {
			VPANDD(at(x, offset, 0), absolute, value)
		} else {
			VPAND(at(x, offset, 0), absolute, value)
		}
		VPMAXUD(value, largest, largest)
	})
	Comment("Finite patterns are below that of infinity, 0xff<<23.")
	bits, infinity := GP32(), w.vector()
	MOVL(U32(0xff<<23), bits)
	scalar := XMM()
	VMOVD(bits, scalar)
	VPBROADCASTD(scalar, infinity)
	result := GP32()
	if w.bytes == 64 {
		k := K()
		VPCMPUD(Imm(5), infinity, largest, k) // largest >= infinity
		KMOVW(k, result)
	} else {
		VPMAXUD(infinity, largest, infinity)
		VPCMPEQD(infinity, largest, largest) // the same condition
		VMOVMSKPS(largest, result)
	}
	TESTL(result, result)
	SETEQ(result.As8())
	Store(result.As8(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// setAllBits sets all bits of a register.
func setAllBits(w width, v VecVirtual) {
	if w.bytes == 64 {
		VPTERNLOGD(Imm(0xff), v, v, v)
	} else {
		VPCMPEQD(v, v, v)
	}
}

func zero(w width, v VecVirtual) {
	if w.bytes == 64 {
		VPXORD(v, v, v)
	} else {
		VPXOR(v, v, v)
	}
}
