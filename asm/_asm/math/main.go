// Command math generates the elementwise functions. Each kernel walks its
// slices several vectors at a time, operation by operation, so that few
// instructions wait for others; then it finishes with one masked vector after
// another. AVX-512 keeps the constants in registers, where loading them would
// cost more than computing with them.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// An isa is a vector register size.
type isa struct {
	*ISA
	unroll int                // vectors at a time
	kept   map[Mem]VecVirtual // constants in registers, in the function at hand
}

var (
	avx512 = &isa{AVX512, 4, nil}
	avx2   = &isa{AVX2, 2, nil}
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*isa{avx512, avx2} {
		w.elementwise("exp", "e^x", expConstants, w.exp)
		w.elementwise("log", "ln x", logConstants, w.log)
		w.elementwise("tanh", "tanh x", tanhConstants, w.tanh)
		w.elementwise("sigmoid", "1/(1+e^−x)", sigmoidConstants, w.sigmoid)
		w.expSumRows()
	}
	Generate()
}

// A function emits the function of some vectors, which it may overwrite, and
// returns where the results are.
type function func(x []VecVirtual) []VecVirtual

// elementwise emits a kernel that applies f to every element.
func (w *isa) elementwise(name, formula string, kept []Mem, f function) {
	w.Kernel(name, "func(dst, x []float32)",
		"sets dst[i] = "+formula+" of x[i]; the lengths are equal.")
	dst := Address("dst")
	n := Length("dst")
	x := Address("x")
	bytes := 4 * w.Lanes()
	w.kept = map[Mem]VecVirtual{}
	if w == avx2 { // has registers for some
		kept = kept[:min(4, len(kept))]
	}
	for _, m := range kept {
		v := w.BroadcastFloat(m)
		w.kept[m] = v
	}

	SUBQ(I32(w.unroll*w.Lanes()), n)
	JLT(LabelRef("rest"))
	Label("block")
	v := w.Vectors(w.unroll)
	for i := range v {
		VMOVUPS(Mem{Base: x, Disp: i * bytes}, v[i])
	}
	for i, y := range f(v) {
		VMOVUPS(y, Mem{Base: dst, Disp: i * bytes})
	}
	ADDQ(I32(w.unroll*bytes), x)
	ADDQ(I32(w.unroll*bytes), dst)
	SUBQ(I32(w.unroll*w.Lanes()), n)
	JGE(LabelRef("block"))

	Label("rest")
	ADDQ(I32(w.unroll*w.Lanes()), n)
	JZ(LabelRef("done"))
	Label("masked")
	v = w.Vectors(1)
	mask := w.FirstLanes(n, 1, constants)[0]
	w.LoadLanes(Mem{Base: x}, mask, v[0])
	w.StoreLanes(f(v)[0], mask, Mem{Base: dst})
	ADDQ(I32(bytes), x)
	ADDQ(I32(bytes), dst)
	SUBQ(I32(w.Lanes()), n)
	JGT(LabelRef("masked"))
	Label("done")
	Leave()
}

var constants = NewPool("mathConstants")

// word returns a constant in memory, eight times.
func word(bits uint32) Mem {
	return constants.Vector32(bits, bits, bits, bits, bits, bits, bits, bits)
}

func float(x float64) Mem { return word(math.Float32bits(float32(x))) }

func laneIndex() Mem { return constants.Vector32(0, 1, 2, 3, 4, 5, 6, 7) }

func floats(x ...float64) []Mem {
	m := make([]Mem, len(x))
	for i := range x {
		m[i] = float(x[i])
	}
	return m
}

// with emits an operation whose first operand is a constant.
func (w *isa) with(op, opBroadcast func(...Op), constant Mem, rest ...Op) {
	var first Op = constant
	if v, ok := w.kept[constant]; ok {
		first = v
	} else if w == avx512 {
		op = opBroadcast
	}
	op(append([]Op{first}, rest...)...)
}

// side is with for vectors side by side.
func (w *isa) side(op, opBroadcast func(...Op), constant Mem, x, to []VecVirtual) {
	for i := range x {
		w.with(op, opBroadcast, constant, x[i], to[i])
	}
}

// constant returns a register that holds a constant and must not be written.
func (w *isa) constant(m Mem) VecVirtual {
	if v, ok := w.kept[m]; ok {
		return v
	}
	return w.fresh(m)
}

// fresh returns a register of its own that holds a constant.
func (w *isa) fresh(m Mem) VecVirtual {
	v := w.Vector()
	if k, ok := w.kept[m]; ok {
		VMOVAPS(k, v)
	} else if w == avx512 {
		VBROADCASTSS(m, v)
	} else {
		VMOVUPS(m, v)
	}
	return v
}

// horner emits c[0] + x (c[1] + x (c[2] + …)).
func (w *isa) horner(x []VecVirtual, c ...float64) []VecVirtual {
	last := len(c) - 1
	p := make([]VecVirtual, len(x))
	for i := range p {
		p[i] = w.fresh(float(c[last]))
	}
	for k := last - 1; k >= 0; k-- {
		w.side(VFMADD213PS, VFMADD213PS_BCST, float(c[k]), x, p)
	}
	return p
}
