package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// strips emits a loop over the groups and, within each, over the vectors of a
// row. at and table point to that vector of the group's first weight and first
// row, size is the number of bytes of a row.
func (w *isa) strips(weights, tables, n, k GPVirtual, body func(at, table, size, offset GPVirtual)) {
	size, end := GP64(), GP64()
	MOVQ(k, size)
	SHLQ(Imm(2), size)
	LEAQ(Mem{Base: weights, Index: n, Scale: 4}, end)
	Label("group")
	offset := GP64()
	XORQ(offset, offset)
	Label("strip")
	at, table := GP64(), GP64()
	LEAQ(Mem{Base: weights, Index: offset, Scale: 1}, at)
	LEAQ(Mem{Base: tables, Index: offset, Scale: 1}, table)
	body(at, table, size, offset)
	ADDQ(U32(uint32(4*w.Lanes())), offset)
	CMPQ(offset, size)
	JB(LabelRef("strip"))
	LEAQ(Mem{Base: weights, Index: size, Scale: 4}, weights)
	for range 4 {
		LEAQ(Mem{Base: tables, Index: size, Scale: 4}, tables)
	}
	CMPQ(weights, end)
	JB(LabelRef("group"))
	Leave()
}

// expand emits the filling of tables.
func (w *isa) expand() {
	w.Kernel("bitTables", "func(tables, weights, bias []float32)",
		"is bitTablesGeneric for at least one group.")
	tables, weights, n, bias := Address("tables"), Address("weights"), Length("weights"), Address("bias")
	k := Length("bias")
	w.strips(weights, tables, n, k, func(at, table, size, offset GPVirtual) {
		zero := w.zero()
		base := w.Vector()
		VMOVAPS(zero, base)
		TESTQ(bias, bias)
		JZ(LabelRef("later"))
		VMOVUPS(Mem{Base: bias, Index: offset, Scale: 1}, base)
		Label("later")
		combine := func(base, a, b VecVirtual) (sums [4]VecVirtual) {
			minus, plus := w.Vector(), w.Vector()
			VSUBPS(a, base, minus)
			VADDPS(a, base, plus)
			for i := range sums {
				sums[i] = w.Vector()
				from := minus
				if i&1 != 0 {
					from = plus
				}
				if i&2 != 0 {
					VADDPS(b, from, sums[i])
				} else {
					VSUBPS(b, from, sums[i])
				}
			}
			return sums
		}
		var v [4]VecVirtual
		for j := range v {
			v[j] = w.LoadVector(Mem{Base: at})
			ADDQ(size, at)
		}
		low := combine(base, v[0], v[1])
		high := combine(zero, v[2], v[3])
		for i := range 16 {
			row := w.Vector()
			VADDPS(high[i>>2], low[i&3], row)
			VMOVUPS(row, Mem{Base: table})
			ADDQ(size, table)
		}
		Comment("Only the first group has the bias.")
		last := AddressOf(Mem{Base: offset, Disp: 4 * w.Lanes()})
		CMPQ(last, size)
		JB(LabelRef("more"))
		XORQ(bias, bias)
		Label("more")
	})
}

// fold emits the derivatives of weights.
func (w *isa) fold() {
	w.Kernel("bitFold", "func(weights, tables []float32, k int)",
		"is bitFoldGeneric for at least one group.")
	weights, n, tables, k := Address("weights"), Length("weights"), Address("tables"), Number("k")
	w.strips(weights, tables, n, k, func(at, table, size, _ GPVirtual) {
		var low, high [4]VecVirtual
		for i := range low {
			low[i], high[i] = w.zero(), w.zero()
		}
		for i := range 16 {
			row := w.LoadVector(Mem{Base: table})
			ADDQ(size, table)
			VADDPS(row, low[i&3], low[i&3])
			VADDPS(row, high[i>>2], high[i>>2])
		}
		for _, s := range [][4]VecVirtual{low, high} {
			for _, order := range [2][4]int{{1, 3, 0, 2}, {2, 3, 0, 1}} {
				up, down := w.Vector(), w.Vector()
				VADDPS(s[order[1]], s[order[0]], up)
				VADDPS(s[order[3]], s[order[2]], down)
				VSUBPS(down, up, up)
				VADDPS(Mem{Base: at}, up, up)
				VMOVUPS(up, Mem{Base: at})
				ADDQ(size, at)
			}
		}
	})
}
