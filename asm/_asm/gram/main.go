// Command gram generates the kernels that sum radial functions over pairs of
// points: the tile of the reversibility loss, the one-sided kernel sums and
// the elementwise values.
//
// All three keep a handful of vectors of squared distances in registers and
// interpret the steps of a Radial on them (steps.go): the interpreter's few
// scalar instructions are shared by some seventy vector instructions, so a
// kernel of any shape costs what code written for it would.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// An isa is a vector register size. A block of pairs is rows broadcast points
// against vectors of lanes points; each pair needs two distances.
type isa struct {
	*ISA
	rows int
}

var (
	avx512 = &isa{AVX512, 4}
	avx2   = &isa{AVX2, 4}
)

// rowSums returns the offset in scratch space, in bytes, of the sums of the
// rows' gradients. Before them come the sums of values, and what AVX2 keeps in
// memory: masks, distances and slopes.
func (w *isa) rowSums() int {
	if w == avx512 {
		return w.rows * w.Bytes
	}
	return 6 * w.rows * w.Bytes
}

func main() {
	ConstraintExpr("amd64,!purego")
	constants = NewPool("gramConstants")
	for _, w := range []*isa{avx512, avx2} {
		w.gramTile()
		w.kernelSums()
		w.radialValues()
	}
	Generate()
}

// withPoint emits a binary operation whose memory operand is one float of a
// broadcast point: dst = op(v, point).
func (w *isa) withPoint(op, opBroadcast func(...Op), point Mem, v, dst VecVirtual) {
	if w == avx512 {
		opBroadcast(point, v, dst)
		return
	}
	t := w.BroadcastFloat(point)
	op(t, v, dst)
}

// withConstant emits an operation whose memory operand is a constant, stored
// eight times.
func (w *isa) withConstant(op, opBroadcast func(...Op), constant Mem, rest ...Op) {
	if w == avx512 {
		op = opBroadcast
	}
	op(append([]Op{constant}, rest...)...)
}

// flushSubnormals sets flush-to-zero and denormals-are-zero for the duration
// of the kernel: the tails of Gaussians would otherwise take microcode assists
// on many processors. It returns what restores the caller's mode.
func flushSubnormals() (restore func()) {
	saved := AllocLocal(8)
	VSTMXCSR(saved)
	mode := GP32()
	MOVL(saved, mode)
	ORL(U32(0x8040), mode)
	MOVL(mode, saved.Offset(4))
	VLDMXCSR(saved.Offset(4))
	return func() { VLDMXCSR(saved) }
}

// forDim emits a loop over the dim planes; pointers advance by the stride.
func forDim(name string, body func(), advance func()) {
	c := Number("dim")
	Label(name)
	body()
	advance()
	DECQ(c)
	JNZ(LabelRef(name))
}

// forPlanes is forDim for as many planes as a parameter says, none included.
func forPlanes(name, count string, body func(), advance func()) {
	c := Number(count)
	JMP(LabelRef(name + "_next"))
	Label(name)
	body()
	advance()
	DECQ(c)
	Label(name + "_next")
	TESTQ(c, c)
	JNZ(LabelRef(name))
}

// sumRows returns the sums of the lanes of four vectors, which it overwrites.
func (w *isa) sumRows(v []VecVirtual) (sums VecVirtual) {
	for i := 0; i < 4; i += 2 { // interleave and add: each pair of lanes holds two sums
		t := w.Vector()
		VUNPCKHPS(v[i+1], v[i], t)
		VUNPCKLPS(v[i+1], v[i], v[i])
		VADDPS(t, v[i], v[i])
	}
	t := w.Vector()
	VUNPCKHPD(v[2], v[0], t)
	VUNPCKLPD(v[2], v[0], v[0])
	VADDPS(t, v[0], v[0])
	half, high := v[0], XMM()
	if w == avx512 {
		half = YMM()
		VEXTRACTF64X4(Imm(1), v[0], half)
		VADDPS(half, v[0].AsY(), half)
	}
	VEXTRACTF128(Imm(1), half.AsY(), high)
	VADDPS(high, half.AsX(), high)
	return high
}

func indexed(base, index Register, scale uint8, displacement int) Mem {
	return Mem{Base: base, Index: index, Scale: scale, Disp: displacement}
}
