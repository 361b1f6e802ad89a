package ising

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/categories"
)

// MaxCounted is the largest side whose configurations can be counted by bond sum and magnetisation.
const MaxCounted = 8

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
	law, logZ := g.jointLaw(t)
	v := law.observables(t.Beta)
	return Observables{
		Thermodynamics:   Thermodynamics{LogZ: logZ, Energy: v[energy].Value, SpecificHeat: v[specificHeat].Value},
		AbsMagnetisation: v[absMagnetisation].Value, Susceptibility: v[susceptibility].Value,
	}
}

// jointLaw returns the law of B and M under a target, and ln Z.
func (g *DensityOfStates) jointLaw(t Target) (p *jointLaw, logZ float64) {
	n := g.lattice.N
	if t.N != n {
		panic(fmt.Sprintf("ising: a density of states of %d sites for a target of %d", n, t.N))
	}
	ground := math.Inf(1)
	g.each(func(b, m int, _ uint64) { ground = min(ground, t.EnergyOf(b, m)) })
	p = newJointLaw(t.Model)
	var z float64
	g.each(func(b, m int, count uint64) {
		w := float64(count) * math.Exp(-t.Beta*(t.EnergyOf(b, m)-ground))
		p.add(b, m, w)
		z += w
	})
	p.normalise()
	return p, math.Log(z) - t.Beta*ground
}

// each calls visit with every pair of a bond sum and a magnetisation that occurs.
func (g *DensityOfStates) each(visit func(b, m int, count uint64)) {
	n := g.lattice.N
	for i, c := range g.count {
		if c > 0 {
			visit(i/(n+1)*4-2*n, i%(n+1)*2-n, c)
		}
	}
}

// CountStates counts the configurations of the periodic l×l lattice, 2 ≤ l ≤ MaxCounted, exactly,
// without visiting each. It fixes the first row and adds the other sites one by one (growth). First
// rows that a symmetry of the lattice takes to each other have the same counts, and the counts of
// a flipped row follow from the flip. The result is computed once in a process.
func CountStates(l int) (*DensityOfStates, error) {
	if l > MaxCounted {
		return nil, fmt.Errorf("counting the 2^%d configurations of the %d×%d lattice is not feasible; the largest side is %d", l*l, l, l, MaxCounted)
	}
	lattice, err := bitspin.NewLattice(l)
	if err != nil {
		return nil, err
	}
	return &DensityOfStates{lattice, stateCounts[l]()}, nil
}

// stateCounts computes the counts of each side when they are first asked for.
var stateCounts = func() (counts [MaxCounted + 1]func() []uint64) {
	for l := range counts {
		counts[l] = sync.OnceValue(func() []uint64 { return countStates(l) })
	}
	return counts
}()

// countStates returns the counts [(B+2N)/4][(M+N)/2].
func countStates(l int) []uint64 {
	n := l * l
	total := make([]uint64, (n+1)*(n+1))
	g := newGrowth(l)
	for first, size := range categories.Orbits(l, 2, true, true) { // under rotations, reflections and the flip
		if size > 0 {
			half := uint64(size / 2)
			g.count(first, func(up, pairs int, c uint64) {
				total[(n-pairs)*(n+1)+up] += half * c
				total[(n-pairs)*(n+1)+n-up] += half * c
			})
		}
	}
	return total
}

// A growth counts the configurations of a lattice under construction. Its front are the last l
// spins, one for each column. Counts are by the number of spins up behind the front, and by half
// the number of unequal bonds, rounded down: the front determines whether that number is odd.
type growth struct {
	l, n         int
	counts, next [][]uint64 // by front, [up][pairs of unequal bonds]; next after one more site
}

func newGrowth(l int) *growth {
	n := l * l
	g := &growth{l: l, n: n, counts: make([][]uint64, 1<<l), next: make([][]uint64, 1<<l)}
	for front := range g.counts {
		g.counts[front], g.next[front] = make([]uint64, (n-l+1)*(n+1)), make([]uint64, (n-l+1)*(n+1))
	}
	return g
}

// parity returns the parity of the number of unequal bonds if the newest spin of the front is in
// the given column. The unequal bonds of a column come in pairs if its last spin equals that of
// the first row, and those of a row if it ends as it began.
func (g *growth) parity(first, front, column int) int {
	parity := bits.OnesCount(uint(first ^ front))
	if column < g.l-1 {
		parity += front ^ front>>column
	}
	return parity & 1
}

// count calls visit with the number of configurations with the given first row for each number of
// spins up and of pairs of unequal bonds.
func (g *growth) count(first int, visit func(up, pairs int, count uint64)) {
	for front := range g.counts {
		clear(g.counts[front])
	}
	unequal := bits.OnesCount(uint(first ^ (first<<1&(1<<g.l-1) | first>>(g.l-1))))
	g.counts[first][unequal/2] = 1
	for site := g.l; site < g.n; site++ {
		for front := range g.next {
			g.addSite(first, front, site)
		}
		g.counts, g.next = g.next, g.counts
	}
	for front, counts := range g.counts {
		// The bonds between the last row and the first:
		pairs := (bits.OnesCount(uint(front^first)) + g.parity(first, front, g.l-1)) / 2
		for i, c := range counts {
			if c > 0 {
				visit(bits.OnesCount(uint(front))+i/(g.n+1), pairs+i%(g.n+1), c)
			}
		}
	}
}

// addSite sets the counts of a front whose newest spin is that of the site, from the counts of the
// two fronts before it. These differ in the spin above, which leaves the front and is counted if
// it is up.
func (g *growth) addSite(first, front, site int) {
	column := site % g.l
	previous := (column + g.l - 1) % g.l // column of the newest spin before
	spin := front >> column & 1
	clear(g.next[front][:(site-g.l+2)*(g.n+1)])
	for above := range 2 {
		old := front&^(1<<column) | above<<column
		unequal := g.parity(first, old, previous) + (above ^ spin)
		if column > 0 {
			unequal += spin ^ front>>previous&1
		}
		if column == g.l-1 {
			unequal += spin ^ front&1
		}
		for up := range site - g.l + 1 {
			from, to := g.counts[old][up*(g.n+1):][:site], g.next[front][(up+above)*(g.n+1)+unequal/2:][:site]
			for i, c := range from {
				to[i] += c
			}
		}
	}
}
