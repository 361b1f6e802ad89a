package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// maxNarrow is the largest number of outputs of the narrow products.
const maxNarrow = 4

// A narrow product has n outputs per row, which are dot products of the row of
// A with the n rows of B:
//
//	for each h rows of A, such that h·n outputs fill a vector
//	    c[h][n] = vectors of zeros
//	    for k in steps of a vector
//	        for each row and output: c[row][o] += A[row][k...] · B[o][k...]
//	    C = epilogue(the sums over the lanes of each c, in one vector)
//
// C is contiguous, h rows of it being one vector. The last rows go one by one,
// with the same order of additions.
type narrow struct {
	isa
	product
	n    int
	name string // prefix of the labels

	a, b, c, act, rows Register
	lda, lda3, lda5    Register
	rest               tail // the k that do not fill a vector
}

func narrowProduct(isa isa, product product) {
	w := &narrow{isa: isa, product: product}
	k, outputs := "in", "out"
	if product == forward {
		TEXT("denseForwardNarrow"+isa.suffix, NOSPLIT, "func(y, x, packed []float32, bias *[16]float32, rows, in, out int, slope float32)")
		Doc("denseForwardNarrow"+isa.suffix+" is denseForwardGeneric for rows, in > 0 and 1 to 4 outputs.",
			"bias repeats the biases.")
		w.a = Load(Param("x").Base(), GP64())
		w.b = Load(Param("packed").Base(), GP64())
		w.c = Load(Param("y").Base(), GP64())
	} else {
		k, outputs = "out", "in"
		TEXT("denseBackwardInputNarrow"+isa.suffix, NOSPLIT, "func(dx, dy, packedT, act []float32, rows, in, out int, slope float32)")
		Doc("denseBackwardInputNarrow"+isa.suffix+" is denseBackwardInputGeneric for rows, out > 0, 1 to 4",
			"inputs and an act that is not nil.")
		w.a = Load(Param("dy").Base(), GP64())
		w.b = Load(Param("packedT").Base(), GP64())
		w.c = Load(Param("dx").Base(), GP64())
		w.act = Load(Param("act").Base(), GP64())
	}
	Pragma("noescape")
	w.rows = Load(Param("rows"), GP64())
	w.lda, w.lda3, w.lda5 = GP64(), GP64(), GP64()
	Load(Param(k), w.lda)
	width := GP64()
	MOVQ(w.lda, width)
	ANDQ(Imm(uint64(isa.bytes/4-1)), width)
	w.rest = tail{isa: isa}
	w.rest.set(width)
	SHLQ(Imm(2), w.lda)
	LEAQ(Mem{Base: w.lda, Index: w.lda, Scale: 2}, w.lda3)
	LEAQ(Mem{Base: w.lda, Index: w.lda, Scale: 4}, w.lda5)

	n := Load(Param(outputs), GP64())
	for w.n = 1; w.n <= maxNarrow; w.n++ {
		w.name = fmt.Sprintf("outputs%d", w.n)
		CMPQ(n, Imm(uint64(w.n)))
		JNE(LabelRef(w.name + "_end"))
		for _, h := range []int{isa.bytes / 4 / w.n, 1} {
			label := fmt.Sprintf("%s_rows%d", w.name, h)
			Label(label)
			CMPQ(w.rows, Imm(uint64(h)))
			JL(LabelRef(label + "_end"))
			w.tile(h, label)
			SUBQ(Imm(uint64(h)), w.rows)
			JMP(LabelRef(label))
			Label(label + "_end")
		}
		Label(w.name + "_end")
	}
	VZEROUPPER()
	RET()
}

func (w *narrow) tile(h int, label string) {
	c := make([][]VecVirtual, h)
	for r := range c {
		for range w.n {
			v := w.vector()
			VXORPS(v, v, v)
			c[r] = append(c[r], v)
		}
	}
	a, b, end := []Register{GP64()}, GP64(), GP64()
	MOVQ(w.a, a[0])
	MOVQ(w.b, b)
	MOVQ(w.lda, end)
	ANDQ(I32(int32(-w.bytes)), end)
	ADDQ(a[0], end)
	for r := 7; r < h; r += 7 {
		next := GP64()
		LEAQ(Mem{Base: a[len(a)-1], Index: w.lda5, Scale: 1}, next)
		LEAQ(Mem{Base: next, Index: w.lda, Scale: 2}, next)
		a = append(a, next)
	}
	JMP(LabelRef(label + "_check"))
	Label(label + "_k")
	w.step(c, a, b, func(m Mem, dst Register) { VMOVUPS(m, dst) })
	for _, r := range append(a, b) {
		ADDQ(Imm(uint64(w.bytes)), r)
	}
	Label(label + "_check")
	CMPQ(a[0], end)
	JNE(LabelRef(label + "_k"))

	TESTQ(U32(uint32(w.bytes-4)), w.lda)
	JZ(LabelRef(label + "_sum"))
	w.step(c, a, b, func(m Mem, dst Register) { w.rest.load(m, 0, dst) })
	Label(label + "_sum")

	next := GP64()
	IMUL3Q(Imm(uint64(h)), w.lda, next)
	ADDQ(next, w.a)
	w.epilogue(w.sumLanes(c), h)
}

// step adds the products of one vector of k.
func (w *narrow) step(c [][]VecVirtual, a []Register, b Register, load func(Mem, Register)) {
	vectors := make([]VecVirtual, w.n)
	for o := range vectors {
		vectors[o] = w.vector()
		load(w.row(b, o), vectors[o])
	}
	for r, row := range c {
		x := w.vector()
		load(w.row(a[r/7], r%7), x)
		for o, v := range vectors {
			VFMADD231PS(x, v, row[o])
		}
	}
}

// row addresses row r of what begins at base, r up to 6.
func (w *narrow) row(base Register, r int) Mem {
	m := Mem{Base: base}
	switch r {
	case 1, 2, 4:
		m.Index, m.Scale = w.lda, uint8(r)
	case 3, 6:
		m.Index, m.Scale = w.lda3, uint8(r/3)
	case 5:
		m.Index, m.Scale = w.lda5, 1
	}
	return m
}

// sumLanes returns a vector whose lanes are the sums of the lanes of each of
// c, in order, with anything in the lanes beyond.
func (w *narrow) sumLanes(c [][]VecVirtual) VecVirtual {
	var level []VecVirtual
	for _, row := range c {
		level = append(level, row...)
	}
	combine := func(low, high func(b, a, dst VecVirtual)) {
		var next []VecVirtual
		for i := 0; i < len(level); i += 2 {
			first, second := level[i], level[i]
			if i+1 < len(level) {
				second = level[i+1]
			}
			l, h := w.vector(), w.vector()
			low(second, first, l)
			high(second, first, h)
			VADDPS(h, l, l)
			next = append(next, l)
		}
		level = next
	}
	combine(
		func(b, a, dst VecVirtual) { VUNPCKLPS(b, a, dst) },
		func(b, a, dst VecVirtual) { VUNPCKHPS(b, a, dst) })
	combine(
		func(b, a, dst VecVirtual) { VUNPCKLPD(b, a, dst) },
		func(b, a, dst VecVirtual) { VUNPCKHPD(b, a, dst) })
	if w.bytes == 32 {
		combine(
			func(b, a, dst VecVirtual) { VPERM2F128(Imm(0x20), b, a, dst) },
			func(b, a, dst VecVirtual) { VPERM2F128(Imm(0x31), b, a, dst) })
		return level[0]
	}
	for range 2 { // even and odd quarters
		combine(
			func(b, a, dst VecVirtual) { VSHUFF32X4(Imm(0x88), b, a, dst) },
			func(b, a, dst VecVirtual) { VSHUFF32X4(Imm(0xdd), b, a, dst) })
	}
	return level[0]
}

// epilogue finishes the sums of h rows in x, stores them and moves c behind.
func (w *narrow) epilogue(x VecVirtual, h int) {
	outputs := h * w.n
	full := 4*outputs == w.bytes
	t := tail{isa: w.isa}
	if !full {
		width := GP64()
		MOVQ(U32(uint32(outputs)), width)
		t.set(width)
	}
	slope, zero, sign := w.vector(), w.vector(), x
	broadcastParam("slope", slope)
	VXORPS(zero, zero, zero)
	if w.product == forward {
		bias := Load(Param("bias"), GP64())
		VADDPS(Mem{Base: bias}, x, x)
	} else {
		sign = w.vector()
		if full {
			VMOVUPS(Mem{Base: w.act}, sign)
		} else {
			t.load(Mem{Base: w.act}, 0, sign)
		}
		ADDQ(Imm(uint64(4*outputs)), w.act)
	}
	if w.bytes == 64 {
		negative := K()
		VCMPPS(Imm(notGreater), zero, sign, negative)
		VMULPS(slope, x, negative, x)
	} else {
		scaled, positive := w.vector(), w.vector()
		VMULPS(slope, x, scaled)
		VCMPPS(Imm(greater), zero, sign, positive)
		VBLENDVPS(positive, x, scaled, x)
	}
	if full {
		VMOVUPS(x, Mem{Base: w.c})
	} else {
		t.store(x, 0, Mem{Base: w.c})
	}
	ADDQ(Imm(uint64(4*outputs)), w.c)
}
