package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// drawLanes is the number of draws that are compared with the thresholds at a
// time.
const drawLanes = 16

// sharedRows emits the sweep with one draw for all replicas on even lattices. With
// the pairs of neighbours above and below, left and right, and whether both or any
// bond of a pair is unsatisfied,
//
//	u ≥ 2  where  both₁ | both₂ | any₁&any₂
//	u ≥ 1  where  any₁ | any₂
//
// so that a spin is flipped, with the words that tell which u the draw accepts,
// where ifTwo & (ifNone | both₁ | both₂ | majority(any₁, any₂, ifOne)): eight
// ternary operations. The right neighbour of a site is the left of the next.
func (p *path) sharedRows() {
	p.Kernel("metropolisRows", "func(spins *uint64, draws *uint32, l, first, end, colour, ahead int, ifTwo, ifOne, ifNone uint32)",
		"is sharedGeneric for even l, where neighbours want equal spins. It reads up to",
		"fifteen draws more than there are sites, in vain, and fetches what is ahead bytes",
		"after the row below unless that is 0.")
	accepted := AllocLocal(3 * 4 * drawLanes)
	index, edgeAt := AllocLocal(8), AllocLocal(8)
	draws := Number("draws")
	thresholds := thresholdsOfDraws()
	first := Number("first")
	MOVQ(first, index)

	Label("row")
	row, up, down, sites := GP64(), GP64(), GP64(), GP64()
	{
		i, spins, rowBytes := around(index, sites, up, down, 1)
		MOVQ(i, row)
		for _, at := range []reg.Register{row, up, down} {
			IMULQ(rowBytes, at)
			ADDQ(spins, at)
		}
		Comment("Even columns begin at the left edge and end beside the right one, whose site is the",
			"first one's left and the last one's right neighbour; odd ones have that of the left",
			"edge for both.")
		edge, left := GP64(), GP64()
		LEAQ(Mem{Base: row, Index: rowBytes, Scale: 1, Disp: -siteBytes}, edge)
		MOVQ(row, left)
		colour := Number("colour")
		ADDQ(colour, i)
		ANDQ(Imm(1), i)
		CMOVQNE(left, edge)
		MOVQ(edge, edgeAt)
		SHLQ(Imm(6), i)
		for _, at := range []reg.Register{row, up, down} {
			ADDQ(i, at)
		}
		SHRQ(Imm(1), sites)
	}
	left := ZMM()
	edge := Copy(edgeAt)
	VMOVDQU64(Mem{Base: edge}, left)
	ahead := Number("ahead")

	Label("draws")
	draw := ZMM()
	VMOVDQU32(Mem{Base: draws}, draw)
	ADDQ(Imm(4*drawLanes), draws)
	for i, threshold := range thresholds {
		k, below := K(), ZMM()
		VPCMPUD(Imm(1), threshold, draw, k)
		VPMOVM2D(k, below)
		VMOVDQU32(below, accepted.Offset(i*4*drawLanes))
	}
	n, lane := drawn(sites)
	update := func(k int, right Mem) {
		accept := func(i int) Mem {
			return Mem{Base: accepted.Base, Disp: accepted.Disp + i*4*drawLanes + 4*k, Index: lane, Scale: 4}
		}
		site := func(base reg.Register) Mem { return Mem{Base: base, Disp: 2 * siteBytes * k} }
		here, below, both, any := ZMM(), ZMM(), ZMM(), ZMM()
		VMOVDQU64(site(row), here)
		VMOVDQU64(site(up), both)
		VMOVDQA64(both, any)
		VMOVDQU64(site(down), below)
		ternary(func(x, s, y bool) bool { return s != x && s != y }, both, here, below)
		ternary(func(x, s, y bool) bool { return s != x || s != y }, any, here, below)
		next, both2 := ZMM(), ZMM()
		VMOVDQU64(right, next)
		VMOVDQA64(left, both2)
		ternary(func(x, s, y bool) bool { return s != x && s != y }, both2, here, next)
		ternary(func(x, s, y bool) bool { return s != x || s != y }, left, here, next)
		ternaryD(func(x, y, one bool) bool { return majority(x, y, one) }, any, left, accept(1))
		ternary(func(x, y, z bool) bool { return x || y || z }, any, both, both2)
		ifTwo := ZMM()
		VPBROADCASTD(accept(0), ifTwo)
		ternaryD(func(flip, two, none bool) bool { return (flip || none) && two }, any, ifTwo, accept(2))
		VPXORQ(here, any, here)
		VMOVDQU64(here, site(row))
		VMOVDQA64(next, left)
	}
	Comment("All but the last site of the row have their right neighbour beside them.")
	inner := Copy(n)
	last := GP64()
	XORQ(last, last)
	TESTQ(sites, sites)
	SETEQ(last.As8())
	SUBQ(last, inner)
	JEQ(LabelRef("edge"))
	advance := func(n int) {
		for _, at := range []reg.Register{row, up, down} {
			ADDQ(U32(uint32(2*siteBytes*n)), at)
		}
		ADDQ(Imm(uint64(n)), lane)
	}
	right := func(k int) Mem { return Mem{Base: row, Disp: siteBytes * (2*k + 1)} }
	Label("fours")
	after := AddressOf(Mem{Base: lane, Disp: 4})
	CMPQ(after, inner)
	JGT(LabelRef("ones"))
	TESTQ(ahead, ahead)
	JEQ(LabelRef("near"))
	for k := range 8 {
		PREFETCHT1(Mem{Base: down, Index: ahead, Scale: 1, Disp: k * siteBytes})
	}
	Label("near")
	for k := range 4 {
		update(k, right(k))
	}
	advance(4)
	JMP(LabelRef("fours"))
	Label("ones")
	CMPQ(lane, inner)
	JGE(LabelRef("edge"))
	update(0, right(0))
	advance(1)
	JMP(LabelRef("ones"))
	Label("edge")
	TESTQ(last, last)
	JEQ(LabelRef("draws"))
	rightAt := Copy(edgeAt)
	update(0, Mem{Base: rightAt})
	next := Copy(index)
	INCQ(next)
	MOVQ(next, index)
	end := Number("end")
	Comment("Draws of the row that were read ahead.")
	extra := Number("l")
	SHRQ(Imm(1), extra)
	NEGQ(extra)
	ANDQ(Imm(drawLanes-1), extra)
	SHLQ(Imm(2), extra)
	SUBQ(extra, draws)
	CMPQ(next, end)
	JLT(LabelRef("row"))
	Leave()
}

// thresholdsOfDraws returns the parameters ifTwo, ifOne and ifNone in all lanes.
func thresholdsOfDraws() (thresholds [3]reg.VecVirtual) {
	for i, name := range []string{"ifTwo", "ifOne", "ifNone"} {
		x := Load(Param(name), GP32())
		v := ZMM()
		VPBROADCASTD(x, v)
		thresholds[i] = v
	}
	return thresholds
}

// around sets sites to l, and above and below to the numbers of the rows before row i,
// which index holds, and after i+rows−1.
func around(index Mem, sites, above, below reg.Register, rows int) (i, spins, rowBytes reg.GPVirtual) {
	i, spins, rowBytes = GP64(), Number("spins"), GP64()
	Load(Param("l"), sites)
	MOVQ(index, i)
	MOVQ(sites, rowBytes)
	SHLQ(Imm(6), rowBytes)
	Comment("The rows above and below, around the torus.")
	other, zero := GP64(), GP64()
	LEAQ(Mem{Base: i, Disp: -1}, above)
	LEAQ(Mem{Base: sites, Disp: -1}, other)
	TESTQ(i, i)
	CMOVQEQ(other, above)
	LEAQ(Mem{Base: i, Disp: rows}, below)
	XORQ(zero, zero)
	CMPQ(below, sites)
	CMOVQEQ(zero, below)
	return i, spins, rowBytes
}

// drawn returns how many of the sites have draws that were compared, which it takes from
// sites, and the lane of the first.
func drawn(sites reg.Register) (n, lane reg.GPVirtual) {
	n = GP64()
	MOVQ(U32(drawLanes), n)
	CMPQ(sites, n)
	CMOVQLT(sites, n)
	SUBQ(n, sites)
	lane = GP64()
	XORQ(lane, lane)
	return n, lane
}

// ternaryD is ternary for a number of 32 bits in memory, in all lanes.
func ternaryD(f func(a, b, c bool) bool, a, b reg.VecVirtual, c Mem) {
	VPTERNLOGD_BCST(table(f), c, b, a)
}
