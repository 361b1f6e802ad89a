// Command flips generates the kernel of sums over the configurations that
// differ from each by given flips. A block of 64 configurations stays in
// registers while the weights stream by. The arithmetic is the generic kernel's,
// operation by operation and without fused multiply-adds, so that all paths give
// the same bits: the kernel is bound by the weights' way from memory.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/revgen/revgen/asm/_asm/internal/data"
)

// block is asm.FlipBlock.
const block = 64

// A path is an instruction set.
type path struct {
	suffix string
	lanes  int
	vector func() reg.VecVirtual
}

var constants data.Pool

func main() {
	ConstraintExpr("amd64,!purego")
	constants.Open("flipsConstants")
	for _, p := range []*path{
		{"AVX512", 16, func() reg.VecVirtual { return ZMM() }},
		{"AVX2", 8, func() reg.VecVirtual { return YMM() }},
	} {
		p.flipSums()
	}
	Generate()
}

func (p *path) flipSums() {
	TEXT("flipSums"+p.suffix, NOSPLIT, "func(dst, weights, x []float32, flips []uint32, first int)")
	Doc("flipSums" + p.suffix + " is flipSumsGeneric for at least one block and one flip.")
	Pragma("noescape")
	dst := Load(Param("dst").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	weights := Load(Param("weights").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	flips := Load(Param("flips").Base(), GP64())
	moves := Load(Param("flips").Len(), GP64())
	first := Load(Param("first"), GP64())
	lanes := make([]uint32, p.lanes)
	for i := range lanes {
		lanes[i] = uint32(i)
	}
	iota := p.vector()
	VMOVUPS(constants.Vector32(lanes...), iota)
	LEAQ(Mem{Base: dst, Index: n, Scale: 4}, n)

	sums := make([]reg.VecVirtual, block/p.lanes)
	for j := range sums {
		sums[j] = p.vector()
	}
	Label("block")
	for _, s := range sums {
		VXORPS(s.AsY(), s.AsY(), s.AsY())
	}
	k := GP64()
	XORQ(k, k)
	Label("flip")
	flip, index := GP64(), p.vector()
	MOVL(Mem{Base: flips, Index: k, Scale: 4}, flip.As32())
	Comment("The low bits of a flip permute the lanes, the others choose the vector.")
	VPBROADCASTD(Mem{Base: flips, Index: k, Scale: 4}, index)
	if p.lanes == 16 {
		VPXORD(iota, index, index)
	} else {
		VPXOR(iota, index, index)
	}
	ANDQ(I32(-int32(p.lanes)), flip)
	XORQ(first, flip)
	for j, s := range sums {
		t := p.vector()
		at := GP64()
		MOVQ(flip, at)
		if j > 0 {
			XORQ(Imm(uint64(j*p.lanes)), at)
		}
		VPERMPS(Mem{Base: x, Index: at, Scale: 4}, index, t)
		VMULPS(Mem{Base: weights, Disp: 4 * j * p.lanes}, t, t)
		VADDPS(t, s, s)
	}
	ADDQ(U32(4*block), weights)
	INCQ(k)
	CMPQ(k, moves)
	JB(LabelRef("flip"))
	for j, s := range sums {
		VMOVUPS(s, Mem{Base: dst, Disp: 4 * j * p.lanes})
	}
	ADDQ(U32(4*block), dst)
	ADDQ(Imm(block), first)
	CMPQ(dst, n)
	JB(LabelRef("block"))
	VZEROUPPER()
	RET()
}
