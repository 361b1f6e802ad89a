package main

import (
	"fmt"
	"iter"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// pipelinedNormals emits normals so that the rounds of one group and the
// transforms of the group before alternate: the rounds wait for their own
// results most of the time, the transforms keep the multipliers busy. Words go
// from the one to the other through memory, because both together need most of
// the registers.
func (p *path) pipelinedNormals() {
	p.Kernel("normals", "func(dst []uint32, first uint64, s *[20]uint32)",
		fmt.Sprintf("is normalsGeneric for a positive multiple of %d elements.", p.group()))
	to, n, first, s := Address("dst"), Length("dst"), Number("first"), Number("s")
	m0, m1 := p.broadcast32(multiplier0), p.broadcast32(multiplier1)
	odd := p.oddLanes()
	spare := AllocLocal(2 * p.sets * p.Bytes)
	at := func(set, pair int) Mem { return spare.Offset((2*set + pair) * p.Bytes) }

	// rounds emits the rounds of a group, with between called after each of a set.
	rounds := func(between func()) {
		group := p.counters(first)
		for round := range rounds {
			for i := range group {
				p.round(round, &group[i], m0, m1, p.keys(s, round, i))
				between()
			}
		}
		for ; between != nil && p.pause != nil; between() {
		}
		for i := range group {
			p.pairs(&group[i], radiusAndAngle, odd)
			VMOVUPS(group[i][0], at(i, 0))
			VMOVUPS(group[i][1], at(i, 1))
		}
	}
	transforms := func() {
		var r [2]VecVirtual
		radius := func(i int) func() {
			return func() {
				a := p.LoadVector(at(i, 0))
				r[i%2] = p.radius(a)
			}
		}
		polar := func(i int) func() {
			return func() {
				b := p.LoadVector(at(i, 1))
				x, y := p.polar(r[i%2], b)
				for j, y := range p.interleave32()(x, y) {
					VMOVUPS(y, Mem{Base: to, Disp: (2*i + j) * p.Bytes})
				}
			}
		}
		radius(0)()
		for i := range p.sets - 1 {
			p.together(polar(i), radius(i+1))
		}
		polar(p.sets - 1)()
	}

	rounds(func() {})
	SUBQ(U32(p.group()), n)
	JLE(LabelRef("last"))
	Label("group")
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		p.pause = func() { yield(struct{}{}) }
		transforms()
		p.pause = nil
	})
	rounds(func() { next(); next() })
	stop()
	ADDQ(U32(4*p.group()), to)
	SUBQ(U32(p.group()), n)
	JG(LabelRef("group"))
	Label("last")
	transforms()
	Leave()
}

// together emits two sequences of instructions in turn, changing over where they
// pause.
func (p *path) together(sequences ...func()) {
	outer := p.pause
	pauses := make([]func(), len(sequences))
	var left []int
	nexts := make([]func() (struct{}, bool), len(sequences))
	for i, sequence := range sequences {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			pauses[i] = func() { yield(struct{}{}) }
			p.pause = pauses[i]
			sequence()
		})
		defer stop()
		nexts[i] = next
		left = append(left, i)
	}
	for len(left) > 0 {
		i := left[0]
		left = left[1:]
		p.pause = pauses[i]
		if _, more := nexts[i](); more {
			left = append(left, i)
		}
		p.pause = outer
		p.breathe()
	}
}
