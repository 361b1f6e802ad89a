package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// numbers emits the numbers that samples' spins make, the first site lowest. sites and n
// are used up.
func (w *isa) numbers(state, sites, n GPVirtual) []VecVirtual {
	value, bit := w.LoadVector(w.word(1)), VecVirtual(nil)
	if w == avx2 {
		bit = w.LoadVector(constants.Vector32(1, 2, 4, 8, 16, 32, 64, 128))
	}
	sums := make([]VecVirtual, samples/w.Lanes())
	for i := range sums {
		sums[i] = w.zero()
	}
	TESTQ(n, n)
	JZ(LabelRef("counted"))
	Label("site")
	site := GP64()
	MOVLQSX(Mem{Base: sites}, site)
	for i, sum := range sums {
		word := Mem{Base: state, Index: site, Scale: 8, Disp: w.Lanes() / 8 * i}
		if w == avx512 {
			k := K()
			KMOVW(word, k)
			VPADDD(value, sum, k, sum)
		} else {
			v := w.Vector()
			VPBROADCASTB(word, v)
			VPAND(bit, v, v)
			VPCMPEQD(bit, v, v)
			VPAND(value, v, v)
			VPADDD(v, sum, sum)
		}
	}
	VPADDD(value, value, value)
	ADDQ(Imm(4), sites)
	DECQ(n)
	JNZ(LabelRef("site"))
	Label("counted")
	return sums
}

// draw emits the comparison of random words with a table's thresholds, as signed
// numbers with the highest bit inverted where there is no other comparison. A table
// that fits into a vector is looked up there.
func (w *isa) draw() {
	w.Kernel("bitDraw", fmt.Sprintf("func(thresholds []uint32, state []uint64, sites []int32, words *[%d]uint32) (spins uint64)", samples),
		"is bitDrawGeneric.")
	state, sites, left := Address("state"), Address("sites"), Length("sites")
	numbers := w.numbers(state, sites, left)
	thresholds, words := Address("thresholds"), Number("words")
	spins := GP64()
	XORQ(spins, spins)
	compare := func(part int, t VecVirtual) {
		at, bits := Mem{Base: words, Disp: 4 * w.Lanes() * part}, GP64()
		if w == avx512 {
			less := K()
			VPCMPUD(Imm(6), at, t, less) // threshold > word
			KMOVW(less, bits.As32())
		} else {
			word, top := w.Vector(), w.LoadVector(w.word(1<<31))
			VPXOR(top, t, t)
			VPXOR(at, top, word)
			VPCMPGTD(word, t, t)
			VMOVMSKPS(t, bits.As32())
		}
		SHLQ(Imm(uint64(w.Lanes()*part)), bits)
		ORQ(bits, spins)
	}
	if w == avx512 {
		n := Length("sites")
		CMPQ(n, Imm(4))
		JA(LabelRef("gather"))
		Comment("As many of 16 numbers as there are")
		size, all, within, table := Length("thresholds"), GP64(), K(), w.Vector()
		MOVQ(I32(-1), all)
		BZHIQ(size, all, all)
		KMOVW(all.As32(), within)
		VMOVDQU32_Z(Mem{Base: thresholds}, within, table)
		for part, i := range numbers {
			t := w.Vector()
			VPERMD(table, i, t)
			compare(part, t)
		}
		Store(spins, ReturnIndex(0))
		Leave()
		Label("gather")
	}
	for part, i := range numbers {
		t := w.Vector()
		w.Xor(t, t, t)
		at := Mem{Base: thresholds, Index: i, Scale: 4}
		w.Gather(VPGATHERDD, at, t)
		compare(part, t)
	}
	Store(spins, ReturnIndex(0))
	Leave()
}

// lookup emits sums of a table's numbers.
func (w *isa) lookup() {
	w.Kernel("bitLookup", fmt.Sprintf("func(dst *[%d]float64, table []float64, scale float64, state []uint64, sites []int32)", samples),
		"is bitLookupGeneric.")
	state, sites, left := Address("state"), Address("sites"), Length("sites")
	numbers := w.numbers(state, sites, left)
	dst, table := Number("dst"), Address("table")
	scale := w.Vector()
	VBROADCASTSD(Argument("scale"), scale)
	ones := GP64()
	if w == avx512 {
		MOVQ(I32(-1), ones)
	}
	for part, i := range numbers {
		for half := range 2 {
			sum, at := w.zero(), Mem{Base: dst, Disp: 8*w.Lanes()*part + 4*w.Lanes()*half}
			if w == avx512 {
				index, all := i.AsY(), K()
				if half == 1 {
					index = YMM()
					VEXTRACTI64X4(Imm(1), i, index)
				}
				KMOVB(ones.As32(), all)
				VGATHERDPD(Mem{Base: table, Index: index, Scale: 8}, all, sum)
			} else {
				index, all := i.AsX(), w.zero()
				if half == 1 {
					index = XMM()
					VEXTRACTI128(Imm(1), i, index)
				}
				VPCMPEQD(all, all, all)
				VGATHERDPD(all, Mem{Base: table, Index: index, Scale: 8}, sum)
			}
			VMULPD(scale, sum, sum)
			VADDPD(at, sum, sum)
			VMOVUPD(sum, at)
		}
	}
	Leave()
}

// selected emits a table's numbers.
func (w *isa) selected() {
	w.Kernel("bitSelect", fmt.Sprintf("func(dst *[%d]float32, table []float32, state []uint64, sites []int32)", samples),
		"is bitSelectGeneric.")
	state, sites, left := Address("state"), Address("sites"), Length("sites")
	numbers := w.numbers(state, sites, left)
	dst, table := Number("dst"), Address("table")
	for part, i := range numbers {
		x := w.zero()
		w.Gather(VGATHERDPS, Mem{Base: table, Index: i, Scale: 4}, x)
		VMOVUPS(x, Mem{Base: dst, Disp: 4 * w.Lanes() * part})
	}
	Leave()
}
