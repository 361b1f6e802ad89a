package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const stretch = 128 // words of 64 bits

// compareDigit emits the comparison of one binary digit of random numbers with
// that of a threshold.
func (p *path) compareDigit() {
	TEXT("compareDigit"+p.suffix, NOSPLIT, fmt.Sprintf("func(below, open *[%d]uint64, words *[%d]uint32, digit uint64) uint64", stretch, 2*stretch))
	Doc("compareDigit" + p.suffix + " is compareDigitGeneric.")
	Pragma("noescape")
	below := Load(Param("below"), GP64())
	open := Load(Param("open"), GP64())
	words := Load(Param("words"), GP64())
	digit, left := p.vector(), p.vector()
	VPBROADCASTQ(p.asVector(Load(Param("digit"), GP64())), digit)
	VPXOR(left.AsY(), left.AsY(), left.AsY())
	offset := GP64()
	XORQ(offset, offset)
	Label("words")
	at := func(base Op) Mem { return Mem{Base: base.(Register), Index: offset, Scale: 1} }
	undecided, decided := p.vector(), p.vector()
	VMOVUPS(at(open), undecided)
	differs := p.vector()
	if p.wide {
		random := p.vector()
		VMOVDQU64(at(words), random)
		VPANDNQ(digit, random, decided)
		VPXORQ(digit, random, differs)
		VPANDQ(undecided, decided, decided)
		VPORQ(at(below), decided, decided)
		VPANDNQ(undecided, differs, undecided)
		VPORQ(undecided, left, left)
	} else {
		VPXOR(at(words), digit, differs)
		VPAND(digit, differs, decided)
		VPAND(undecided, decided, decided)
		VPOR(at(below), decided, decided)
		VPANDN(undecided, differs, undecided)
		VPOR(undecided, left, left)
	}
	VMOVUPS(decided, at(below))
	VMOVUPS(undecided, at(open))
	ADDQ(Imm(uint64(p.bytes)), offset)
	CMPQ(offset, U32(8*stretch))
	JLT(LabelRef("words"))

	Comment("Zero if all are decided.")
	result := GP64()
	if p.wide {
		k := K()
		VPTESTMQ(left, left, k)
		KMOVB(k, result.As32())
	} else {
		XORL(result.As32(), result.As32())
		VPTEST(left, left)
		SETNE(result.As8())
	}
	Store(result, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
