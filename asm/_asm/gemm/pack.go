package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// packPanel generates the transposition of 16 rows of w into a panel, in
// squares of as many rows and columns as a vector has lanes.
func packPanel(isa isa) {
	isa.Kernel("packPanel", "func(panel, w []float32, stride, columns int)",
		"transposes 16 rows of w, stride apart:", "",
		"\tpanel[c*16+r] = w[r*stride+c] for r < 16, c < columns", "",
		"columns is a multiple of 16.")
	panelPtr, w, stride, columns := Address("panel"), Address("w"), Number("stride"), Number("columns")
	SHLQ(Imm(2), stride)
	lanes := isa.Bytes / 4
	JMP(LabelRef("check"))
	Label("square")
	row := Copy(w)
	for half := 0; half < panel; half += lanes {
		rows := make([]VecVirtual, lanes)
		for r := range rows {
			rows[r] = isa.Vector()
			VMOVUPS(Mem{Base: row}, rows[r])
			ADDQ(stride, row)
		}
		for c, v := range isa.transpose(rows) {
			VMOVUPS(v, Mem{Base: panelPtr, Disp: c*panelBytes + 4*half})
		}
	}
	ADDQ(Imm(uint64(isa.Bytes)), w)
	ADDQ(U32(uint32(lanes*panelBytes)), panelPtr)
	SUBQ(Imm(uint64(lanes)), columns)
	Label("check")
	CMPQ(columns, Imm(0))
	JG(LabelRef("square"))
	Leave()
}

// transpose returns the columns of a square of rows.
func (isa isa) transpose(rows []VecVirtual) []VecVirtual {
	type shuffle func(b, a, dst VecVirtual)
	apply := func(f shuffle, a, b VecVirtual) VecVirtual {
		dst := isa.Vector()
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
	if isa.Bytes == 32 {
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
