// Command piecewise generates the kernels of piecewise linear functions from
// numbers to vectors. All but the count of knots walk the columns of their
// matrices in groups of a few vectors, and finish with one masked vector after
// another.
package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// An isa is a vector register size.
type isa struct {
	*ISA
	group int // vectors that are worked on side by side
	rows  int // and rows, where each ends in a sum
}

var (
	avx512 = &isa{AVX512, 4, 4}
	avx2   = &isa{AVX2, 2, 1}
)

var constants *Pool

func main() {
	ConstraintExpr("amd64,!purego")
	constants = NewPool("piecewiseConstants")
	for _, w := range []*isa{avx512, avx2} {
		w.countKnots()
		w.prefixRows()
		w.piecewiseForward()
		w.piecewiseBackward()
		w.piecewiseGradient()
		w.piecewiseSum()
		w.piecewiseSumBackward()
	}
	Generate()
}

func broadcast(m Mem, v VecVirtual) VecVirtual {
	VBROADCASTSS(m, v)
	return v
}

// A group is n adjacent vectors, the last of which may be masked.
type group struct {
	*isa
	n    int
	mask Register // nil for whole vectors
}

// eachGroup emits body for groups of vectors as long as the number of elements
// in left lasts; the pointers advance behind each.
func (w *isa) eachGroup(left Register, pointers []Register, body func(c group)) {
	for _, n := range []int{w.group, 1} {
		label := fmt.Sprintf("group%d", n)
		c := group{isa: w, n: n}
		Label(label)
		if n > 1 {
			CMPQ(left, I32(n*w.Lanes()))
			JLT(LabelRef(label + "_end"))
		} else {
			CMPQ(left, Imm(0))
			JLE(LabelRef(label + "_end"))
			c.mask = w.FirstLanes(left, 1, constants)[0]
		}
		body(c)
		for _, p := range pointers {
			ADDQ(I32(n*w.Bytes), p)
		}
		SUBQ(I32(n*w.Lanes()), left)
		JMP(LabelRef(label))
		Label(label + "_end")
	}
}

// load returns vector v of the group at m, with zeros beyond the last.
func (c group) load(m Mem, v int) VecVirtual {
	m.Disp += v * c.Bytes
	r := c.Vector()
	c.LoadLanes(m, c.mask, r)
	return r
}

// store writes vector v of the group at m, and nothing beyond the last.
func (c group) store(r VecVirtual, m Mem, v int) {
	m.Disp += v * c.Bytes
	c.StoreLanes(r, c.mask, m)
}

// loads returns all vectors of the group at m.
func (c group) loads(m Mem) []VecVirtual {
	all := make([]VecVirtual, c.n)
	for v := range all {
		all[v] = c.load(m, v)
	}
	return all
}

// eachRows emits body for rows as long as the count lasts, several at a time so that their sums
// do not wait for each other; the pointers advance by a number for each.
func (c group) eachRows(count Register, pointers []Register, body func(rows int)) {
	for _, rows := range slices.Compact([]int{c.rows, 1}) {
		label := fmt.Sprintf("rows%d_%d", c.n, rows)
		Label(label)
		CMPQ(count, Imm(uint64(rows)))
		JLT(LabelRef(label + "_end"))
		body(rows)
		for _, p := range pointers {
			ADDQ(Imm(uint64(4*rows)), p)
		}
		SUBQ(Imm(uint64(rows)), count)
		JMP(LabelRef(label))
		Label(label + "_end")
	}
}

// addSums adds the sums of the lanes of vectors to adjacent numbers. Those of four vectors
// are added in the order of addSum.
func (w *isa) addSums(v []VecVirtual, m Mem) {
	if len(v) < 4 {
		for i, v := range v {
			w.addSum(v, m.Offset(4*i))
		}
		return
	}
	fold := func(low, high uint64, a, b VecVirtual) VecVirtual {
		sum, other := w.Vector(), w.Vector()
		VSHUFF64X2(Imm(low), b, a, sum)
		VSHUFF64X2(Imm(high), b, a, other)
		VADDPS(other, sum, sum)
		return sum
	}
	sum := fold(0x88, 0xdd, fold(0x44, 0xee, v[0], v[1]), fold(0x44, 0xee, v[2], v[3])) // a quarter of it each
	t := w.Vector()
	VPERMILPS(Imm(0b1110), sum, t)
	VADDPS(t, sum, sum)
	VMOVSHDUP(sum, t)
	VADDPS(t, sum, sum)
	firsts := w.Vector()
	VMOVUPS(constants.Vector32(0, 4, 8, 12), firsts.AsX())
	VPERMPS(sum, firsts, sum)
	VADDPS(m, sum.AsX(), sum.AsX())
	VMOVUPS(sum.AsX(), m)
}

// addSum adds the sum of the lanes of v to the number at m.
func (w *isa) addSum(v VecVirtual, m Mem) {
	half, high := v, XMM()
	if w == avx512 {
		half = YMM()
		VEXTRACTF64X4(Imm(1), v, half)
		VADDPS(half, v.AsY(), half)
		VEXTRACTF32X4(Imm(1), half, high) // unlike VEXTRACTF128, takes all registers
	} else {
		VEXTRACTF128(Imm(1), half, high)
	}
	VADDPS(high, half.AsX(), high)
	t := XMM()
	VPERMILPS(Imm(0b1110), high, t)
	VADDPS(t, high, high)
	VMOVSHDUP(high, t)
	VADDSS(t, high, high)
	VADDSS(m, high, high)
	VMOVSS(high, m)
}
