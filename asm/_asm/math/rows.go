package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// rowLimit is the length of the longest row of expSumRows.
const rowLimit = 16

// expSumRows emits the sums of exponentials of short rows. A row fills one
// vector, or two with AVX2, whose other lanes hold −Inf.
func (w *isa) expSumRows() {
	w.Kernel("expSumRows", "func(sums, shifts, x []float32, cols int)",
		"is expSumRowsGeneric for rows of 1 to 16 elements, with sums in float32.")
	sums, n, shifts, x := Address("sums"), Length("sums"), Address("shifts"), Address("x")
	cols := Number("cols")
	w.kept = map[Mem]VecVirtual{}
	if w == avx512 {
		for _, m := range expConstants {
			v := w.BroadcastFloat(m)
			w.kept[m] = v
		}
	}
	load := w.rowLoader(cols)
	JMP(LabelRef("next"))
	Label("row")
	v := load(x)
	LEAQ(Mem{Base: x, Index: cols, Scale: 4}, x)

	highest := w.reduce(v, VMAXPS)
	Comment("An infinite shift would give NaN; e^±Inf is right as it is.")
	if w == avx512 {
		finite := K()
		VFPCLASSPSZ(Imm(0x99), highest, finite) // infinities and NaN
		KNOTW(finite, finite)
		VMOVAPS_Z(highest, finite, highest)
	} else {
		finite := w.Vector()
		VSUBPS(highest, highest, finite)
		VCMPPS(Imm(7), finite, finite, finite) // ordered
		VANDPS(finite, highest, highest)
	}
	VMOVSS(highest.AsX(), Mem{Base: shifts})
	for _, v := range v {
		VSUBPS(highest, v, v)
	}
	sum := w.reduce(w.exp(v), VADDPS)
	VMOVSS(sum.AsX(), Mem{Base: sums})
	ADDQ(Imm(4), sums)
	ADDQ(Imm(4), shifts)
	Label("next")
	DECQ(n)
	JGE(LabelRef("row"))
	Leave()
}

// rowLoader returns a function that loads a row into fresh vectors.
func (w *isa) rowLoader(cols Register) func(x Register) []VecVirtual {
	none := float(math.Inf(-1))
	if w == avx512 {
		ones, mask := GP64(), K()
		MOVQ(I32(-1), ones)
		BZHIQ(cols, ones, ones)
		KMOVW(ones.As32(), mask)
		return func(x Register) []VecVirtual {
			v := w.Vectors(1)
			VBROADCASTSS(none, v[0])
			VMOVUPS(Mem{Base: x}, mask, v[0])
			return v
		}
	}
	count, masks := XMM(), w.Vectors(rowLimit/w.Lanes())
	VMOVD(cols.(GP).As32(), count)
	for i, mask := range masks {
		VPBROADCASTD(count, mask)
		if i > 0 {
			VPSUBD(word(uint32(i*w.Lanes())), mask, mask)
		}
		VPCMPGTD(laneIndex(), mask, mask)
	}
	return func(x Register) []VecVirtual {
		v := w.Vectors(len(masks))
		for i, mask := range masks {
			VMASKMOVPS(Mem{Base: x, Disp: 4 * i * w.Lanes()}, mask, v[i])
			VBLENDVPS(mask, v[i], w.constant(none), v[i])
		}
		return v
	}
}

// reduce combines all lanes of some vectors, whose result is in every lane.
func (w *isa) reduce(v []VecVirtual, op func(...Op)) VecVirtual {
	r, other := w.Vector(), w.Vector()
	VMOVAPS(v[0], r)
	for _, v := range v[1:] {
		op(v, r, r)
	}
	if w == avx512 {
		for _, order := range []uint64{0x4E, 0xB1} {
			VSHUFF32X4(Imm(order), r, r, other)
			op(other, r, r)
		}
	} else {
		VPERM2F128(Imm(1), r, r, other)
		op(other, r, r)
	}
	for _, order := range []uint64{0x4E, 0xB1} {
		VPERMILPS(Imm(order), r, other)
		op(other, r, r)
	}
	return r
}
