package ising

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/bitspin"
)

// A DensityOfStates counts the configurations of a lattice by bond sum
// B = Σ_<ij> s_i s_j and magnetisation M = Σ_i s_i. It determines every
// observable of the paper's table for any coupling, field and temperature.
//
// Bond sums are 2N less a multiple of 4, because flipping any spins of a
// periodic lattice changes them by one.
type DensityOfStates struct {
	lattice *bitspin.Lattice
	count   []uint64 // [(B+2N)/4][(M+N)/2], both from 0 to N
}

// Observables returns the exact observables of a target of the same side.
func (g *DensityOfStates) Observables(t Target) Observables {
	p, logZ := g.distribution(t)
	v := p.moments(t.Beta).value
	return Observables{Thermodynamics{logZ, v[0], v[2]}, v[1], v[3]}
}

// distribution returns the joint law of B and M under a target, and ln Z.
func (g *DensityOfStates) distribution(t Target) (p *joint, logZ float64) {
	n := g.lattice.N
	if t.N != n {
		panic(fmt.Sprintf("ising: a density of states of %d sites for a target of %d", n, t.N))
	}
	ground := math.Inf(1)
	g.each(func(b, m int, _ uint64) { ground = min(ground, t.EnergyOf(b, m)) })
	p = newJoint(t.Model)
	var z float64
	g.each(func(b, m int, count uint64) {
		w := float64(count) * math.Exp(-t.Beta*(t.EnergyOf(b, m)-ground))
		p.add(b, m, w)
		z += w
	})
	p.normalise()
	return p, math.Log(z) - t.Beta*ground
}

// each calls visit with every bond sum and magnetisation that occur.
func (g *DensityOfStates) each(visit func(b, m int, count uint64)) {
	n := g.lattice.N
	for i, c := range g.count {
		if c > 0 {
			visit(i/(n+1)*4-2*n, i%(n+1)*2-n, c)
		}
	}
}
