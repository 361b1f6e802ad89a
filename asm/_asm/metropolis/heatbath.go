package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// latticePlane is the size of one bit of the five thresholds.
const latticePlane = 40

// A redraw is a decision by the number of neighbours that are up: ones, twos, the
// product of both, fours. With AVX2 they follow the decision in memory.
type redraw struct {
	decision
	bits [4]VecVirtual
}

// heatBath emits the kernel that redraws independent sites, two at a time. Bit k
// of the threshold of a site is a polynomial over the bits of the number of its
// neighbours that are up, with coefficients that are zeros or ones throughout.
func (p *path) heatBath() {
	p.Kernel("latticeHeatBath", "func(spins *uint64, sites *[5]uint32, n int, state *[4][8]uint64, planes *[32][5]uint64)",
		"is redrawGeneric.")
	spins, sites, n, state := Number("spins"), Number("sites"), Number("n"), Number("state")
	planes := Number("planes")
	parts := p.load(state)
	var local Mem
	if !p.Wide() {
		local = AllocLocal(2 * p.parts() * 6 * p.Bytes)
	}
	Label("sites")
	CMPQ(n, Imm(2))
	JLT(LabelRef("single"))
	p.redraw(spins, sites, planes, parts, local, 2)
	ADDQ(Imm(2*20), sites)
	SUBQ(Imm(2), n)
	JNE(LabelRef("sites"))
	JMP(LabelRef("done"))
	Label("single")
	p.redraw(spins, sites, planes, parts, local, 1)
	Label("done")
	p.store(parts, state)
	Leave()
}

// redraw redraws the next n sites.
func (p *path) redraw(spins, sites, planes Register, parts []generator, local Mem, n int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
	var all []*redraw
	for k := range n {
		neighbours := make([]Register, 4)
		for i := range neighbours {
			neighbours[i] = GP64()
			MOVL(Mem{Base: sites, Disp: 20*k + 4*(i+1)}, neighbours[i].(GPVirtual).As32())
			SHLQ(Imm(6), neighbours[i])
		}
		for part := range p.parts() {
			d := &redraw{decision: decision{accepted: p.Vector(), open: p.Vector()}}
			d.bits = p.countUp(spins, neighbours, part*p.Bytes)
			p.begin(&d.decision, local, len(all), d.bits[:]...)
			all = append(all, d)
		}
	}
	decisions := make([]*decision, len(all))
	for i, d := range all {
		decisions[i] = &d.decision
	}
	plane := Copy(planes)
	step := func() {
		for i, d := range all {
			p.below(d, p.next(parts[i%len(parts)]), plane)
		}
		ADDQ(Imm(latticePlane), plane)
	}
	count := sure(label, step)
	p.others(label, step, count, decisions)
	Label(label("decided"))
	for k := range n {
		here := GP64()
		MOVL(Mem{Base: sites, Disp: 20 * k}, here.As32())
		SHLQ(Imm(6), here)
		for part := range p.parts() {
			d := all[k*p.parts()+part]
			v := d.accepted
			if !p.Wide() {
				v = p.Vector()
				VMOVDQU(d.memory, v)
			}
			p.Move(v, AtOffset(spins, here, part*p.Bytes))
		}
	}
}

// countUp returns the bits of the number of neighbours that are up.
func (p *path) countUp(spins Register, neighbours []Register, part int) (bits [4]VecVirtual) {
	a, b, c, d := p.Vector(), p.Vector(), p.Vector(), p.Vector()
	for i, v := range []VecVirtual{a, b, c, d} {
		p.Move(AtOffset(spins, neighbours[i], part), v)
	}
	for i := range bits {
		bits[i] = p.Vector()
	}
	ones, twos, threes, fours := bits[0], bits[1], bits[2], bits[3]
	if p.Wide() {
		sum, carry := p.Vector(), p.Vector()
		VMOVDQA64(a, sum)
		ternary(xor3, sum, b, c)
		VMOVDQA64(a, carry)
		ternary(majority, carry, b, c)
		VPXORQ(sum, d, ones)
		VPANDQ(sum, d, d)
		VPXORQ(carry, d, twos)
		VPANDQ(carry, d, fours)
		VPANDQ(ones, twos, threes)
		return bits
	}
	both := p.Vector()
	VPXOR(a, b, ones)
	VPAND(a, b, both)
	VPAND(c, ones, a)
	VPXOR(c, ones, ones) // the sum of three
	VPOR(a, both, both)  // its carry
	VPAND(ones, d, a)
	VPXOR(ones, d, ones)
	VPXOR(both, a, twos)
	VPAND(both, a, fours)
	VPAND(ones, twos, threes)
	return bits
}

// below takes one plane of random bits into account.
func (p *path) below(d *redraw, random VecVirtual, plane Register) {
	threshold := p.Vector()
	if p.Wide() {
		VPBROADCASTQ(Mem{Base: plane}, threshold)
		for i, bit := range d.bits {
			broadcasting(func(t, bit, k bool) bool { return t != (bit && k) }, threshold, bit, Mem{Base: plane, Disp: 8 * (i + 1)})
		}
		newly := p.Vector()
		VPANDNQ(threshold, random, newly)
		ternary(func(accepted, open, below bool) bool { return accepted || open && below }, d.accepted, d.open, newly)
		ternary(func(open, t, r bool) bool { return open && t == r }, d.open, threshold, random)
		return
	}
	term := p.Vector()
	VPBROADCASTQ(Mem{Base: plane}, threshold)
	for i := range d.bits {
		VPBROADCASTQ(Mem{Base: plane, Disp: 8 * (i + 1)}, term)
		VPAND(d.memory.Offset((2+i)*p.Bytes), term, term)
		VPXOR(term, threshold, threshold)
	}
	p.decide(&d.decision, threshold, random, term)
}
