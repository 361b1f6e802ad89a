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
		for c, v := range isa.Transpose(rows) {
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
