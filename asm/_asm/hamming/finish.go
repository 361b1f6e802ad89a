package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// finish emits the kernel that turns sums into gradients. Sixteen rows of sixteen
// spins are transposed in registers; a row's spins are then signed by masks.
func finish() {
	const spinBytes = rowBytes
	AVX512.Kernel("hammingFinish", "func(grad, base, spin *float32, rows *uint64, own *float32, scale float32, signs, rowBytes, words, blocks, lanes int)",
		"is hammingFinishGeneric for up to sixteen rows and blocks of sixteen spins,",
		"where a row's gradient begins rowBytes after that of the row before and signs is 0",
		"or -1. There is at least one block and row.")
	grad, base, spin, rows := Number("grad"), Number("base"), Number("spin"), Number("rows")
	own, gradBytes, words, blocks := Number("own"), Number("rowBytes"), Number("words"), Number("blocks")
	scale := ZMM()
	VBROADCASTSS(Load(Param("scale"), XMM()), scale)
	signed := K()
	signs := Number("signs")
	KMOVW(signs.As32(), signed)
	minus := ZMM()
	VPBROADCASTD(constants.Vector32(1<<31), minus)
	SHLQ(Imm(8), words) // to those of b
	part := GP64()
	XORQ(part, part) // of a word: 0, 2, 4 or 6 bytes

	Label("block")
	v := make([]VecVirtual, 16)
	for i := range v {
		v[i] = ZMM()
		VMOVUPS(Mem{Base: spin, Disp: i * spinBytes}, v[i])
	}
	v = AVX512.Transpose(v)
	out, a, left := GP64(), GP64(), GP64()
	MOVQ(grad, out)
	LEAQ(Mem{Base: rows, Index: part, Scale: 1}, a)
	Load(Param("lanes"), left)
	for i, sum := range v {
		up, down, flipped := K(), K(), K()
		KMOVW(Mem{Base: a, Disp: 8 * i}, up)
		KMOVW(Mem{Base: a, Index: words, Scale: 1, Disp: 8 * i}, flipped)
		KXORW(up, flipped, flipped)
		VPXORD(minus, sum, up, sum)
		VADDPS_BCST(Mem{Base: base, Disp: 4 * i}, sum, sum)
		itself := ZMM()
		VBROADCASTSS(Mem{Base: own, Disp: 8 * i}, itself)
		VBROADCASTSS(Mem{Base: own, Disp: 8*i + 4}, flipped, itself)
		VADDPS(itself, sum, sum)
		KANDNW(signed, up, down)
		VPXORD(minus, sum, down, sum)
		VMULPS(scale, sum, sum)
		VMOVUPS(sum, Mem{Base: out})
		ADDQ(gradBytes, out)
		if i < len(v)-1 {
			DECQ(left)
			JEQ(LabelRef("next"))
		}
	}
	Label("next")
	ADDQ(Imm(64), grad)
	ADDQ(U32(16*spinBytes), spin)
	ADDQ(Imm(2), part)
	CMPQ(part, Imm(8))
	JNE(LabelRef("same"))
	XORQ(part, part)
	ADDQ(U32(2*spinBytes), rows)
	Label("same")
	DECQ(blocks)
	JNE(LabelRef("block"))
	Leave()
}
