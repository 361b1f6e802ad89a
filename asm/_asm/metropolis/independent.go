package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	planes     = 32
	surePlanes = 8
	planeBytes = 24
)

// A generator is a part of the xoshiro256++ states.
type generator [4]VecVirtual

// next returns the next output of a part.
func (p *path) next(s generator) VecVirtual {
	out, shifted, mixed := p.vector(), p.vector(), p.vector()
	VPADDQ(s[0], s[3], out)
	p.rotate(23, out)
	VPADDQ(s[0], out, out)
	VPSLLQ(Imm(17), s[1], shifted)
	p.xor(s[1], s[3], mixed)
	if p.wide {
		ternary(xor3, s[1], s[2], s[0])
		ternary(xor3, s[2], s[0], shifted)
	} else {
		VPXOR(s[0], s[2], s[2])
		VPXOR(s[2], s[1], s[1])
		VPXOR(shifted, s[2], s[2])
	}
	p.xor(mixed, s[0], s[0])
	if p.wide {
		VPROLQ(Imm(45), mixed, s[3])
	} else {
		VPSLLQ(Imm(45), mixed, s[3])
		VPSRLQ(Imm(64-45), mixed, mixed)
		VPOR(mixed, s[3], s[3])
	}
	return out
}

func (p *path) rotate(n uint64, v VecVirtual) {
	if p.wide {
		VPROLQ(Imm(n), v, v)
		return
	}
	low := p.vector()
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

// compare takes one plane of random bits into account.
func (p *path) compare(d *decision, random VecVirtual, plane Register) {
	threshold := p.vector()
	if p.wide {
		VPANDQ_BCST(Mem{Base: plane, Disp: 8}, d.one, threshold)
		other := p.vector()
		VPANDQ_BCST(Mem{Base: plane, Disp: 16}, d.two, other)
		VPTERNLOGQ_BCST(Imm(0x96), Mem{Base: plane}, other, threshold)
		below := p.vector()
		VPANDNQ(threshold, random, below)
		ternary(func(accepted, open, below bool) bool { return accepted || open && below }, d.accepted, d.open, below)
		ternary(func(open, t, r bool) bool { return open && t == r }, d.open, threshold, random)
		return
	}
	below := p.vector()
	VPBROADCASTQ(Mem{Base: plane, Disp: 8}, threshold)
	VPAND(d.memory.Offset(2*p.bytes), threshold, threshold)
	VPBROADCASTQ(Mem{Base: plane, Disp: 16}, below)
	VPAND(d.memory.Offset(3*p.bytes), below, below)
	VPXOR(below, threshold, threshold)
	VPBROADCASTQ(Mem{Base: plane}, below)
	VPXOR(below, threshold, threshold)
	VPANDN(threshold, random, below)
	VPXOR(random, threshold, threshold)
	open := d.memory.Offset(p.bytes)
	VPAND(open, below, below)
	VPANDN(open, threshold, threshold)
	VMOVDQU(threshold, open)
	VPOR(d.memory, below, below)
	VMOVDQU(below, d.memory)
}

// anyOpen jumps to the label if some replica is not decided.
func (p *path) anyOpen(all []*decision, label string) {
	sum := p.vector()
	if p.wide {
		k := K()
		if len(all) == 1 {
			VPTESTMQ(all[0].open, all[0].open, k)
		} else {
			VPORQ(all[0].open, all[1].open, sum)
			VPTESTMQ(sum, sum, k)
		}
		KORTESTB(k, k)
	} else {
		VMOVDQU(all[0].memory.Offset(p.bytes), sum)
		for _, d := range all[1:] {
			VPOR(d.memory.Offset(p.bytes), sum, sum)
		}
		VPTEST(sum, sum)
	}
	JNE(LabelRef(label))
}

func (p *path) independent() {
	TEXT("metropolisIndependent"+p.suffix, NOSPLIT, "func(spins *uint64, state *[4][8]uint64, planes *[32][3]uint64, l, first, end, colour, step int, opposite uint64)")
	Doc("metropolisIndependent" + p.suffix + " is independentGeneric.")
	Pragma("noescape")
	var w walk
	w.open()
	state := Load(Param("state"), GP64())
	opposite := p.broadcast(Load(Param("opposite"), GP64()))
	parts := make([]generator, p.parts())
	for i := range parts {
		for j := range parts[i] {
			parts[i][j] = p.vector()
			p.load(Mem{Base: state, Disp: siteBytes*j + p.bytes*i}, parts[i][j])
		}
	}
	inverted := func() VecVirtual { return opposite }
	var local Mem
	if !p.wide {
		// The states fill half of the registers.
		local = AllocLocal(2 * p.parts() * 4 * p.bytes)
		spare := AllocLocal(p.bytes)
		VMOVDQU(opposite, spare)
		inverted = func() VecVirtual {
			v := p.vector()
			VMOVDQU(spare, v)
			return v
		}
	}
	w.rows(func() {
		Label("site")
		step := Load(Param("step"), GP64())
		CMPQ(step, Imm(1))
		JEQ(LabelRef("single"))
		other := GP64()
		LEAQ(Mem{Base: w.col, Disp: 2 * siteBytes}, other)
		CMPQ(other, w.rowBytes)
		JGE(LabelRef("single"))
		p.flip(&w, inverted, parts, local, 2)
		ADDQ(U32(4*siteBytes), w.col)
		JMP(LabelRef("next"))
		Label("single")
		p.flip(&w, inverted, parts, local, 1)
		again := Load(Param("step"), GP64())
		SHLQ(Imm(6), again)
		ADDQ(again, w.col)
		Label("next")
		CMPQ(w.col, w.rowBytes)
		JLT(LabelRef("site"))
	})
	state = Load(Param("state"), GP64())
	for i := range parts {
		for j := range parts[i] {
			p.store(parts[i][j], Mem{Base: state, Disp: siteBytes*j + p.bytes*i})
		}
	}
	VZEROUPPER()
	RET()
}

// flip updates n sites of one colour, from column col.
func (p *path) flip(w *walk, opposite func() VecVirtual, parts []generator, local Mem, n int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
	var all []*decision
	for k := range n {
		site := 2 * siteBytes * k
		w.neighbours(site)
		for part := range p.parts() {
			d := &decision{accepted: p.vector(), open: p.vector()}
			_, d.two, d.one = p.bonds(w, opposite(), site, part)
			if p.wide {
				VPXORQ(d.accepted, d.accepted, d.accepted)
				VPTERNLOGQ(Imm(0xFF), d.open, d.open, d.open)
			} else {
				d.memory = local.Offset(len(all) * 4 * p.bytes)
				VPXOR(d.accepted, d.accepted, d.accepted)
				VPCMPEQD(d.open, d.open, d.open)
				for k, v := range []VecVirtual{d.accepted, d.open, d.one, d.two} {
					VMOVDQU(v, d.memory.Offset(k*p.bytes))
				}
			}
			all = append(all, d)
		}
	}
	plane := Load(Param("planes"), GP64())
	step := func() {
		for i, d := range all {
			p.compare(d, p.next(parts[i%len(parts)]), plane)
		}
		ADDQ(Imm(planeBytes), plane)
	}
	count := GP64()
	MOVQ(U32(surePlanes), count)
	Label(label("sure"))
	step()
	DECQ(count)
	JNE(LabelRef(label("sure")))
	MOVQ(U32(planes-surePlanes), count)
	Label(label("test"))
	p.anyOpen(all, label("more"))
	JMP(LabelRef(label("decided")))
	Label(label("more"))
	step()
	DECQ(count)
	JNE(LabelRef(label("test")))
	Label(label("decided"))
	for i, d := range all {
		here := at(w.row, w.col, 2*siteBytes*(i/p.parts())+i%p.parts()*p.bytes)
		v := p.vector()
		if p.wide {
			VPXORQ(here, d.accepted, v)
		} else {
			VMOVDQU(d.memory, v)
			VPXOR(here, v, v)
		}
		p.store(v, here)
	}
}
