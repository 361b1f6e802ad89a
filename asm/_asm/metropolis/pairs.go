package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// sharedPairs emits the sweep with one draw for all replicas on even lattices, two
// rows at a time. In one of the rows, called even, the sites of the colour have
// even columns, in the other odd ones:
//
//	outer    .   u   .   .
//	even     e   A   f   .
//	odd      .   o   B   p
//	outer    .   .   d   .
//
// A's neighbours are u and o, e and f, B's d and f, o and p: two are common to both,
// and f and p are the e and o of the next two sites, so that two sites load six
// vectors. See sharedRows for the logic. A draw accepts no flip, flips with u ≥ 2,
// with u ≥ 1, or all: where the bits "usual" and "one" are (0, 0), (1, 0), (1, 1) and
// (0, 1), a spin is flipped where usual ? both₁ | both₂ | majority(any₁, any₂, one) : one.
func (p *path) sharedPairs() {
	p.Kernel("metropolisPairs", "func(spins *uint64, draws *uint32, l, first, end, colour, ahead int, ifTwo, ifOne, ifNone uint32)",
		"is sharedGeneric for even l and an even number of rows that do not wrap, where neighbours",
		"want equal spins.",
		"It reads up to fifteen draws more than there are sites, in vain, and fetches",
		"the two rows that come ahead bytes after these unless that is 0.")
	const bytes = 4 * drawLanes
	accepted := AllocLocal(4 * bytes) // usual and one of the even row, then of the odd one
	index := AllocLocal(8)
	thresholds := thresholdsOfDraws()
	first := Number("first")
	MOVQ(first, index)

	Label("rows")
	// The even row, its outer neighbour, the odd row, its outer neighbour.
	even, evenOuter, odd, oddOuter := GP64(), GP64(), GP64(), GP64()
	evenDraws, oddDraws, sites := GP64(), GP64(), GP64()
	{
		i, spins, rowBytes := around(index, sites, evenOuter, oddOuter, 2)
		MOVQ(i, even)
		LEAQ(Mem{Base: i, Disp: 1}, odd)
		for _, at := range []reg.Register{even, evenOuter, odd, oddOuter} {
			IMULQ(rowBytes, at)
			ADDQ(spins, at)
		}
		Load(Param("draws"), evenDraws)
		SHRQ(Imm(1), sites)
		LEAQ(Mem{Base: evenDraws, Index: sites, Scale: 4}, oddDraws)
		Comment("The upper row is the odd one if its number and the colour are.")
		colour := Number("colour")
		ADDQ(colour, i)
		TESTQ(U32(1), i)
		for _, pair := range [][2]reg.Register{{even, odd}, {evenOuter, oddOuter}, {evenDraws, oddDraws}} {
			spare := Copy(pair[0])
			CMOVQNE(pair[1], pair[0])
			CMOVQNE(spare, pair[1])
		}
	}
	Comment("The left edge's neighbours: the last site of the even row and the first of the odd one.")
	left, below := ZMM(), ZMM()
	last, start := GP64(), GP64()
	MOVQ(sites, last)
	SHLQ(Imm(7), last)
	VMOVDQU64(Mem{Base: even, Index: last, Scale: 1, Disp: -siteBytes}, left)
	MOVQ(odd, start)
	VMOVDQU64(Mem{Base: odd}, below)
	ahead := Number("ahead")

	Label("draws")
	for i, draws := range []reg.Register{evenDraws, oddDraws} {
		draw, mask := ZMM(), ZMM()
		VMOVDQU32(Mem{Base: draws}, draw)
		ADDQ(Imm(bytes), draws)
		usual, one := K(), K()
		VPCMPUD(Imm(1), thresholds[0], draw, usual)
		VPCMPUD(Imm(5), thresholds[2], draw, usual, usual)
		VPMOVM2D(usual, mask)
		VMOVDQU32(mask, accepted.Offset(2*i*bytes))
		VPCMPUD(Imm(1), thresholds[1], draw, one)
		VPMOVM2D(one, mask)
		VMOVDQU32(mask, accepted.Offset((2*i+1)*bytes))
	}
	n, lane := drawn(sites)
	// site updates a site, whose neighbours are a, b, c and d, and leaves nothing in a
	// and c.
	site := func(at Mem, a, b, c, d reg.VecVirtual, row, k int) {
		accept := func(i int) Mem {
			return Mem{Base: accepted.Base, Disp: accepted.Disp + (2*row+i)*bytes + 4*k, Index: lane, Scale: 4}
		}
		// With sum and carry of a, b and c, two or more bonds are unsatisfied, or one and the
		// draw accepts it, where carry⊕here | majority(sum⊕here, d⊕here, one). Majority of
		// inverted bits is inverted majority: with w = here⊕one, which is also what a draw
		// that accepts none or all leaves, the latter is majority(sum, d, w) ⊕ here.
		here, sum, w := ZMM(), ZMM(), ZMM()
		VMOVDQU64(at, here)
		VPXORD_BCST(accept(1), here, w)
		VMOVDQA64(a, sum)
		ternary(xor3, sum, b, c)
		ternary(majority, a, b, c)
		ternary(func(sum, d, w bool) bool { return majority(sum, d, w) }, sum, d, w)
		ternary(func(carry, here, rest bool) bool { return here != (carry != here || rest != here) }, a, here, sum)
		ternaryD(func(flipped, w, usual bool) bool { return usual && flipped || !usual && w }, a, w, accept(0))
		VMOVDQU64(a, at)
	}
	// update updates two sites and returns what the next two have to the left and below.
	update := func(k int, left, below reg.VecVirtual, next Mem) (right, beyond reg.VecVirtual) {
		at := func(base reg.Register, column int) Mem {
			return Mem{Base: base, Disp: siteBytes * (2*k + column)}
		}
		up, down := ZMM(), ZMM()
		right, beyond = ZMM(), ZMM()
		VMOVDQU64(at(evenOuter, 0), up)
		VMOVDQU64(at(even, 1), right)
		site(at(even, 0), up, below, left, right, 0, k)
		VMOVDQU64(at(oddOuter, 1), down)
		VMOVDQU64(next, beyond)
		site(at(odd, 1), down, right, below, beyond, 1, k)
		return right, beyond
	}
	Comment("The last site of the odd row has the first for its right neighbour.")
	wraps := GP64()
	XORQ(wraps, wraps)
	TESTQ(sites, sites)
	CMOVQEQ(n, wraps)
	const unroll = 4
	// several updates n pairs of sites, up to lane after.
	several := func(n int, after reg.Register) {
		beyond := AddressOf(Mem{Base: odd, Disp: 2 * siteBytes * n})
		CMPQ(after, wraps)
		CMOVQEQ(start, beyond)
		nextLeft, nextBelow := left, below
		for k := range n {
			next := Mem{Base: odd, Disp: siteBytes * (2*k + 2)}
			if k == n-1 {
				next = Mem{Base: beyond}
			}
			nextLeft, nextBelow = update(k, nextLeft, nextBelow, next)
		}
		VMOVDQA64(nextLeft, left)
		VMOVDQA64(nextBelow, below)
		for _, at := range []reg.Register{even, evenOuter, odd, oddOuter} {
			ADDQ(U32(uint32(2*siteBytes*n)), at)
		}
		MOVQ(after, lane)
	}
	Label("several")
	after := AddressOf(Mem{Base: lane, Disp: unroll})
	CMPQ(after, n)
	JGT(LabelRef("ones"))
	TESTQ(ahead, ahead)
	JEQ(LabelRef("near"))
	for _, row := range []reg.Register{even, odd} {
		for k := range 2 * unroll {
			PREFETCHT1(Mem{Base: row, Index: ahead, Scale: 1, Disp: k * siteBytes})
		}
	}
	Label("near")
	several(unroll, after)
	JMP(LabelRef("several"))
	Label("ones")
	CMPQ(lane, n)
	JGE(LabelRef("drawn"))
	next := AddressOf(Mem{Base: lane, Disp: 1})
	several(1, next)
	JMP(LabelRef("ones"))
	Label("drawn")
	TESTQ(sites, sites)
	JNE(LabelRef("draws"))
	Comment("The draws of two rows are as many as a row has sites.")
	i, l, draws := GP64(), Number("l"), Number("draws")
	LEAQ(Mem{Base: draws, Index: l, Scale: 4}, draws)
	Store(draws, Param("draws"))
	MOVQ(index, i)
	ADDQ(Imm(2), i)
	MOVQ(i, index)
	end := Number("end")
	CMPQ(i, end)
	JLT(LabelRef("rows"))
	Leave()
}
