// Command math generates the elementwise functions. Each kernel walks its
// slices two vectors at a time, for the latency of the polynomials, then
// finishes with one masked vector after another.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An isa is a vector register size.
type isa struct {
	suffix string
	lanes  int
	vector func() VecVirtual
}

var (
	avx512 = &isa{"AVX512", 16, func() VecVirtual { return ZMM() }}
	avx2   = &isa{"AVX2", 8, func() VecVirtual { return YMM() }}
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*isa{avx512, avx2} {
		w.elementwise("exp", "e^x", w.exp)
		w.elementwise("log", "ln x", w.log)
		w.elementwise("rsqrt", "1/√x", w.rsqrt)
		w.elementwise("tanh", "tanh x", w.tanh)
		w.elementwise("sigmoid", "1/(1+e^−x)", w.sigmoid)
	}
	Generate()
}

// elementwise emits a kernel that applies f to every element. f emits the
// function of x into a register that it returns, and may overwrite x.
func (w *isa) elementwise(name, formula string, f func(x VecVirtual) VecVirtual) {
	TEXT(name+w.suffix, NOSPLIT, "func(dst, x []float32)")
	Doc(name + w.suffix + " sets dst[i] = " + formula + " of x[i]; the lengths are equal.")
	Pragma("noescape")
	dst := Load(Param("dst").Base(), GP64())
	n := GP64()
	Load(Param("dst").Len(), n)
	x := Load(Param("x").Base(), GP64())
	bytes := 4 * w.lanes

	SUBQ(I32(2*w.lanes), n)
	JLT(LabelRef("rest"))
	Label("pair")
	for half := range 2 {
		v := w.vector()
		VMOVUPS(Mem{Base: x, Disp: half * bytes}, v)
		VMOVUPS(f(v), Mem{Base: dst, Disp: half * bytes})
	}
	ADDQ(I32(2*bytes), x)
	ADDQ(I32(2*bytes), dst)
	SUBQ(I32(2*w.lanes), n)
	JGE(LabelRef("pair"))

	Label("rest")
	ADDQ(I32(2*w.lanes), n)
	JZ(LabelRef("done"))
	Label("masked")
	v := w.vector()
	if w == avx512 {
		ones, mask := GP32(), K()
		MOVL(U32(math.MaxUint32), ones)
		BZHIL(n.As32(), ones, ones)
		KMOVW(ones, mask)
		VMOVUPS_Z(Mem{Base: x}, mask, v)
		VMOVUPS(f(v), mask, Mem{Base: dst})
	} else {
		mask, count := YMM(), XMM()
		VMOVD(n.As32(), count)
		VPBROADCASTD(count, mask)
		VPCMPGTD(laneIndex(), mask, mask)
		VMASKMOVPS(Mem{Base: x}, mask, v)
		VMASKMOVPS(f(v), mask, Mem{Base: dst})
	}
	ADDQ(I32(bytes), x)
	ADDQ(I32(bytes), dst)
	SUBQ(I32(w.lanes), n)
	JGT(LabelRef("masked"))
	Label("done")
	VZEROUPPER()
	RET()
}

// constants holds the constants defined so far, by their bits.
var constants = map[uint32]Mem{}

// word returns a constant in memory, eight times.
func word(bits uint32) Mem {
	m, ok := constants[bits]
	if !ok {
		const hex = "0123456789abcdef"
		name := []byte("mathWord")
		for shift := 28; shift >= 0; shift -= 4 {
			name = append(name, hex[bits>>shift&15])
		}
		m = GLOBL(string(name), RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(bits))
		}
		constants[bits] = m
	}
	return m
}

func float(x float64) Mem { return word(math.Float32bits(float32(x))) }

var lanesMem Mem

func laneIndex() Mem {
	if lanesMem.Symbol.Name == "" {
		lanesMem = GLOBL("mathLaneIndex", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(uint32(i)))
		}
	}
	return lanesMem
}

// with emits an operation whose first operand is a constant in memory.
func (w *isa) with(op, opBroadcast func(...Op), constant Mem, rest ...Op) {
	if w == avx512 {
		op = opBroadcast
	}
	op(append([]Op{constant}, rest...)...)
}

// constant returns a register that holds a constant.
func (w *isa) constant(m Mem) VecVirtual {
	v := w.vector()
	if w == avx512 {
		VBROADCASTSS(m, v)
	} else {
		VMOVUPS(m, v)
	}
	return v
}

// horner emits c[0] + x (c[1] + x (c[2] + …)).
func (w *isa) horner(x VecVirtual, c ...float64) VecVirtual {
	last := len(c) - 1
	p := w.constant(float(c[last]))
	for i := last - 1; i >= 0; i-- {
		w.with(VFMADD213PS, VFMADD213PS_BCST, float(c[i]), x, p)
	}
	return p
}
