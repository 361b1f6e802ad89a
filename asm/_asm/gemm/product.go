package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// The three products are one loop nest over tiles of the result C, h rows by
// w vectors, held in registers while the sum over k runs:
//
//	for each group of w vectors of C's columns
//	    for each h rows of C
//	        c[h][w] = bias, or 0
//	        for k
//	            b[w] = B[k][columns]
//	            for each row: c[row] += A[row][k] · b
//	        C = epilogue(c)
//
//	product         C    A                    B                     epilogue
//	forward         y    x, rows apart        packed panels         leaky(c)
//	backwardInput   dx   dy, rows apart       packed panels         c · leaky'(act)
//	weights         dw   x, columns apart     dy                    C + c
//
// The elements of A are broadcast from memory: only A's strides differ. A
// group of columns is read from L1 by all tiles of rows. A sum runs over k in
// order whatever the tile, so that a row's bits do not depend on its place.
type product int

const (
	forward product = iota
	backwardInput
	weights
)

// A group is a number of adjacent panels of columns and the heights of the
// tiles that cover its rows: the first as often as it fits, then each of the
// others at most once.
type group struct {
	panels  int
	heights []int
	full    bool // only for full panels; otherwise the last may be partial
	last    bool // for the last columns: three panels spare a single one
	fewRows bool // for so few rows of dw that narrower tiles would wait for their sums
}

// A kernel is the state of one function's generation.
type kernel struct {
	isa
	product

	// Parameters: the result, the operands and the shape of the loop nest.
	c, a, b          string
	rows, k          string
	strideA, strideC string // the widths of A and C in elements

	// Locals: where the current group of columns starts.
	left, groupB, groupC, groupBias Mem

	// Registers that live through a group.
	tileA, tileC, rowsLeft Register // the current tile
	ldc                    Register // bytes between rows of C
	strides                         // between rows of A, or for weights between its k
	panelB                 Register // bytes between panels of B
	actOffset              Register // bytes from C to act

	tail []Register // masks the group's last panel

	group
	name string // prefix of the group's labels
}

func (k *kernel) function() {
	switch k.product {
	case forward:
		k.c, k.a, k.b = "y", "x", "packed"
		k.rows, k.k, k.strideA, k.strideC = "rows", "in", "in", "out"
		k.Kernel("denseForward", "func(y, x, packed, bias []float32, rows, in, out, columns int, slope float32)",
			"computes the first columns of y, as many as given, where y",
			"and the others begin at the same column. All numbers are positive.")
	case backwardInput:
		k.c, k.a, k.b = "dx", "dy", "packedT"
		k.rows, k.k, k.strideA, k.strideC = "rows", "out", "out", "in"
		k.Kernel("denseBackwardInput", "func(dx, dy, packedT, act []float32, rows, in, out, columns int, slope float32)",
			"computes the first columns of dx, as many as given,",
			"where dx, packedT and act, which is not nil, begin at the same column. All",
			"numbers are positive.")
	case weights:
		k.c, k.a, k.b = "dw", "x", "dy"
		k.rows, k.k, k.strideA, k.strideC = "count", "rows", "in", "out"
		k.Kernel("denseWeights", "func(dw, x, dy []float32, rows, in, out, count, columns int)",
			"adds to count rows and columns of dw, where x and dw",
			"begin at the same row, dy and dw at the same column:",
			"",
			"\tdw[i*out+o] += x[r*in+i] * dy[r*out+o] for r < rows, i < count, o < columns",
			"",
			"All numbers are positive.")
	}

	k.left, k.groupB, k.groupC = AllocLocal(8), AllocLocal(8), AllocLocal(8)
	k.copyToLocal(Param("columns"), k.left)
	k.copyToLocal(Param(k.b).Base(), k.groupB)
	k.copyToLocal(Param(k.c).Base(), k.groupC)
	if k.product == forward {
		k.groupBias = AllocLocal(8)
		k.copyToLocal(Param("bias").Base(), k.groupBias)
	}

	k.ldc, k.lda = Bytes(k.strideC), Bytes(k.strideA)
	if k.product != weights {
		k.multiply()
		k.panelB = Number(k.k)
		SHLQ(Imm(6), k.panelB)
	}
	if k.product == backwardInput {
		k.actOffset = Address("act")
		SUBQ(k.groupC, k.actOffset)
	}

	Label("columns")
	left := Copy(k.left)
	CMPQ(left, Imm(0))
	JLE(LabelRef("done"))
	for i, g := range k.groups {
		if g.fewRows && !g.last && k.product != weights {
			continue
		}
		k.group = g
		k.name = fmt.Sprintf("group%d", i)
		k.skipUnlessFits(left)
		if !k.full {
			width := AddressOf(Mem{Base: left, Disp: -panel * (k.panels - 1)})
			k.tail = k.isa.tail(width)
		}
		k.eachTile()
		k.nextGroup()
		Label(k.name + "_skip")
	}
	Label("done")
	Leave()
}

func (k *kernel) copyToLocal(src gotypes.Component, dst Mem) {
	r := GP64()
	Load(src, r)
	MOVQ(r, dst)
}

// skipUnlessFits jumps over the group's code unless it is the one to take
// when left columns are left.
func (k *kernel) skipUnlessFits(left Register) {
	skip := LabelRef(k.name + "_skip")
	if k.full {
		CMPQ(left, Imm(uint64(panel*k.panels)))
		JL(skip)
	} else if k.panels > 1 {
		CMPQ(left, Imm(uint64(panel*(k.panels-1))))
		JLE(skip)
	}
	if k.last {
		CMPQ(left, Imm(uint64(panel*k.panels)))
		JLE(LabelRef(k.name + "_take"))
	}
	if k.fewRows && k.product == weights {
		rows := Number(k.rows)
		CMPQ(rows, Imm(uint64(k.heights[0])))
		JG(skip)
	} else if k.last {
		JMP(skip)
	}
	Label(k.name + "_take")
}

// nextGroup moves the locals to the columns after the group.
func (k *kernel) nextGroup() {
	ADDQ(U32(uint32(k.panels*panelBytes)), k.groupC)
	if k.product == forward {
		ADDQ(U32(uint32(k.panels*panelBytes)), k.groupBias)
	}
	if k.product == weights {
		ADDQ(U32(uint32(k.panels*panelBytes)), k.groupB)
	} else {
		for range k.panels {
			ADDQ(k.panelB, k.groupB)
		}
	}
	SUBQ(Imm(uint64(k.panels*panel)), k.left)
	JMP(LabelRef("columns"))
}

// eachTile covers the group's rows with tiles.
func (k *kernel) eachTile() {
	k.tileA, k.tileC, k.rowsLeft = Address(k.a), Copy(k.groupC), Number(k.rows)
	for i, h := range k.heights {
		label := fmt.Sprintf("%s_rows%d", k.name, h)
		Label(label)
		CMPQ(k.rowsLeft, Imm(uint64(h)))
		JL(LabelRef(label + "_end"))
		k.tile(h, label)
		SUBQ(Imm(uint64(h)), k.rowsLeft)
		if i == 0 {
			JMP(LabelRef(label))
		}
		Label(label + "_end")
	}
}

// tile computes h rows of the group's columns, and moves tileA and tileC
// behind them.
func (k *kernel) tile(h int, label string) {
	Comment(fmt.Sprintf("%d rows by %d panels", h, k.panels))
	columns := k.panels * k.isa.vectors
	c := make([][]VecVirtual, h)
	for r := range c {
		c[r] = make([]VecVirtual, columns)
		for v := range c[r] {
			c[r][v] = k.Vector()
		}
	}
	k.prefetch(c)
	k.start(c)
	k.sum(c, label)
	finish := map[product]func(x VecVirtual, v int, slope, zero VecVirtual){
		forward: k.leaky, backwardInput: k.derivative, weights: k.add,
	}[k.product]
	var slope, zero VecVirtual
	if k.product != weights {
		slope, zero = k.Vector(), k.Zeros()
		VBROADCASTSS(Argument("slope"), slope)
	}
	for _, row := range c {
		for v, x := range row {
			finish(x, v, slope, zero)
			k.StoreLanes(x, k.mask(v), k.elementC(v))
		}
		ADDQ(k.ldc, k.tileC)
	}
}

// prefetch asks for what the tile's epilogue will read besides the sums, so
// that it arrives while they run.
func (k *kernel) prefetch(c [][]VecVirtual) {
	if k.product == forward {
		return
	}
	row := Copy(k.tileC)
	if k.product == backwardInput {
		ADDQ(k.actOffset, row)
	}
	for r := range c {
		if r > 0 {
			ADDQ(k.ldc, row)
		}
		for p := range k.panels {
			PREFETCHT0(Mem{Base: row, Disp: p * panelBytes})
		}
	}
}

// prefetchRows asks for the part of x and dy that the weights' sums take eight
// steps later. Widths are often powers of two, so that the rows of a tile
// compete for few sets of the first-level cache and most come from the second.
func (k *kernel) prefetchRows(a, b Register, h int) {
	const ahead = 8
	PREFETCHT0(Mem{Base: a, Index: k.lda, Scale: ahead})
	PREFETCHT0(Mem{Base: a, Index: k.lda, Scale: ahead, Disp: 4 * (h - 1)})
	for p := range k.panels {
		PREFETCHT0(Mem{Base: b, Index: k.ldc, Scale: ahead, Disp: p * panelBytes})
	}
}

// start sets the tile to the bias or to zero.
func (k *kernel) start(c [][]VecVirtual) {
	if k.product != forward {
		for _, row := range c {
			for _, v := range row {
				VXORPS(v, v, v)
			}
		}
		return
	}
	bias := Copy(k.groupBias)
	for v := range c[0] {
		k.LoadLanes(Mem{Base: bias, Disp: v * k.Bytes}, k.mask(v), c[0][v])
		for _, row := range c[1:] {
			VMOVAPS(c[0][v], row[v])
		}
	}
}

// sum adds the products over k.
func (k *kernel) sum(c [][]VecVirtual, label string) {
	h := len(c)
	b, a := GP64(), []Register{GP64()}
	MOVQ(k.groupB, b)
	MOVQ(k.tileA, a[0])
	count := GP64()
	if k.product == weights {
		// A's rows are adjacent, and k steps over rows of x and of dy.
		Load(Param(k.k), count)
		Label(label + "_k")
		if h == k.heights[0] && !k.fewRows {
			k.prefetchRows(a[0], b, h)
		}
		k.step(c, a, b, 0)
		ADDQ(k.ldc, b)
		ADDQ(k.lda, a[0])
		DECQ(count)
		JNZ(LabelRef(label + "_k"))
		ADDQ(Imm(uint64(4*h)), k.tileA)
		return
	}

	if h > 7 { // one base reaches rows 0 to 6
		a = append(a, k.sevenOn(k.tileA))
	}
	steps := func(n int) {
		for u := range n {
			k.step(c, a, b, u)
		}
		ADDQ(U32(uint32(n*panelBytes)), b)
		for _, r := range a {
			ADDQ(Imm(uint64(4*n)), r)
		}
	}
	Load(Param(k.k), count)
	if h == k.heights[0] { // the tile that does nearly all of the work
		const unroll = 4
		SUBQ(Imm(unroll), count)
		JL(LabelRef(label + "_rest"))
		Label(label + "_k")
		steps(unroll)
		SUBQ(Imm(unroll), count)
		JGE(LabelRef(label + "_k"))
		Label(label + "_rest")
		ADDQ(Imm(unroll), count)
		JZ(LabelRef(label + "_done"))
	}
	Label(label + "_single")
	steps(1)
	DECQ(count)
	JNZ(LabelRef(label + "_single"))
	Label(label + "_done")

	next := GP64()
	IMUL3Q(Imm(uint64(h)), k.lda, next)
	ADDQ(next, k.tileA)
}

// step adds the products of one k, which is u behind the pointers.
func (k *kernel) step(c [][]VecVirtual, a []Register, b Register, u int) {
	vectors := make([]VecVirtual, len(c[0]))
	for v := range vectors {
		vectors[v] = k.Vector()
		p, within := v/k.isa.vectors, v%k.isa.vectors
		m := Mem{Base: b, Disp: u*panelBytes + within*k.Bytes}
		switch {
		case k.product == weights:
			m.Disp += p * panelBytes
			k.LoadLanes(m, k.mask(v), vectors[v])
			continue
		case p > 0:
			m.Index, m.Scale = k.panelB, uint8(p)
		}
		VMOVUPS(m, vectors[v])
	}
	for r, row := range c {
		element := k.BroadcastFloat(k.elementA(a, r, u))
		for v := range row {
			VFMADD231PS(element, vectors[v], row[v])
		}
	}
}

// elementA addresses A[r][k+u].
func (k *kernel) elementA(a []Register, r, u int) Mem {
	if k.product == weights {
		return Mem{Base: a[0], Disp: 4 * r}
	}
	return k.row(a, r).Offset(4 * u)
}

// leaky makes x leaky(x).
func (k *kernel) leaky(x VecVirtual, _ int, slope, zero VecVirtual) {
	k.Leaky(k.Positive(x, zero), x, slope)
}

// derivative multiplies x by the derivative of leaky that belongs to the
// activations.
func (k *kernel) derivative(x VecVirtual, v int, slope, zero VecVirtual) {
	act := k.elementC(v)
	act.Index, act.Scale = k.actOffset, 1
	if k.Wide() {
		negative := K()
		if mask := k.mask(v); mask != nil {
			VCMPPS(Imm(NotLess), act, zero, mask, negative)
		} else {
			VCMPPS(Imm(NotLess), act, zero, negative)
		}
		k.Leaky(negative, x, slope)
		return
	}
	positive := k.Vector()
	if mask := k.mask(v); mask != nil {
		k.LoadLanes(act, mask, positive)
		VCMPPS(Imm(Less), positive, zero, positive)
	} else {
		VCMPPS(Imm(Less), act, zero, positive)
	}
	k.Leaky(positive, x, slope)
}

// add adds C to x.
func (k *kernel) add(x VecVirtual, v int, _, _ VecVirtual) {
	k.AddLanes(k.elementC(v), k.mask(v), x)
}

func (k *kernel) elementC(v int) Mem { return Mem{Base: k.tileC, Disp: v * k.Bytes} }

// mask returns what selects of vector v of a row the columns that there are, nil for all.
func (k *kernel) mask(v int) Register {
	if k.full || v/k.isa.vectors < k.panels-1 {
		return nil
	}
	return k.tail[v%k.isa.vectors]
}
