package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A block of kernelSums is two vectors of rows by four columns, whose points
// are broadcast: sums stay in their lanes until they are stored. Distance
// columns·v + c is that of vector v to column c.
const (
	rowVectors = 2
	columns    = 4
)

// Slots of a vector each in the scratch space of kernelSums: the sums of
// values, the columns' weights, what AVX2 keeps in memory, and the sums of
// gradients.
const (
	slotValues  = 0
	slotWeights = slotValues + rowVectors
	slotMasks   = slotWeights + columns
	slotMemory  = slotMasks + rowVectors
	slotGrad    = slotMemory + 2*rowVectors*columns
)

// kernelSums emits the one-sided sums.
func (w *isa) kernelSums() {
	TEXT("kernelSums"+w.suffix, NOSPLIT, "func(steps *uint32, count int, value, grad *float32, gradStride int, x *float32, xStride, rows int, y *float32, yStride, cols, valid, dim, gradDim int, scratch *float32)")
	doc(w, "kernelSums", "is kernelSumsGeneric for a multiple of 4 columns, of each four of which the first valid ones count.")
	Pragma("noescape")
	restore := flushSubnormals()
	rowPoint, xStride, yStride := load("x"), loadBytes("xStride"), loadBytes("yStride")
	scratch, left := load("scratch"), load("rows")
	slot := func(i int) Mem { return at(scratch, i*w.bytes()) }
	masks := slot(slotMasks)
	weights := make([]Mem, columns)
	{
		valid, weight, none := load("valid"), w.vector(), w.vector()
		w.constant(one, weight)
		w.zero(none)
		for c := range weights {
			weights[c] = slot(slotWeights + c)
			VMOVUPS(weight, weights[c])
			CMPQ(valid, Imm(uint64(c)))
			JG(LabelRef(fmt.Sprintf("valid%d", c)))
			VMOVUPS(none, weights[c])
			Label(fmt.Sprintf("valid%d", c))
		}
	}

	Label("row")
	mask := w.tailMasks(left, masks)
	loadRow := func(i Register, v int) VecVirtual {
		x := w.vector()
		if w == avx512 {
			VMOVUPS_Z(at(i, v*w.bytes()), mask[v], x)
		} else {
			m := w.vector()
			VMOVUPS(masks.Offset(v*w.bytes()), m)
			VMASKMOVPS(at(i, v*w.bytes()), m, x)
		}
		return x
	}
	values := w.inMemory(slot(slotValues), rowVectors)
	gradients := func(base Register) []Op { return w.inMemory(at(base, slotGrad*w.bytes()), rowVectors) }
	{
		p := copyOf(scratch)
		zero := w.vector()
		w.zero(zero)
		for _, v := range values {
			VMOVUPS(zero, v)
		}
		forPlanes("clear", "gradDim", func() {
			for _, g := range gradients(p) {
				VMOVUPS(zero, g)
			}
		}, func() { ADDQ(I32(rowVectors*w.bytes()), p) })
	}
	colPoint, colsLeft := load("y"), load("cols")

	Label("block")
	s := w.newSums(rowVectors*columns, 0, slot(slotMemory))
	d := s.y
	if w == avx512 {
		d = w.inRegisters(s.d)
	}
	w.zero(d...)
	{
		i, j := copyOf(rowPoint), copyOf(colPoint)
		forPlanes("distance", "dim", func() {
			for v := range rowVectors {
				x := loadRow(i, v)
				for c := range columns {
					t := w.vector()
					w.withPoint(VSUBPS, VSUBPS_BCST, at(j, 4*c), x, t)
					VFMADD231PS(t, t, d[columns*v+c])
				}
			}
		}, func() { ADDQ(xStride, i); ADDQ(yStride, j) })
	}
	w.limited(d)
	if w == avx2 {
		for k, d := range d {
			VMOVUPS(d, s.d[k])
		}
	}
	s.zeroSlopes()
	s.value = w.valuesOf(values, weights)
	s.interpret()
	{
		i, j, acc := copyOf(rowPoint), copyOf(colPoint), copyOf(scratch)
		slope := w.inRegisters(s.slope)
		CMPQ(param("valid"), Imm(columns))
		JE(LabelRef("all"))
		for k, p := range slope {
			VMULPS(weights[k%columns], p, p)
		}
		Label("all")
		forPlanes("gradient", "gradDim", func() {
			for v, g := range gradients(acc) {
				x, sum := loadRow(i, v), w.vector()
				VMOVUPS(g, sum)
				for c := range columns {
					t := w.vector()
					w.withPoint(VSUBPS, VSUBPS_BCST, at(j, 4*c), x, t)
					VFMADD231PS(slope[columns*v+c], t, sum)
				}
				VMOVUPS(sum, g)
			}
		}, func() {
			ADDQ(xStride, i)
			ADDQ(yStride, j)
			ADDQ(I32(rowVectors*w.bytes()), acc)
		})
	}
	ADDQ(I32(4*columns), colPoint)
	SUBQ(I32(columns), colsLeft)
	JGT(LabelRef("block"))

	store := func(from []Op, to Register) {
		for v, m := range from {
			sum := w.vector()
			VMOVUPS(m, sum)
			VADDPS(loadRow(to, v), sum, sum)
			if w == avx512 {
				VMOVUPS(sum, mask[v], at(to, v*w.bytes()))
			} else {
				t := w.vector()
				VMOVUPS(masks.Offset(v*w.bytes()), t)
				VMASKMOVPS(sum, t, at(to, v*w.bytes()))
			}
		}
	}
	done := load("rows")
	SUBQ(left, done)
	{
		out := load("value")
		LEAQ(indexed(out, done, 4, 0), out)
		store(values, out)
	}
	{
		p, out, gradStride := copyOf(scratch), load("grad"), loadBytes("gradStride")
		LEAQ(indexed(out, done, 4, 0), out)
		forPlanes("store", "gradDim", func() { store(gradients(p), out) }, func() {
			ADDQ(I32(rowVectors*w.bytes()), p)
			ADDQ(gradStride, out)
		})
	}
	ADDQ(I32(rowVectors*w.bytes()), rowPoint)
	SUBQ(I32(rowVectors*w.lanes), left)
	JGT(LabelRef("row"))
	restore()
	VZEROUPPER()
	RET()
}

// valuesOf adds the values of each vector of rows, by the weights of their
// columns, to its sum.
func (w *isa) valuesOf(values []Op, weights []Mem) func(Register, []VecVirtual, bool) {
	return func(step Register, y []VecVirtual, unit bool) {
		for v, total := range values {
			sum := w.vector()
			if unit {
				VMOVUPS(total, sum)
			} else {
				w.zero(sum)
			}
			for c, m := range weights {
				VFMADD231PS(m, y[columns*v+c], sum)
			}
			if !unit {
				t := w.vector()
				w.constant(at(step, stepWeight), t)
				VFMADD213PS(total, t, sum)
			}
			VMOVUPS(sum, total)
		}
	}
}

// tailMasks selects the rows that are left, in two vectors.
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
	TEXT("radialValues"+w.suffix, NOSPLIT, "func(steps *uint32, count int, value, derivative, d2 []float32)")
	doc(w, "radialValues", "is radialValuesGeneric for a multiple of 64 distances.")
	Pragma("noescape")
	restore := flushSubnormals()
	const chains = 4 // as many as leave registers for their values
	var memory Mem
	if w == avx2 {
		memory = AllocLocal(2 * chains * w.bytes())
	}
	value := Load(Param("value").Base(), GP64())
	derivative := Load(Param("derivative").Base(), GP64())
	d2 := Load(Param("d2").Base(), GP64())
	n := Load(Param("d2").Len(), GP64())
	Label("block")
	s := w.newSums(chains, chains, memory)
	values := w.vectors(chains)
	for i := range s.d {
		d, ok := s.d[i].(VecVirtual)
		if !ok {
			d = w.vector()
		}
		VMOVUPS(at(d2, i*w.bytes()), d)
		w.limited([]VecVirtual{d})
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
