package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
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
	w.Kernel("kernelSums", "func(steps *uint32, count int, value, grad *float32, gradStride int, x *float32, xStride, rows int, y *float32, yStride, cols, valid, dim, gradDim int, scratch *float32)",
		"is kernelSumsGeneric for a multiple of 4 columns, of each four of which the first valid ones count.")
	restore := flushSubnormals()
	rowPoint, xStride, yStride := Number("x"), Bytes("xStride"), Bytes("yStride")
	scratch, left := Number("scratch"), Number("rows")
	slot := func(i int) Mem { return At(scratch, i*w.Bytes) }
	masks := slot(slotMasks)
	weights := make([]Mem, columns)
	{
		valid, weight, none := Number("valid"), w.Vector(), w.Vector()
		w.constant(splat(1), weight)
		Zero(none)
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
	maskOf := func(v int) Register {
		if w == avx512 {
			return mask[v]
		}
		return w.Loaded(masks.Offset(v * w.Bytes))
	}
	loadRow := func(i Register, v int) VecVirtual {
		x := w.Vector()
		w.LoadFirst(At(i, v*w.Bytes), maskOf(v), x)
		return x
	}
	values := w.inMemory(slot(slotValues), rowVectors)
	gradients := func(base Register) []Op { return w.inMemory(At(base, slotGrad*w.Bytes), rowVectors) }
	{
		p := Copy(scratch)
		zero := w.Zeros()
		for _, v := range values {
			VMOVUPS(zero, v)
		}
		forPlanes("clear", "gradDim", func() {
			for _, g := range gradients(p) {
				VMOVUPS(zero, g)
			}
		}, func() { ADDQ(I32(rowVectors*w.Bytes), p) })
	}
	colPoint, colsLeft := Number("y"), Number("cols")

	Label("block")
	s := w.newSums(rowVectors*columns, 0, slot(slotMemory))
	d := s.y
	if w == avx512 {
		d = w.inRegisters(s.d)
	}
	Zero(d...)
	{
		i, j := Copy(rowPoint), Copy(colPoint)
		forPlanes("distance", "dim", func() {
			for v := range rowVectors {
				x := loadRow(i, v)
				for c := range columns {
					t := w.Vector()
					w.withPoint(VSUBPS, VSUBPS_BCST, At(j, 4*c), x, t)
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
		i, j, acc := Copy(rowPoint), Copy(colPoint), Copy(scratch)
		slope := w.inRegisters(s.slope)
		CMPQ(Argument("valid"), Imm(columns))
		JE(LabelRef("all"))
		for k, p := range slope {
			VMULPS(weights[k%columns], p, p)
		}
		Label("all")
		forPlanes("gradient", "gradDim", func() {
			for v, g := range gradients(acc) {
				x, sum := loadRow(i, v), w.Vector()
				VMOVUPS(g, sum)
				for c := range columns {
					t := w.Vector()
					w.withPoint(VSUBPS, VSUBPS_BCST, At(j, 4*c), x, t)
					VFMADD231PS(slope[columns*v+c], t, sum)
				}
				VMOVUPS(sum, g)
			}
		}, func() {
			ADDQ(xStride, i)
			ADDQ(yStride, j)
			ADDQ(I32(rowVectors*w.Bytes), acc)
		})
	}
	ADDQ(I32(4*columns), colPoint)
	SUBQ(I32(columns), colsLeft)
	JGT(LabelRef("block"))

	store := func(from []Op, to Register) {
		for v, m := range from {
			sum := w.Loaded(m)
			VADDPS(loadRow(to, v), sum, sum)
			w.StoreFirst(sum, maskOf(v), At(to, v*w.Bytes))
		}
	}
	done := Number("rows")
	SUBQ(left, done)
	{
		out := Number("value")
		LEAQ(indexed(out, done, 4, 0), out)
		store(values, out)
	}
	{
		p, out, gradStride := Copy(scratch), Number("grad"), Bytes("gradStride")
		LEAQ(indexed(out, done, 4, 0), out)
		forPlanes("store", "gradDim", func() { store(gradients(p), out) }, func() {
			ADDQ(I32(rowVectors*w.Bytes), p)
			ADDQ(gradStride, out)
		})
	}
	ADDQ(I32(rowVectors*w.Bytes), rowPoint)
	SUBQ(I32(rowVectors*w.Lanes()), left)
	JGT(LabelRef("row"))
	restore()
	Leave()
}

// valuesOf adds the values of each vector of rows, by the weights of their
// columns, to its sum.
func (w *isa) valuesOf(values []Op, weights []Mem) func(Register, []VecVirtual, bool) {
	return func(step Register, y []VecVirtual, unit bool) {
		for v, total := range values {
			sum := w.Vector()
			if unit {
				VMOVUPS(total, sum)
			} else {
				Zero(sum)
			}
			for c, m := range weights {
				VFMADD231PS(m, y[columns*v+c], sum)
			}
			if !unit {
				t := w.Vector()
				w.constant(At(step, stepWeight), t)
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
	masks, none := GP64(), GP64()
	var lanes [16]uint32 // eight all set, and eight of none
	for i := range 8 {
		lanes[i] = ^uint32(0)
	}
	LEAQ(constants.Vector32(lanes[:]...), masks)
	MOVQ(U32(8), limit)
	XORQ(none, none)
	for h := range 2 {
		LEAQ(At(left, -8*h), t)
		CMPQ(t, limit)
		CMOVQGT(limit, t)
		TESTQ(t, t)
		CMOVQLT(none, t)
		NEGQ(t)
		m := w.Vector()
		VMOVUPS(indexed(masks, t, 4, 32), m) // t lanes of the first eight, all set
		VMOVUPS(m, memory.Offset(h*w.Bytes))
	}
	return nil
}

// radialValues emits the elementwise values.
func (w *isa) radialValues() {
	w.Kernel("radialValues", "func(steps *uint32, count int, value, derivative, d2 []float32)",
		"is radialValuesGeneric for a multiple of 64 distances.")
	restore := flushSubnormals()
	const chains = 4 // as many as leave registers for their values
	var memory Mem
	if w == avx2 {
		memory = AllocLocal(2 * chains * w.Bytes)
	}
	value, derivative, d2, n := Address("value"), Address("derivative"), Address("d2"), Length("d2")
	Label("block")
	s := w.newSums(chains, chains, memory)
	values := w.Vectors(chains)
	for i := range s.d {
		d, ok := s.d[i].(VecVirtual)
		if !ok {
			d = w.Vector()
		}
		VMOVUPS(At(d2, i*w.Bytes), d)
		w.limited([]VecVirtual{d})
		if !ok {
			VMOVUPS(d, s.d[i])
		}
	}
	s.zeroSlopes()
	Zero(values...)
	s.value = func(step Register, y []VecVirtual, unit bool) {
		for i, v := range y {
			if unit {
				VADDPS(v, values[i], values[i])
			} else {
				w.withConstant(VFMADD231PS, VFMADD231PS_BCST, At(step, stepWeight), v, values[i])
			}
		}
	}
	s.interpret()
	slope := w.inRegisters(s.slope)
	for i := range values {
		VMOVUPS(values[i], At(value, i*w.Bytes))
		VMOVUPS(slope[i], At(derivative, i*w.Bytes))
	}
	for _, p := range []Register{value, derivative, d2} {
		ADDQ(I32(chains*w.Bytes), p)
	}
	SUBQ(I32(chains*w.Lanes()), n)
	JGT(LabelRef("block"))
	restore()
	Leave()
}
