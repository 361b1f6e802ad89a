package simd

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Transpose returns the columns of a square of rows, of as many as a vector has lanes of 32 bits.
func (w *ISA) Transpose(rows []VecVirtual) []VecVirtual {
	type shuffle func(b, a, dst VecVirtual)
	apply := func(f shuffle, a, b VecVirtual) VecVirtual {
		dst := w.Vector()
		f(b, a, dst)
		return dst
	}
	low := func(b, a, dst VecVirtual) { VUNPCKLPS(b, a, dst) }
	high := func(b, a, dst VecVirtual) { VUNPCKHPS(b, a, dst) }
	lowPair := func(b, a, dst VecVirtual) { VUNPCKLPD(b, a, dst) }
	highPair := func(b, a, dst VecVirtual) { VUNPCKHPD(b, a, dst) }

	// Quarter q of fours[4g+c] is column 4q+c of rows 4g to 4g+3.
	var fours []VecVirtual
	for g := 0; g < len(rows); g += 4 {
		l0, h0 := apply(low, rows[g], rows[g+1]), apply(high, rows[g], rows[g+1])
		l1, h1 := apply(low, rows[g+2], rows[g+3]), apply(high, rows[g+2], rows[g+3])
		fours = append(fours, apply(lowPair, l0, l1), apply(highPair, l0, l1),
			apply(lowPair, h0, h1), apply(highPair, h0, h1))
	}

	columns := make([]VecVirtual, len(rows))
	if !w.Wide() {
		first := func(b, a, dst VecVirtual) { VPERM2F128(Imm(0x20), b, a, dst) }
		second := func(b, a, dst VecVirtual) { VPERM2F128(Imm(0x31), b, a, dst) }
		for c := range 4 {
			columns[c] = apply(first, fours[c], fours[4+c])
			columns[4+c] = apply(second, fours[c], fours[4+c])
		}
		return columns
	}
	even := func(b, a, dst VecVirtual) { VSHUFF32X4(Imm(0x88), b, a, dst) }
	odd := func(b, a, dst VecVirtual) { VSHUFF32X4(Imm(0xdd), b, a, dst) }
	for c := range 4 {
		e0, o0 := apply(even, fours[c], fours[4+c]), apply(odd, fours[c], fours[4+c])
		e1, o1 := apply(even, fours[8+c], fours[12+c]), apply(odd, fours[8+c], fours[12+c])
		columns[c], columns[8+c] = apply(even, e0, e1), apply(odd, e0, e1)
		columns[4+c], columns[12+c] = apply(even, o0, o1), apply(odd, o0, o1)
	}
	return columns
}
