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
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An isa is a vector register size. A block of pairs is rows broadcast points
// against vectors of lanes points; each pair needs two distances.
type isa struct {
	suffix string
	lanes  int
	rows   int
	vector func() VecVirtual
}

var (
	avx512 = &isa{"AVX512", 16, 4, func() VecVirtual { return ZMM() }}
	avx2   = &isa{"AVX2", 8, 2, func() VecVirtual { return YMM() }}
)

func (w *isa) bytes() int { return 4 * w.lanes }

// spare returns how many registers are left when some are in use.
func (w *isa) spare(used int) int {
	if w == avx512 {
		return 32 - used
	}
	return 16 - used
}

func (w *isa) vectors(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = w.vector()
	}
	return v
}

func main() {
	ConstraintExpr("amd64,!purego")
	constants()
	for _, w := range []*isa{avx512, avx2} {
		w.gramTile()
		w.kernelSums()
		w.radialValues()
	}
	Generate()
}

// zero clears registers.
func (w *isa) zero(v ...VecVirtual) {
	for _, r := range v {
		VXORPS(r, r, r)
	}
}

// withPoint emits a binary operation whose memory operand is one float of a
// broadcast point: dst = op(v, point).
func (w *isa) withPoint(op, opBroadcast func(...Op), point Mem, v, dst VecVirtual) {
	if w == avx512 {
		opBroadcast(point, v, dst)
		return
	}
	t := w.vector()
	VBROADCASTSS(point, t)
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

// param returns a parameter as a memory operand.
func param(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

func load(name string) GPVirtual {
	r := GP64()
	MOVQ(param(name), r)
	return r
}

// loadBytes loads a count of floats in bytes.
func loadBytes(name string) GPVirtual {
	r := load(name)
	SHLQ(Imm(2), r)
	return r
}

func copyOf(r Register) GPVirtual {
	c := GP64()
	MOVQ(r, c)
	return c
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
	c := load("dim")
	Label(name)
	body()
	advance()
	DECQ(c)
	JNZ(LabelRef(name))
}

// sumRows returns an XMM register whose lowest len(v) floats are the sums of
// the lanes of each v; v has w.rows elements and is overwritten.
func (w *isa) sumRows(v []VecVirtual) VecVirtual {
	if w == avx2 {
		VHADDPS(v[1], v[0], v[0])
		VHADDPS(v[0], v[0], v[0])
		high := XMM()
		VEXTRACTF128(Imm(1), v[0], high)
		VADDPS(high, v[0].AsX(), high)
		return high
	}
	for i := 0; i < 4; i += 2 { // interleave and add: each pair of lanes holds two sums
		t := w.vector()
		VUNPCKHPS(v[i+1], v[i], t)
		VUNPCKLPS(v[i+1], v[i], v[i])
		VADDPS(t, v[i], v[i])
	}
	t := w.vector()
	VUNPCKHPD(v[2], v[0], t)
	VUNPCKLPD(v[2], v[0], v[0])
	VADDPS(t, v[0], v[0])
	half, high := YMM(), XMM()
	VEXTRACTF64X4(Imm(1), v[0], half)
	VADDPS(half, v[0].AsY(), half)
	VEXTRACTF128(Imm(1), half, high)
	VADDPS(high, half.AsX(), high)
	return high
}

// addSums adds w.rows sums to memory, or stores them.
func (w *isa) storeSums(sums VecVirtual, dst Mem, add bool) {
	if w == avx512 {
		if add {
			VADDPS(dst, sums, sums)
		}
		VMOVUPS(sums, dst)
		return
	}
	if add {
		t := XMM()
		VMOVSD(dst, t)
		VADDPS(t, sums, sums)
	}
	VMOVSD(sums, dst)
}

func at(base Register, displacement int) Mem { return Mem{Base: base, Disp: displacement} }

func indexed(base, index Register, scale uint8, displacement int) Mem {
	return Mem{Base: base, Index: index, Scale: scale, Disp: displacement}
}

func doc(w *isa, name, does string) { Doc(fmt.Sprintf("%s%s %s", name, w.suffix, does)) }

// memory returns consecutive vectors in memory.
func memory(first Mem, n, bytes int) []Mem {
	m := make([]Mem, n)
	for i := range m {
		m[i] = first.Offset(i * bytes)
	}
	return m
}
