package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// kernelSums emits the one-sided sums. Distance 2r+h is that of row r of the
// block to half h of its columns.
func (w *isa) kernelSums() {
	TEXT("kernelSums"+w.suffix, NOSPLIT, "func(steps *uint32, count int, value, grad *float32, gradStride int, x *float32, xStride, rows int, y *float32, yStride, cols, dim int, scratch *float32)")
	doc(w, "kernelSums", "is kernelSumsGeneric for a multiple of 4 rows.")
	Pragma("noescape")
	restore := flushSubnormals()
	rowPoint, xStride, yStride := load("x"), loadBytes("xStride"), loadBytes("yStride")
	scratch := load("scratch")
	slot := func(i int) Mem { return at(scratch, i*w.bytes()) }
	masks, memory := slot(w.rows), slot(2*w.rows)
	value, grad := load("value"), load("grad")
	row := load("rows")

	Label("row")
	{
		p := copyOf(scratch)
		zero := w.vector()
		w.zero(zero)
		forDim("clear", func() {
			for r := range w.rows {
				VMOVUPS(zero, at(p, w.rowSums()+r*w.bytes()))
			}
		}, func() { ADDQ(I32(w.rows*w.bytes()), p) })
	}
	colPoint, left := load("y"), load("cols")
	values := w.inMemory(slot(0), w.rows)
	{
		zero := w.vector()
		w.zero(zero)
		for _, v := range values {
			VMOVUPS(zero, v)
		}
	}

	Label("block")
	mask := w.tailMasks(left, masks)
	s := w.newSums(2*w.rows, 0, memory)
	d := s.y
	if w == avx512 {
		d = w.inRegisters(s.d)
	}
	w.zero(d...)
	loadColumn := func(j Register, half int) VecVirtual {
		v := w.vector()
		if w == avx512 {
			VMOVUPS_Z(at(j, half*w.bytes()), mask[half], v)
		} else {
			m := w.vector()
			VMOVUPS(masks.Offset(half*w.bytes()), m)
			VMASKMOVPS(at(j, half*w.bytes()), m, v)
		}
		return v
	}
	{
		i, j := copyOf(rowPoint), copyOf(colPoint)
		forDim("distance", func() {
			for h := range 2 {
				y := loadColumn(j, h)
				for r := range w.rows {
					t := w.vector()
					w.withPoint(VSUBPS, VSUBPS_BCST, at(i, 4*r), y, t)
					VFMADD231PS(t, t, d[2*r+h])
				}
			}
		}, func() { ADDQ(xStride, i); ADDQ(yStride, j) })
	}
	if w == avx2 {
		for k, d := range d {
			VMOVUPS(d, s.d[k])
		}
	}
	s.zeroSlopes()
	s.value = w.valuesOf(values, mask, masks)
	s.interpret()
	{
		i, j, acc := copyOf(rowPoint), copyOf(colPoint), copyOf(scratch)
		slope := w.inRegisters(s.slope)
		for k, p := range slope {
			if w == avx512 {
				VMOVAPS_Z(p, mask[k%2], p)
			} else {
				VANDPS(masks.Offset(k%2*w.bytes()), p, p)
			}
		}
		forDim("gradient", func() {
			for h := range 2 {
				y := loadColumn(j, h)
				for r := range w.rows {
					t, sum := w.vector(), w.vector()
					w.withPoint(VSUBPS, VSUBPS_BCST, at(i, 4*r), y, t) // y_j - x_i
					VMOVUPS(at(acc, w.rowSums()+r*w.bytes()), sum)
					VFNMADD231PS(slope[2*r+h], t, sum)
					VMOVUPS(sum, at(acc, w.rowSums()+r*w.bytes()))
				}
			}
		}, func() {
			ADDQ(xStride, i)
			ADDQ(yStride, j)
			ADDQ(I32(w.rows*w.bytes()), acc)
		})
	}
	ADDQ(I32(2*w.bytes()), colPoint)
	SUBQ(I32(2*w.lanes), left)
	JGT(LabelRef("block"))

	{
		sums := w.vectors(w.rows)
		for r, v := range values {
			VMOVUPS(v, sums[r])
		}
		total := w.sumRows(sums)
		VADDPS(at(value, 0), total, total)
		VMOVUPS(total, at(value, 0))
	}
	{
		p, out, gradStride := copyOf(scratch), copyOf(grad), loadBytes("gradStride")
		forDim("store", func() {
			acc := w.vectors(w.rows)
			for r, v := range acc {
				VMOVUPS(at(p, w.rowSums()+r*w.bytes()), v)
			}
			total := w.sumRows(acc)
			VADDPS(at(out, 0), total, total)
			VMOVUPS(total, at(out, 0))
		}, func() {
			ADDQ(I32(w.rows*w.bytes()), p)
			ADDQ(gradStride, out)
		})
	}
	ADDQ(I32(4*w.rows), value)
	ADDQ(I32(4*w.rows), grad)
	ADDQ(I32(4*w.rows), rowPoint)
	SUBQ(I32(w.rows), row)
	JGT(LabelRef("row"))
	restore()
	VZEROUPPER()
	RET()
}

// valuesOf adds the values of each row to its sum, without the lanes past the
// last column.
func (w *isa) valuesOf(values []Op, mask []Register, memory Mem) func(Register, []VecVirtual, bool) {
	return func(step Register, y []VecVirtual, unit bool) {
		for r, v := range values {
			t := w.vector()
			if w == avx512 {
				VMOVAPS_Z(y[2*r], mask[0], t)
				VADDPS(y[2*r+1], t, mask[1], t)
			} else {
				second := w.vector()
				VANDPS(memory, y[2*r], t)
				VANDPS(memory.Offset(w.bytes()), y[2*r+1], second)
				VADDPS(second, t, t)
			}
			if !unit {
				w.withConstant(VMULPS, VMULPS_BCST, at(step, stepWeight), t, t)
			}
			VADDPS(v, t, t)
			VMOVUPS(t, v)
		}
	}
}

// tailMasks selects the columns that are left, in two vectors.
func (w *isa) tailMasks(left Register, memory Mem) (mask []Register) {
	t, limit := GP64(), GP64()
	if w == avx512 {
		mask = []Register{K(), K()}
		MOVQ(U32(32), limit)
		MOVQ(left, t)
		CMPQ(t, limit)
		CMOVQGT(limit, t)
		ones := GP64()
		MOVQ(I32(-1), ones)
		BZHIQ(t, ones, t)
		KMOVW(t.As32(), mask[0])
		SHRQ(Imm(16), t)
		KMOVW(t.As32(), mask[1])
		return mask
	}
	table, none := GP64(), GP64()
	LEAQ(laneMask, table)
	MOVQ(U32(8), limit)
	XORQ(none, none)
	for h := range 2 {
		LEAQ(at(left, -8*h), t)
		CMPQ(t, limit)
		CMOVQGT(limit, t)
		TESTQ(t, t)
		CMOVQLT(none, t)
		NEGQ(t)
		m := w.vector()
		VMOVUPS(indexed(table, t, 4, 32), m) // t lanes of the first eight, all set
		VMOVUPS(m, memory.Offset(h*w.bytes()))
	}
	return nil
}

// radialValues emits the elementwise values.
func (w *isa) radialValues() {
	TEXT("radialValues"+w.suffix, NOSPLIT, "func(steps *uint32, count int, value, derivative, d2 *float32, n int)")
	doc(w, "radialValues", "is radialValuesGeneric for a multiple of 64 distances.")
	Pragma("noescape")
	restore := flushSubnormals()
	const chains = 4 // as many as leave registers for their values
	var memory Mem
	if w == avx2 {
		memory = AllocLocal(2 * chains * w.bytes())
	}
	value, derivative, d2, n := load("value"), load("derivative"), load("d2"), load("n")
	Label("block")
	s := w.newSums(chains, chains, memory)
	values := w.vectors(chains)
	for i := range s.d {
		d, ok := s.d[i].(VecVirtual)
		if !ok {
			d = w.vector()
		}
		VMOVUPS(at(d2, i*w.bytes()), d)
		if !ok {
			VMOVUPS(d, s.d[i])
		}
	}
	s.zeroSlopes()
	w.zero(values...)
	s.value = func(step Register, y []VecVirtual, unit bool) {
		for i, v := range y {
			if unit {
				VADDPS(v, values[i], values[i])
			} else {
				w.withConstant(VFMADD231PS, VFMADD231PS_BCST, at(step, stepWeight), v, values[i])
			}
		}
	}
	s.interpret()
	slope := w.inRegisters(s.slope)
	for i := range values {
		VMOVUPS(values[i], at(value, i*w.bytes()))
		VMOVUPS(slope[i], at(derivative, i*w.bytes()))
	}
	for _, p := range []Register{value, derivative, d2} {
		ADDQ(I32(chains*w.bytes()), p)
	}
	SUBQ(I32(chains*w.lanes), n)
	JGT(LabelRef("block"))
	restore()
	VZEROUPPER()
	RET()
}
