// Command metropolis generates the Metropolis sweeps over replicas in bits.
//
// A site's spins of all replicas are 64 bytes: one ZMM or two YMM registers,
// which are called its parts. With the spins x of a site (inverted where
// neighbours want opposite spins) and a, b, c, d of its neighbours, the number
// of unsatisfied bonds u is counted by a full adder of a, b and c and a half
// adder of its sum and d:
//
//	sum = a⊕b⊕c, carry = majority(a, b, c)
//	u ≥ 2  where  (carry⊕x) | (sum⊕x)&(d⊕x)
//	u = 1  where  sum⊕d, and not u ≥ 2
//
// Inverting x inverts sum and carry, so x need not be combined with each
// neighbour first.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// A path is an instruction set.
type path struct{ *ISA }

var paths = []*path{{AVX512}, {AVX2}}

const siteBytes = 64

func main() {
	ConstraintExpr("amd64,!purego")
	for _, p := range paths {
		p.shared()
		p.independent()
		p.heatBath()
	}
	paths[0].sharedRows()
	paths[0].sharedPairs()
	Generate()
}

// parts returns the number of registers of a site.
func (p *path) parts() int { return siteBytes / p.Bytes }

// broadcastAt fills a vector with copies of 64 bits in memory.
func (p *path) broadcastAt(m Mem) VecVirtual {
	v := p.Vector()
	VPBROADCASTQ(m, v)
	return v
}

// ternary sets a to any function of three bits, f(a, b, c).
func ternary(f func(a, b, c bool) bool, a VecVirtual, b VecVirtual, c Op) {
	VPTERNLOGQ(table(f), c, b, a)
}

// broadcasting is ternary for a word c in memory.
func broadcasting(f func(a, b, c bool) bool, a VecVirtual, b VecVirtual, c Mem) {
	VPTERNLOGQ_BCST(table(f), c, b, a)
}

func table(f func(a, b, c bool) bool) Constant {
	var bits uint64
	for i := range 8 {
		if f(i&4 != 0, i&2 != 0, i&1 != 0) {
			bits |= 1 << i
		}
	}
	return Imm(bits)
}

func xor3(a, b, c bool) bool     { return (a != b) != c }
func majority(a, b, c bool) bool { return a && b || c && (a || b) }

// A walk goes over the sites of one colour in a range of rows.
type walk struct {
	row, up, down    Register // first sites of the row and of its neighbours
	col, left, right Register // byte offsets in a row
	rowBytes, last   Register
	index, end, l    Register
}

// open loads the parameters that describe the walk.
func (w *walk) open() {
	w.row, w.l, w.index, w.end = Number("spins"), Number("l"), Number("first"), Number("end")
	w.rowBytes, w.last = GP64(), GP64()
	MOVQ(w.l, w.rowBytes)
	SHLQ(Imm(6), w.rowBytes)
	LEAQ(Mem{Base: w.rowBytes, Disp: -siteBytes}, w.last)
	offset := Copy(w.index)
	IMULQ(w.rowBytes, offset)
	ADDQ(offset, w.row)
	w.up, w.down, w.col, w.left, w.right = GP64(), GP64(), GP64(), GP64(), GP64()
}

// rows emits the loop over rows. Sites emits the loop over the sites of a row,
// with col the first of them; it ends when col reaches rowBytes.
func (w *walk) rows(sites func()) {
	Label("row")
	lattice := Copy(w.l)
	IMULQ(w.rowBytes, lattice)
	Comment("The rows above and below, around the torus.")
	other := GP64()
	MOVQ(w.row, w.up)
	SUBQ(w.rowBytes, w.up)
	LEAQ(Mem{Base: w.up, Index: lattice, Scale: 1}, other)
	TESTQ(w.index, w.index)
	CMOVQEQ(other, w.up)
	LEAQ(Mem{Base: w.row, Index: w.rowBytes, Scale: 1}, w.down)
	MOVQ(w.down, other)
	SUBQ(lattice, other)
	next := AddressOf(Mem{Base: w.index, Disp: 1})
	CMPQ(next, w.l)
	CMOVQEQ(other, w.down)

	Comment("The first column: (row + colour) mod step.")
	step, colour := Number("step"), Number("colour")
	ADDQ(w.index, colour)
	DECQ(step)
	ANDQ(colour, step)
	SHLQ(Imm(6), step)
	MOVQ(step, w.col)
	sites()
	ADDQ(w.rowBytes, w.row)
	INCQ(w.index)
	CMPQ(w.index, w.end)
	JLT(LabelRef("row"))
}

// neighbours sets left and right of the site that is displaced from col.
func (w *walk) neighbours(displacement int) {
	zero := GP64()
	LEAQ(Mem{Base: w.col, Disp: displacement - siteBytes}, w.left)
	if displacement == 0 {
		TESTQ(w.col, w.col)
		CMOVQEQ(w.last, w.left)
	}
	LEAQ(Mem{Base: w.col, Disp: displacement + siteBytes}, w.right)
	XORQ(zero, zero)
	CMPQ(w.right, w.rowBytes)
	CMOVQEQ(zero, w.right)
}

// bonds counts the unsatisfied bonds of one part of a site. It returns the
// site's spins and the masks of u ≥ 2 and of u = 1.
func (p *path) bonds(w *walk, opposite VecVirtual, site, part int) (here, two, one VecVirtual) {
	d := part * p.Bytes
	here, x := p.Vector(), p.Vector()
	p.Move(AtOffset(w.row, w.col, site+d), here)
	p.Xor(opposite, here, x)
	sum, b, c, right := p.Vector(), p.Vector(), p.Vector(), p.Vector()
	p.Move(AtOffset(w.up, w.col, site+d), sum)
	p.Move(AtOffset(w.down, w.col, site+d), b)
	p.Move(AtOffset(w.row, w.left, d), c)
	p.Move(AtOffset(w.row, w.right, d), right)
	two = p.Vector()
	if p.Wide() {
		VMOVDQA64(sum, two)
		ternary(majority, two, b, c)
		ternary(xor3, sum, b, c)
		both := b
		VMOVDQA64(x, both)
		ternary(func(x, s, d bool) bool { return s != x && d != x }, both, sum, right)
		ternary(func(m, x, g bool) bool { return m != x || g }, two, x, both)
		ternary(func(s, two, d bool) bool { return s != d && !two }, sum, two, right)
		return here, two, sum
	}
	VPXOR(b, sum, two) // a⊕b
	VPAND(b, sum, b)   // a&b
	VPXOR(c, two, sum)
	VPAND(c, two, c)
	VPOR(c, b, two) // majority
	VPXOR(x, sum, c)
	VPXOR(x, right, b)
	VPAND(b, c, b)
	VPXOR(x, two, two)
	VPOR(b, two, two)
	VPXOR(right, sum, sum)
	VPANDN(sum, two, sum)
	return here, two, sum
}

// shared emits the sweep with one draw per site for all replicas. Draws are
// compared with the thresholds as many at a time as a vector has lanes of 64
// bits, and wait in memory as words of zeros or of ones.
func (p *path) shared() {
	p.Kernel("metropolisShared", "func(spins *uint64, draws *uint32, l, first, end, colour, step int, ifTwo, ifOne, ifNone, opposite uint64)",
		"is sharedGeneric. It reads up to seven draws more than there are sites,",
		"in vain.")
	var w walk
	w.open()
	draws := Number("draws")
	var thresholds [3]VecVirtual
	for i, name := range []string{"ifTwo", "ifOne", "ifNone"} {
		thresholds[i] = p.Broadcast(Number(name))
	}
	opposite := p.Broadcast(Number("opposite"))
	accepted := AllocLocal(len(thresholds) * p.Bytes)
	lane := GP64()
	MOVQ(U32(p.Bytes), lane)
	accept := func(i int) Mem {
		return Mem{Base: accepted.Base, Disp: accepted.Disp + i*p.Bytes, Index: lane, Scale: 1}
	}
	w.rows(func() {
		Label("site")
		CMPQ(lane, U32(p.Bytes))
		JNE(LabelRef("drawn"))
		draw := p.Vector()
		VPMOVZXDQ(Mem{Base: draws}, draw)
		ADDQ(Imm(uint64(p.Bytes/2)), draws)
		XORQ(lane, lane)
		for i, threshold := range thresholds {
			below := p.Vector()
			if p.Wide() {
				k := K()
				VPCMPUQ(Imm(1), threshold, draw, k)
				VPMOVM2Q(k, below)
			} else {
				VPCMPGTQ(draw, threshold, below)
			}
			p.Move(below, accepted.Offset(i*p.Bytes))
		}
		Label("drawn")
		w.neighbours(0)
		Comment("Sites of the row after the next, of which neither colour has been near.")
		ahead := AddressOf(Mem{Base: w.down, Index: w.rowBytes, Scale: 1})
		PREFETCHT1(AtOffset(ahead, w.col, 0))
		PREFETCHT1(AtOffset(ahead, w.col, siteBytes))
		for part := range p.parts() {
			here, two, one := p.bonds(&w, opposite, 0, part)
			if p.Wide() {
				VPANDQ_BCST(accept(0), two, two)
				broadcasting(func(one, two, accept bool) bool { return one && accept || two }, one, two, accept(1))
				broadcasting(func(v, one, none bool) bool { return v != (one || none) }, here, one, accept(2))
			} else {
				for i, v := range []VecVirtual{two, one} {
					mask := p.Vector()
					VPBROADCASTQ(accept(i), mask)
					VPAND(mask, v, v)
				}
				none := p.Vector()
				VPBROADCASTQ(accept(2), none)
				VPOR(one, two, two)
				VPOR(none, two, two)
				VPXOR(two, here, here)
			}
			p.Move(here, AtOffset(w.row, w.col, part*p.Bytes))
		}
		ADDQ(Imm(8), lane)
		step := Number("step")
		SHLQ(Imm(6), step)
		ADDQ(step, w.col)
		CMPQ(w.col, w.rowBytes)
		JLT(LabelRef("site"))
	})
	Leave()
}
