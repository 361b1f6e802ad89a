// Command spins generates the kernels that pack signs into bits and unpack
// them. A row is taken in steps of one vector; in the last, masked loads and
// stores touch only what belongs to it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/revgen/revgen/asm/_asm/internal/data"
)

// A path is an instruction set.
type path struct {
	suffix string
	wide   bool // AVX-512
	lanes  int
}

var constants data.Pool

func main() {
	ConstraintExpr("amd64,!purego")
	constants.Open("spinsConstants")
	for _, p := range []*path{{"AVX512", true, 16}, {"AVX2", false, 8}} {
		p.signMask()
		p.unpack()
	}
	Generate()
}

func (p *path) vector() VecVirtual {
	if p.wide {
		return ZMM()
	}
	return YMM()
}

// A mask selects the lanes of a step.
type mask struct {
	k Register   // AVX-512
	v VecVirtual // AVX2
}

// lanesOf returns the mask of the first min(left, lanes) lanes.
func (p *path) lanesOf(left Register) mask {
	count, limit := GP64(), GP64()
	MOVQ(left, count)
	MOVQ(U32(p.lanes), limit)
	CMPQ(count, limit)
	CMOVQGT(limit, count)
	if p.wide {
		ones, k := GP32(), K()
		MOVL(U32(0xFFFF), ones)
		BZHIL(count.As32(), ones, ones)
		KMOVW(ones, k)
		return mask{k: k}
	}
	const all = 0xFFFFFFFF
	window := constants.Vector32(all, all, all, all, all, all, all, all, 0, 0, 0, 0, 0, 0, 0, 0)
	start, v := GP64(), YMM()
	LEAQ(window.Offset(4*p.lanes), start)
	NEGQ(count)
	VMOVDQU(Mem{Base: start, Index: count, Scale: 4}, v)
	return mask{v: v}
}

// rows emits the loops over rows, words and vectors. Begin and end surround the
// steps of a word; a step works on the values at the given address, its bits
// being those from shift up.
func (p *path) rows(values, rows, n Register, begin, end func(), step func(at Mem, m mask, shift Register)) {
	left, shift := GP64(), GP64()
	Label("row")
	MOVQ(n, left)
	Label("word")
	begin()
	XORQ(shift, shift)
	Label("step")
	step(Mem{Base: values}, p.lanesOf(left), shift)
	ADDQ(Imm(uint64(4*p.lanes)), values)
	ADDQ(Imm(uint64(p.lanes)), shift)
	SUBQ(Imm(uint64(p.lanes)), left)
	JLE(LabelRef("last"))
	CMPQ(shift, Imm(64))
	JLT(LabelRef("step"))
	end()
	JMP(LabelRef("word"))
	Label("last")
	end()
	Comment("The last step may have gone beyond the row: left is not above 0.")
	LEAQ(Mem{Base: values, Index: left, Scale: 4}, values)
	DECQ(rows)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func (p *path) signMask() {
	TEXT("signMask"+p.suffix, NOSPLIT, "func(dst *uint64, logits *float32, rows, n int)")
	Doc("signMask" + p.suffix + " is signMaskGeneric for at least one row.")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64())
	values := Load(Param("logits"), GP64())
	rows := Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
	zero, word := p.vector(), GP64()
	VXORPS(zero.AsX(), zero.AsX(), zero.AsX())
	begin := func() { XORQ(word, word) }
	end := func() {
		MOVQ(word, Mem{Base: dst})
		ADDQ(Imm(8), dst)
	}
	const less = 0x11 // ordered, no signal
	p.rows(values, rows, n, begin, end, func(at Mem, m mask, shift Register) {
		bits := GP64()
		if p.wide {
			k := K()
			VCMPPS(Imm(less), at, zero, m.k, k)
			KMOVW(k, bits.As32())
		} else {
			v := p.vector()
			VMASKMOVPS(at, m.v, v)
			VCMPPS(Imm(less), v, zero, v)
			VMOVMSKPS(v, bits.As32())
		}
		SHLXQ(shift, bits, bits)
		ORQ(bits, word)
	})
}

func (p *path) unpack() {
	TEXT("unpack"+p.suffix, NOSPLIT, "func(dst *float32, spins *uint64, rows, n int)")
	Doc("unpack" + p.suffix + " is unpackGeneric for at least one row.")
	Pragma("noescape")
	values := Load(Param("dst"), GP64())
	spins := Load(Param("spins"), GP64())
	rows := Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
	word, up, down := GP64(), p.vector(), p.vector()
	VBROADCASTSS(constants.Number(1), up)
	VBROADCASTSS(constants.Number(-1), down)
	var bit VecVirtual
	if !p.wide {
		bit = p.vector()
		VMOVDQU(constants.Vector32(1, 2, 4, 8, 16, 32, 64, 128), bit)
	}
	begin := func() {
		MOVQ(Mem{Base: spins}, word)
		ADDQ(Imm(8), spins)
	}
	p.rows(values, rows, n, begin, func() {}, func(at Mem, m mask, _ Register) {
		v := p.vector()
		if p.wide {
			k := K()
			KMOVW(word.As32(), k)
			VBLENDMPS(up, down, k, v)
			VMOVUPS(v, m.k, at)
		} else {
			x := XMM()
			VMOVD(word.As32(), x)
			VPBROADCASTD(x, v)
			VPAND(bit, v, v)
			VPCMPEQD(bit, v, v)
			VBLENDVPS(v, up, down, v)
			VMASKMOVPS(v, m.v, at)
		}
		SHRQ(Imm(uint64(p.lanes)), word)
	})
}
