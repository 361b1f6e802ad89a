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

// A oneSided is where the emitters of kernelSums find the rows of a block, two vectors of
// them, and its four columns.
type oneSided struct {
	*isa
	rowPoint, xStride Register // x_i, and bytes to the next plane
	colPoint, yStride Register
	left              Register // rows that are to be done
	scratch           Register
	mask              []Register // of the rows, with AVX-512
	weights           []Mem      // of the columns: 1, or 0 beyond the valid ones
}

// kernelSums emits the one-sided sums
//
//	value[i]   += Σ_j k(d²),  d² = |x_i − y_j|²
//	grad[c][i] += Σ_j k′(d²) (x_i[c] − y_j[c])
//
// which stay in scratch space until a block of rows has met all columns.
func (w *isa) kernelSums() {
	w.Kernel("kernelSums", "func(steps *uint32, count int, value, grad *float32, gradStride int, x *float32, xStride, rows int, y *float32, yStride, cols, valid, dim, gradDim int, scratch *float32)",
		"is kernelSumsGeneric for a multiple of 4 columns, of each four of which the first valid ones count.")
	restore := flushSubnormals()
	o := &oneSided{isa: w, rowPoint: Number("x"), xStride: Bytes("xStride"), yStride: Bytes("yStride"), scratch: Number("scratch"), left: Number("rows")}
	o.weigh()

	Label("row")
	o.mask = w.tailMasks(o.left, o.slot(slotMasks))
	o.clear()
	var colsLeft Register
	o.colPoint, colsLeft = Number("y"), Number("cols")

	Label("block")
	s := w.newSums(rowVectors*columns, 0, o.slot(slotMemory))
	o.distances(s)
	s.zeroSlopes()
	s.value = w.valuesOf(o.values(), o.weights)
	s.interpret()
	o.gradients(s)
	ADDQ(I32(4*columns), o.colPoint)
	SUBQ(I32(columns), colsLeft)
	JGT(LabelRef("block"))

	o.store()
	ADDQ(I32(rowVectors*w.Bytes), o.rowPoint)
	SUBQ(I32(rowVectors*w.Lanes()), o.left)
	JGT(LabelRef("row"))
	restore()
	Leave()
}

func (o *oneSided) slot(i int) Mem { return At(o.scratch, i*o.Bytes) }

// values returns the sums of values, and gradientSums those of gradients at the plane that p points to.
func (o *oneSided) values() []Op { return o.inMemory(o.slot(slotValues), rowVectors) }
func (o *oneSided) gradientSums(p Register) []Op {
	return o.inMemory(At(p, slotGrad*o.Bytes), rowVectors)
}

// maskOf selects the rows of vector v that there are.
func (o *oneSided) maskOf(v int) Register {
	if o.isa == avx512 {
		return o.mask[v]
	}
	return o.LoadVector(o.slot(slotMasks).Offset(v * o.Bytes))
}

// loadRows loads vector v of rows, at i.
func (o *oneSided) loadRows(i Register, v int) VecVirtual {
	x := o.Vector()
	o.LoadLanes(At(i, v*o.Bytes), o.maskOf(v), x)
	return x
}

// weigh sets the columns' weights.
func (o *oneSided) weigh() {
	o.weights = make([]Mem, columns)
	valid, weight, none := Number("valid"), o.Vector(), o.Vector()
	o.constant(splat(1), weight)
	Zero(none)
	for c := range o.weights {
		o.weights[c] = o.slot(slotWeights + c)
		VMOVUPS(weight, o.weights[c])
		CMPQ(valid, Imm(uint64(c)))
		JG(LabelRef(fmt.Sprintf("valid%d", c)))
		VMOVUPS(none, o.weights[c])
		Label(fmt.Sprintf("valid%d", c))
	}
}

// clear clears the sums of a block of rows.
func (o *oneSided) clear() {
	p := Copy(o.scratch)
	zero := o.Zeros()
	for _, v := range o.values() {
		VMOVUPS(zero, v)
	}
	forPlanes("clear", "gradDim", func() {
		for _, g := range o.gradientSums(p) {
			VMOVUPS(zero, g)
		}
	}, func() { ADDQ(I32(rowVectors*o.Bytes), p) })
}

// distances emits d² of a block.
func (o *oneSided) distances(s *sums) {
	d := s.y
	if o.isa == avx512 {
		d = o.inRegisters(s.d)
	}
	Zero(d...)
	i, j := Copy(o.rowPoint), Copy(o.colPoint)
	forPlanes("distance", "dim", func() {
		for v := range rowVectors {
			x := o.loadRows(i, v)
			for c := range columns {
				t := o.Vector()
				o.withPoint(VSUBPS, VSUBPS_BCST, At(j, 4*c), x, t)
				VFMADD231PS(t, t, d[columns*v+c])
			}
		}
	}, func() { ADDQ(o.xStride, i); ADDQ(o.yStride, j) })
	o.limited(d)
	if o.isa == avx2 {
		for k, d := range d {
			VMOVUPS(d, s.d[k])
		}
	}
}

// gradients adds those of a block.
func (o *oneSided) gradients(s *sums) {
	i, j, p := Copy(o.rowPoint), Copy(o.colPoint), Copy(o.scratch)
	slope := o.inRegisters(s.slope)
	CMPQ(Argument("valid"), Imm(columns))
	JE(LabelRef("all"))
	for k, p := range slope {
		VMULPS(o.weights[k%columns], p, p)
	}
	Label("all")
	forPlanes("gradient", "gradDim", func() {
		for v, g := range o.gradientSums(p) {
			x, sum := o.loadRows(i, v), o.Vector()
			VMOVUPS(g, sum)
			for c := range columns {
				t := o.Vector()
				o.withPoint(VSUBPS, VSUBPS_BCST, At(j, 4*c), x, t)
				VFMADD231PS(slope[columns*v+c], t, sum)
			}
			VMOVUPS(sum, g)
		}
	}, func() {
		ADDQ(o.xStride, i)
		ADDQ(o.yStride, j)
		ADDQ(I32(rowVectors*o.Bytes), p)
	})
}

// store adds the sums of a block of rows to value and grad.
func (o *oneSided) store() {
	add := func(from []Op, to Register) {
		for v, m := range from {
			sum := o.LoadVector(m)
			VADDPS(o.loadRows(to, v), sum, sum)
			o.StoreLanes(sum, o.maskOf(v), At(to, v*o.Bytes))
		}
	}
	done := Number("rows")
	SUBQ(o.left, done)
	value := Number("value")
	LEAQ(indexed(value, done, 4, 0), value)
	add(o.values(), value)
	p, grad, gradStride := Copy(o.scratch), Number("grad"), Bytes("gradStride")
	LEAQ(indexed(grad, done, 4, 0), grad)
	forPlanes("store", "gradDim", func() { add(o.gradientSums(p), grad) }, func() {
		ADDQ(I32(rowVectors*o.Bytes), p)
		ADDQ(gradStride, grad)
	})
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
