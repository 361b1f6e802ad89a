package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// A narrow product, forward or backward, has n outputs per row, which are dot
// products of the row of A with the n rows of B:
//
//	for each h rows of A
//	    c[h][n] = vectors of zeros
//	    for k in steps of a vector
//	        for each row and output: c[row][o] += A[row][k...] · B[o][k...]
//	    sum = the sums over the lanes of each c, side by side in vectors, + bias
//	    C = sum · (1 if act > 0, else slope), with sum for act if there is none
//
// C is contiguous: the outputs of h rows fill a vector, or follow each other
// in two. The last rows go one by one, with the same order of additions.
type narrow struct {
	isa
	n    int
	name string // prefix of the labels

	a, b, c, act, rows Register
	strides                     // between rows of A and of B
	rest               Register // masks the k that do not fill a vector
}

func narrowProduct(isa isa) {
	w := &narrow{isa: isa}
	isa.Kernel("denseNarrow", "func(c, a, b []float32, bias *[32]float32, act []float32, rows, k, n int, slope float32)",
		"computes a product of 1 to 9 columns:", "",
		"\tsum = bias[o] + sum_i a[r*k+i] * b[o*k+i]",
		"\tif act == nil { c[r*n+o] = leaky(sum) } else { c[r*n+o] = sum · leaky'(act[r*n+o]) }", "",
		"bias repeats itself after n elements. rows and k are positive.")
	w.a, w.b, w.c, w.act = Address("a"), Address("b"), Address("c"), Address("act")
	w.rows = Number("rows")
	w.lda = GP64()
	Load(Param("k"), w.lda)
	width := Copy(w.lda)
	ANDQ(Imm(uint64(isa.Bytes/4-1)), width)
	w.rest = isa.FirstLanes(width, 1, constants)[0]
	SHLQ(Imm(2), w.lda)
	w.multiply()

	n := Number("n")
	for i, h := range isa.dots {
		w.n = i + 1
		w.name = fmt.Sprintf("outputs%d", w.n)
		CMPQ(n, Imm(uint64(w.n)))
		JNE(LabelRef(w.name + "_end"))
		heights := []int{h, 1}
		if h == 1 {
			heights = heights[:1]
		}
		for _, h := range heights {
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
	Leave()
}

func (w *narrow) tile(h int, label string) {
	c := make([][]VecVirtual, h)
	for r := range c {
		for range w.n {
			v := w.Zeros()
			c[r] = append(c[r], v)
		}
	}
	a, b, end := w.bases(w.a, h), w.bases(w.b, w.n), GP64()
	MOVQ(w.lda, end)
	ANDQ(I32(int32(-w.Bytes)), end)
	ADDQ(a[0], end)
	JMP(LabelRef(label + "_check"))
	Label(label + "_k")
	w.step(c, a, b, func(m Mem, dst Register) { VMOVUPS(m, dst) })
	for _, r := range append(a, b...) {
		ADDQ(Imm(uint64(w.Bytes)), r)
	}
	Label(label + "_check")
	CMPQ(a[0], end)
	JNE(LabelRef(label + "_k"))

	TESTQ(U32(uint32(w.Bytes-4)), w.lda)
	JZ(LabelRef(label + "_sum"))
	w.step(c, a, b, func(m Mem, dst Register) { w.LoadLanes(m, w.rest, dst) })
	Label(label + "_sum")

	next := GP64()
	IMUL3Q(Imm(uint64(h)), w.lda, next)
	ADDQ(next, w.a)
	var sums []VecVirtual
	for _, row := range c {
		sums = append(sums, row...)
	}
	for lanes, first := w.Bytes/4, 0; first < len(sums); first += lanes {
		outputs := min(lanes, len(sums)-first)
		w.epilogue(w.sumLanes(sums[first:][:outputs]), fmt.Sprintf("%s_first%d", label, first), first, outputs)
	}
}

// step adds the products of one vector of k. The operand with fewer rows
// waits in registers for the rows of the other.
func (w *narrow) step(c [][]VecVirtual, a, b []Register, load func(Mem, Register)) {
	loadRow := func(bases []Register, r int) VecVirtual {
		v := w.Vector()
		load(w.row(bases, r), v)
		return v
	}
	if len(c) < w.n {
		x := make([]VecVirtual, len(c))
		for r := range x {
			x[r] = loadRow(a, r)
		}
		for o := range w.n {
			v := loadRow(b, o)
			for r := range x {
				VFMADD231PS(x[r], v, c[r][o])
			}
		}
		return
	}
	vectors := make([]VecVirtual, w.n)
	for o := range vectors {
		vectors[o] = loadRow(b, o)
	}
	for r, row := range c {
		x := loadRow(a, r)
		for o, v := range vectors {
			VFMADD231PS(x, v, row[o])
		}
	}
}

// bases returns copies of base advanced by 0, 7, 14 rows, as far as needed to
// address the given number of them. The rows of A and of B are equally long.
func (w *narrow) bases(base Register, rows int) []Register {
	all := []Register{GP64()}
	MOVQ(base, all[0])
	for r := 7; r < rows; r += 7 {
		all = append(all, w.sevenOn(all[len(all)-1]))
	}
	return all
}

// sumLanes returns a vector whose lanes are the sums of the lanes of each of
// level, in order, with anything in the lanes beyond.
func (w *narrow) sumLanes(level []VecVirtual) VecVirtual {
	combine := func(low, high func(ops ...Op)) {
		var next []VecVirtual
		for i := 0; i < len(level); i += 2 {
			first, second := level[i], level[i]
			if i+1 < len(level) {
				second = level[i+1]
			}
			l, h := w.Vector(), w.Vector()
			low(second, first, l)
			high(second, first, h)
			VADDPS(h, l, l)
			next = append(next, l)
		}
		level = next
	}
	combine(VUNPCKLPS, VUNPCKHPS)
	combine(VUNPCKLPD, VUNPCKHPD)
	if w.Bytes == 32 {
		combine(
			func(ops ...Op) { VPERM2F128(Imm(0x20), ops[0], ops[1], ops[2]) },
			func(ops ...Op) { VPERM2F128(Imm(0x31), ops[0], ops[1], ops[2]) })
		return level[0]
	}
	for range 2 { // even and odd quarters
		combine(
			func(ops ...Op) { VSHUFF32X4(Imm(0x88), ops[0], ops[1], ops[2]) },
			func(ops ...Op) { VSHUFF32X4(Imm(0xdd), ops[0], ops[1], ops[2]) })
	}
	return level[0]
}

// epilogue finishes the sums in x, of the tile's outputs from the given first
// one on, stores them and moves c and act behind.
func (w *narrow) epilogue(x VecVirtual, label string, first, outputs int) {
	var mask Register
	if 4*outputs < w.Bytes {
		width := GP64()
		MOVQ(U32(uint32(outputs)), width)
		mask = w.FirstLanes(width, 1, constants)[0]
	}
	slope, zero, act := w.Vector(), w.Vector(), w.Vector()
	VBROADCASTSS(Argument("slope"), slope)
	VXORPS(zero, zero, zero)
	bias := Number("bias")
	VADDPS(Mem{Base: bias, Disp: 4 * first}, x, x)
	VMOVAPS(x, act)
	TESTQ(w.act, w.act)
	JZ(LabelRef(label + "_leaky"))
	w.LoadLanes(Mem{Base: w.act}, mask, act)
	ADDQ(Imm(uint64(4*outputs)), w.act)
	Label(label + "_leaky")
	w.Leaky(w.Positive(act, zero), x, slope)
	w.StoreLanes(x, mask, Mem{Base: w.c})
	ADDQ(Imm(uint64(4*outputs)), w.c)
}
