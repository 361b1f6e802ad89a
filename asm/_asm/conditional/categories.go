package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// categories emits the draws of states, of four vectors of samples at a time: the numbers of
// the table's rows, and in these a search by halves.
func (w *isa) categories() {
	const strips = 4
	w.Kernel("categoryDraw", fmt.Sprintf("func(dst *[%[1]d]byte, thresholds []uint32, rows, levels, last int, state []byte, sites, strides []int32, words *[%[1]d]uint32)", samples),
		"is categoryDrawGeneric.")
	dst, words := Number("dst"), Number("words")
	state, table := Address("state"), Address("thresholds")
	every := func(param string) (v VecVirtual) { // of the vector, a number
		x, v := XMM(), w.Vector()
		VMOVD(Number(param).As32(), x)
		VPBROADCASTD(x, v)
		return v
	}
	last, rows, left := every("last"), every("rows"), GP64()
	one := w.LoadVector(w.word(1))
	VPSUBD(one, rows, rows) // the last row
	MOVQ(U32(uint64(samples/(strips*w.Lanes()))), left)

	Label("strips")
	var at, drawn [strips]VecVirtual
	for i := range at {
		at[i], drawn[i] = w.zero(), w.zero()
	}
	sites, strides := Address("sites"), Address("strides")
	n := Length("sites")
	TESTQ(n, n)
	JZ(LabelRef("numbered"))
	Label("site")
	site, stride := GP64(), w.Vector()
	MOVLQSX(Mem{Base: sites}, site)
	SHLQ(Imm(3), site)
	VPBROADCASTD(Mem{Base: strides}, stride)
	for i := range at {
		x := w.Vector()
		VPMOVZXBD(Mem{Base: state, Index: site, Scale: 8, Disp: w.Lanes() * i}, x)
		VPMULLD(stride, x, x)
		VPADDD(x, at[i], at[i])
	}
	ADDQ(Imm(4), sites)
	ADDQ(Imm(4), strides)
	DECQ(n)
	JNZ(LabelRef("site"))

	Label("numbered")
	Comment("A row is of one number less than 2 to the power of levels, and half of that is where the search begins.")
	levels, power, half, middle := Number("levels"), XMM(), w.Vector(), GP64()
	VMOVD(levels.As32(), power)
	for i := range at {
		x := w.Vector()
		VPMINUD(rows, at[i], at[i])
		VPSLLD(power, at[i], x)
		VPSUBD(at[i], x, at[i])
	}
	VPSLLD(power, one, half)
	VPSRLD(Imm(1), half, half)
	Label("level")
	VMOVD(half.(VecVirtual).AsX(), middle.As32())
	LEAQ(Mem{Base: table, Index: middle, Scale: 4, Disp: -4}, middle)
	for i := range at {
		t, entries, word := w.zero(), Mem{Base: middle, Index: at[i], Scale: 4}, Mem{Base: words, Disp: 4 * w.Lanes() * i}
		if w == avx512 {
			all := K()
			KXNORW(all, all, all)
			VPGATHERDD(entries, all, t)
			VPCMPUD(Imm(2), word, t, all) // threshold ≤ word
			VPADDD(half, at[i], all, at[i])
			VPADDD(half, drawn[i], all, drawn[i])
			continue
		}
		all := w.Vector()
		VPCMPEQD(all, all, all)
		VPGATHERDD(all, entries, t)
		VPMAXUD(word, t, t)
		VPCMPEQD(word, t, t)
		VPAND(half, t, t)
		VPADDD(t, at[i], at[i])
		VPADDD(t, drawn[i], drawn[i])
	}
	VPSRLD(Imm(1), half, half)
	DECQ(levels)
	JNZ(LabelRef("level"))

	for i := range drawn {
		VPMINUD(last, drawn[i], drawn[i])
		if w == avx512 {
			VPMOVDB(drawn[i], Mem{Base: dst, Disp: w.Lanes() * i})
		}
	}
	if w == avx2 {
		VPACKUSDW(drawn[1], drawn[0], drawn[0])
		VPACKUSDW(drawn[3], drawn[2], drawn[2])
		VPACKUSWB(drawn[2], drawn[0], drawn[0])
		order := w.LoadVector(constants.Vector32(0, 4, 1, 5, 2, 6, 3, 7)) // of each strip one half in each half
		VPERMD(drawn[0], order, drawn[0])
		VMOVUPS(drawn[0], Mem{Base: dst})
	}
	ADDQ(U32(uint32(strips*w.Lanes())), state)
	ADDQ(U32(uint32(strips*w.Lanes())), dst)
	ADDQ(U32(uint32(4*strips*w.Lanes())), words)
	DECQ(left)
	JNZ(LabelRef("strips"))
	Leave()
}
