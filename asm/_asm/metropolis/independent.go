package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

const (
	planes        = 32
	minPlanes     = 8
	minQuadPlanes = 13
	planeBytes    = 24
	quad          = 4 // sites that are updated at a time where the row has as many left
	decisionParts = 4
)

// A generator is a part of the xoshiro256++ states.
type generator [4]VecVirtual

// load reads the states of the generators of a site's parts, and store writes them.
func (p *path) load(state Register) []generator {
	parts := make([]generator, p.parts())
	for i := range parts {
		for j := range parts[i] {
			parts[i][j] = p.Vector()
			p.Move(Mem{Base: state, Disp: siteBytes*j + p.Bytes*i}, parts[i][j])
		}
	}
	return parts
}

func (p *path) store(parts []generator, state Register) {
	for i := range parts {
		for j := range parts[i] {
			p.Move(parts[i][j], Mem{Base: state, Disp: siteBytes*j + p.Bytes*i})
		}
	}
}

// next returns the next output of a part.
func (p *path) next(s generator) VecVirtual {
	out, shifted, mixed := p.Vector(), p.Vector(), p.Vector()
	VPADDQ(s[0], s[3], out)
	p.rotate(23, out)
	VPADDQ(s[0], out, out)
	VPSLLQ(Imm(17), s[1], shifted)
	p.Xor(s[1], s[3], mixed)
	if p.Wide() {
		ternary(xor3, s[1], s[2], s[0])
		ternary(xor3, s[2], s[0], shifted)
	} else {
		VPXOR(s[0], s[2], s[2])
		VPXOR(s[2], s[1], s[1])
		VPXOR(shifted, s[2], s[2])
	}
	p.Xor(mixed, s[0], s[0])
	if p.Wide() {
		VPROLQ(Imm(45), mixed, s[3])
	} else {
		VPSLLQ(Imm(45), mixed, s[3])
		VPSRLQ(Imm(64-45), mixed, mixed)
		VPOR(mixed, s[3], s[3])
	}
	return out
}

func (p *path) rotate(n uint64, v VecVirtual) {
	if p.Wide() {
		VPROLQ(Imm(n), v, v)
		return
	}
	low := p.Vector()
	VPSRLQ(Imm(64-n), v, low)
	VPSLLQ(Imm(n), v, v)
	VPOR(low, v, v)
}

// A decision is what is known about one part of a site: in registers with
// AVX-512, in memory with AVX2.
type decision struct {
	accepted, open, one, two VecVirtual
	memory                   Mem // in the same order
}

// begin makes the decision number i of those in local memory, of which nothing is known but
// what is given.
func (p *path) begin(d *decision, local Mem, i int, given ...VecVirtual) {
	if p.Wide() {
		VPXORQ(d.accepted, d.accepted, d.accepted)
		VPTERNLOGQ(Imm(0xFF), d.open, d.open, d.open)
		return
	}
	known := append([]VecVirtual{d.accepted, d.open}, given...)
	d.memory = local.Offset(i * len(known) * p.Bytes)
	VPXOR(d.accepted, d.accepted, d.accepted)
	VPCMPEQD(d.open, d.open, d.open)
	for k, v := range known {
		VMOVDQU(v, d.memory.Offset(k*p.Bytes))
	}
}

// decide takes one bit of the thresholds and a random one into account, with AVX2, and uses both up.
func (p *path) decide(d *decision, threshold, random, below VecVirtual) {
	VPANDN(threshold, random, below)
	VPXOR(random, threshold, threshold)
	open := d.memory.Offset(p.Bytes)
	VPAND(open, below, below)
	VPANDN(open, threshold, threshold)
	VMOVDQU(threshold, open)
	VPOR(d.memory, below, below)
	VMOVDQU(below, d.memory)
}

// compare takes one plane of random bits into account.
func (p *path) compare(d *decision, random VecVirtual, plane Register) {
	threshold := p.Vector()
	if p.Wide() {
		// An undecided replica takes the bit of its threshold for its decision, which
		// stands if the random bit differs: then that is the lower of the two where
		// the threshold's bit is set.
		VMOVDQA64(d.one, threshold)
		other := p.broadcastAt(Mem{Base: plane, Disp: 8})
		broadcasting(func(one, differs, none bool) bool { return (one && differs) != none }, threshold, other, Mem{Base: plane})
		broadcasting(func(t, two, differs bool) bool { return t != (two && differs) }, threshold, d.two, Mem{Base: plane, Disp: 16})
		ternary(func(accepted, open, t bool) bool { return open && t || !open && accepted }, d.accepted, d.open, threshold)
		ternary(func(open, t, r bool) bool { return open && t == r }, d.open, threshold, random)
		return
	}
	below := p.Vector()
	VPBROADCASTQ(Mem{Base: plane, Disp: 8}, threshold)
	VPAND(d.memory.Offset(2*p.Bytes), threshold, threshold)
	VPBROADCASTQ(Mem{Base: plane, Disp: 16}, below)
	VPAND(d.memory.Offset(3*p.Bytes), below, below)
	VPXOR(below, threshold, threshold)
	VPBROADCASTQ(Mem{Base: plane}, below)
	VPXOR(below, threshold, threshold)
	p.decide(d, threshold, random, below)
}

// anyOpen jumps to the label if some replica is not decided.
func (p *path) anyOpen(all []*decision, label string) {
	sum := p.Vector()
	p.loadOpen(all[0], sum)
	for _, d := range all[1:] {
		p.Or(p.openOf(d), sum, sum)
	}
	p.jumpIfAny(sum, label)
}

// anyClash jumps to the label if some replica is not decided at two of four sites.
func (p *path) anyClash(all []*decision, label string) {
	clash := p.Vector()
	for part := range p.parts() {
		var both, any [2]VecVirtual
		for pair := range both {
			first, second := all[2*pair*p.parts()+part], all[(2*pair+1)*p.parts()+part]
			both[pair], any[pair] = p.Vector(), p.Vector()
			p.loadOpen(first, both[pair])
			p.loadOpen(first, any[pair])
			p.And(p.openOf(second), both[pair], both[pair])
			p.Or(p.openOf(second), any[pair], any[pair])
		}
		p.And(any[1], any[0], any[0])
		p.Or(any[0], both[0], both[0])
		if part == 0 {
			clash = both[0]
		} else {
			p.Or(both[0], clash, clash)
		}
		p.Or(both[1], clash, clash)
	}
	p.jumpIfAny(clash, label)
}

// sure takes minPlanes planes without asking whether replicas are decided, and returns how many
// are left.
func sure(label func(string) string, step func()) (count GPVirtual) {
	count = GP64()
	MOVQ(U32(minPlanes), count)
	Label(label("sure"))
	step()
	DECQ(count)
	JNE(LabelRef(label("sure")))
	MOVQ(U32(planes-minPlanes), count)
	return count
}

// others takes the other planes, as long as some replica is not decided, and jumps or
// comes to the label decided.
func (p *path) others(label func(string) string, step func(), count GPVirtual, all []*decision) {
	Label(label("test"))
	p.anyOpen(all, label("more"))
	JMP(LabelRef(label("decided")))
	Label(label("more"))
	step()
	DECQ(count)
	JNE(LabelRef(label("test")))
}

// openOf returns where the undecided replicas of a part are.
func (p *path) openOf(d *decision) Op {
	if p.Wide() {
		return d.open
	}
	return d.memory.Offset(p.Bytes)
}

func (p *path) loadOpen(d *decision, to VecVirtual) {
	if p.Wide() {
		VMOVDQA64(d.open, to)
	} else {
		VMOVDQU(d.memory.Offset(p.Bytes), to)
	}
}

// jumpIfAny jumps to the label if some bit is set.
func (p *path) jumpIfAny(v VecVirtual, label string) {
	if p.Wide() {
		k := K()
		VPTESTMQ(v, v, k)
		KORTESTB(k, k)
	} else {
		VPTEST(v, v)
	}
	JNE(LabelRef(label))
}

func (p *path) independent() {
	// Without AVX-512 the decisions of four sites outgrow a frame without a check.
	TEXT("metropolisIndependent"+p.Suffix, 0, "func(spins *uint64, state *[4][8]uint64, planes *[32][3]uint64, l, first, end, colour, step int, opposite uint64)")
	Doc("metropolisIndependent" + p.Suffix + " is independentGeneric.")
	Pragma("noescape")
	var w walk
	w.open()
	state := Number("state")
	opposite := p.Broadcast(Number("opposite"))
	parts := p.load(state)
	inverted := func() VecVirtual { return opposite }
	var local Mem
	if !p.Wide() {
		// The states fill half of the registers.
		local = AllocLocal(quad * p.parts() * decisionParts * p.Bytes)
		spare := AllocLocal(p.Bytes)
		VMOVDQU(opposite, spare)
		inverted = func() VecVirtual {
			v := p.Vector()
			VMOVDQU(spare, v)
			return v
		}
	}
	w.rows(func() {
		Label("site")
		step := Number("step")
		CMPQ(step, Imm(1))
		JEQ(LabelRef("single"))
		other := AddressOf(Mem{Base: w.col, Disp: 2 * siteBytes * (quad - 1)})
		CMPQ(other, w.rowBytes)
		JGE(LabelRef("single"))
		p.flip(&w, inverted, parts, local, quad)
		ADDQ(U32(2*siteBytes*quad), w.col)
		JMP(LabelRef("next"))
		Label("single")
		p.flip(&w, inverted, parts, local, 1)
		again := Number("step")
		SHLQ(Imm(6), again)
		ADDQ(again, w.col)
		Label("next")
		CMPQ(w.col, w.rowBytes)
		JLT(LabelRef("site"))
	})
	state = Number("state")
	p.store(parts, state)
	Leave()
}

// flip updates n sites of one colour, from column col.
func (p *path) flip(w *walk, opposite func() VecVirtual, parts []generator, local Mem, n int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
	var all []*decision
	for k := range n {
		site := 2 * siteBytes * k
		w.neighbours(site)
		for part := range p.parts() {
			d := &decision{accepted: p.Vector(), open: p.Vector()}
			_, d.two, d.one = p.bonds(w, opposite(), site, part)
			p.begin(d, local, len(all), d.one, d.two)
			all = append(all, d)
		}
	}
	plane := Number("planes")
	step := func() {
		for i, d := range all {
			p.compare(d, p.next(parts[i%len(parts)]), plane)
		}
		ADDQ(Imm(planeBytes), plane)
	}
	count := sure(label, step)
	if n == 1 {
		p.others(label, step, count, all)
	} else {
		Label(label("apart"))
		p.anyClash(all, label("more"))
		JMP(LabelRef(label("together")))
		Label(label("more"))
		step()
		DECQ(count)
		JNE(LabelRef(label("apart")))
		JMP(LabelRef(label("decided")))
		Comment("No replica is undecided at two sites, so one plane serves all.")
		Label(label("together"))
		for part := range parts {
			random := p.next(parts[part])
			for i := part; i < len(all); i += len(parts) {
				p.compare(all[i], random, plane)
			}
		}
		ADDQ(Imm(planeBytes), plane)
		DECQ(count)
		JEQ(LabelRef(label("decided")))
		CMPQ(count, Imm(planes-minQuadPlanes))
		JGT(LabelRef(label("together")))
		p.anyOpen(all, label("together"))
	}
	Label(label("decided"))
	for i, d := range all {
		here := AtOffset(w.row, w.col, 2*siteBytes*(i/p.parts())+i%p.parts()*p.Bytes)
		v := p.Vector()
		if p.Wide() {
			Comment("A draw that is equal to its threshold is not below it.")
			VMOVDQU64(here, v)
			ternary(func(v, accepted, open bool) bool { return v != (accepted && !open) }, v, d.accepted, d.open)
		} else {
			VMOVDQU(d.memory, v)
			VPXOR(here, v, v)
		}
		p.Move(v, here)
	}
}
