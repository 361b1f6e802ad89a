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

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// The elements of adamWFactors.
const (
	gradScale = iota
	decayFactor
	beta1
	oneMinusBeta1
	beta2
	oneMinusBeta2
	rootScale
	epsilon
	stepSize
	emaDecay
	oneMinusEMADecay
	numFactors
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*ISA{AVX512, AVX2} {
		adamWStep(w)
		sumSquares(w)
		accumulate(w)
		allFinite(w)
	}
	Generate()
}

// forBlocks emits a loop over blocks of count vectors. The body addresses
// arrays as base[offset], with the offset in bytes.
func forBlocks(name string, w *ISA, n Register, count int, body func(offset Register)) {
	offset := GP64()
	SHLQ(Imm(2), n)
	XORQ(offset, offset)
	JMP(LabelRef(name + "_next"))
	Label(name + "_block")
	body(offset)
	ADDQ(Imm(uint64(count*w.Bytes)), offset)
	Label(name + "_next")
	CMPQ(offset, n)
	JB(LabelRef(name + "_block"))
}

func adamWStep(w *ISA) {
	w.Kernel("adamWStep", "func(p, g, m, v, ema []float32, f *[11]float32)",
		"is adamWStepGeneric for a multiple of 16 parameters.")
	p, n, g, m := Address("p"), Length("p"), Address("g"), Address("m")
	v, ema, f := Address("v"), Address("ema"), Number("f")
	var factor [numFactors]VecVirtual
	for i := range factor {
		factor[i] = w.Vector()
		VBROADCASTSS(Mem{Base: f, Disp: 4 * i}, factor[i])
	}
	forBlocks("step", w, n, 1, func(offset Register) {
		grad, moment, square, param, t := w.Vector(), w.Vector(), w.Vector(), w.Vector(), w.Vector()
		Comment("m = beta1 m + (1-beta1) g")
		VMULPS(AtOffset(g, offset, 0), factor[gradScale], grad)
		VMULPS(AtOffset(m, offset, 0), factor[beta1], moment)
		VMULPS(grad, factor[oneMinusBeta1], t)
		VADDPS(t, moment, moment)
		VMOVUPS(moment, AtOffset(m, offset, 0))

		Comment("v = beta2 v + (1-beta2) g²")
		VMULPS(grad, grad, grad)
		VMULPS(AtOffset(v, offset, 0), factor[beta2], square)
		VMULPS(grad, factor[oneMinusBeta2], grad)
		VADDPS(grad, square, square)
		VMOVUPS(square, AtOffset(v, offset, 0))

		Comment("p = decayFactor p - stepSize m / (sqrt(v) rootScale + epsilon)")
		VSQRTPS(square, square)
		VMULPS(factor[rootScale], square, square)
		VADDPS(factor[epsilon], square, square)
		VDIVPS(square, moment, moment)
		VMULPS(AtOffset(p, offset, 0), factor[decayFactor], param)
		VMULPS(factor[stepSize], moment, moment)
		VSUBPS(moment, param, param)
		VMOVUPS(param, AtOffset(p, offset, 0))

		Comment("ema = emaDecay ema + (1-emaDecay) p")
		TESTQ(ema, ema)
		JZ(LabelRef("noEMA"))
		VMULPS(factor[oneMinusEMADecay], param, param)
		VMULPS(AtOffset(ema, offset, 0), factor[emaDecay], t)
		VADDPS(param, t, t)
		VMOVUPS(t, AtOffset(ema, offset, 0))
		Label("noEMA")
	})
	Leave()
}

func sumSquares(w *ISA) {
	w.Kernel("sumSquares", "func(lanes *[32]float64, x []float32)",
		"is sumSquaresGeneric for a multiple of 32 elements.")
	lanes, x, n := Number("lanes"), Address("x"), Length("x")
	sums := make([]VecVirtual, 32*8/w.Bytes)
	for i := range sums {
		sums[i] = w.Vector()
		VMOVUPD(Mem{Base: lanes, Disp: i * w.Bytes}, sums[i])
	}
	forBlocks("sum", w, n, 32*4/w.Bytes, func(offset Register) {
		for i, sum := range sums {
			value := w.Vector()
			VCVTPS2PD(AtOffset(x, offset, i*w.Bytes/2), value)
			VMULPD(value, value, value)
			VADDPD(value, sum, sum)
		}
	})
	for i, sum := range sums {
		VMOVUPD(sum, Mem{Base: lanes, Disp: i * w.Bytes})
	}
	Leave()
}

func accumulate(w *ISA) {
	w.Kernel("accumulate", "func(dst, src []float32)",
		"is accumulateGeneric for a multiple of 16 elements.")
	dst, n, src := Address("dst"), Length("dst"), Address("src")
	forBlocks("add", w, n, 1, func(offset Register) {
		sum := w.LoadVector(AtOffset(dst, offset, 0))
		VADDPS(AtOffset(src, offset, 0), sum, sum)
		VMOVUPS(sum, AtOffset(dst, offset, 0))
	})
	Leave()
}

// allFinite takes the largest pattern of the absolute values, as unsigned
// integers: those of infinity and NaN are the largest of all.
func allFinite(w *ISA) {
	w.Kernel("allFinite", "func(x []float32) bool",
		"is allFiniteGeneric for a multiple of 16 elements.")
	x, n := Address("x"), Length("x")
	absolute, largest := w.Vector(), w.Vector()
	w.Ones(absolute)
	VPSRLD(Imm(1), absolute, absolute)
	w.Clear(largest)
	forBlocks("max", w, n, 1, func(offset Register) {
		value := w.Vector()
		w.And(AtOffset(x, offset, 0), absolute, value)
		VPMAXUD(value, largest, largest)
	})
	Comment("Finite patterns are below that of infinity, 0xff<<23.")
	bits, infinity := GP32(), w.Vector()
	MOVL(U32(0xff<<23), bits)
	scalar := XMM()
	VMOVD(bits, scalar)
	VPBROADCASTD(scalar, infinity)
	result := GP32()
	if w.Wide() {
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
	Leave()
}
