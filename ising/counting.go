package ising

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/categories"
)

// MaxCounted is the largest side whose configurations can be counted by bond sum
// and magnetisation.
const MaxCounted = 8

// CountStates counts the configurations of the periodic l×l lattice,
// 2 ≤ l ≤ MaxCounted, exactly, without visiting each: for a given first row it
// adds the others site by site, keeping how many configurations of what has been
// added have each number of unequal bonds and of spins up, by the last l spins.
// First rows that the lattice's symmetry takes to each other give the same
// counts, and those of a flipped one follow from the flip. The result is computed
// once in a process.
func CountStates(l int) (*DensityOfStates, error) {
	if l > MaxCounted {
		return nil, fmt.Errorf("counting the 2^%d configurations of the %d×%d lattice is not feasible; the largest side is %d", l*l, l, l, MaxCounted)
	}
	lat, err := bitspin.NewLattice(l)
	if err != nil {
		return nil, err
	}
	return &DensityOfStates{lat, counted[l]()}, nil
}

var counted = func() (of [MaxCounted + 1]func() []uint64) {
	for l := range of {
		of[l] = sync.OnceValue(func() []uint64 { return countStates(l) })
	}
	return of
}()

// countStates returns [(B+2N)/4][(M+N)/2].
func countStates(l int) []uint64 {
	n := l * l
	total := make([]uint64, (n+1)*(n+1))
	g := newGrowth(l)
	for first, size := range categories.Orbits(l, 2, true, true) {
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

// A growth counts the configurations of a lattice under construction, whose last
// l spins, one for each column, are its front. Counts are by the number of spins
// up less those of the front, and by half the number of unequal bonds, rounded
// down: of a front that number is always even or always odd.
type growth struct {
	l, n      int
	now, next [][]uint64 // by front, [up][pairs of unequal bonds]
}

func newGrowth(l int) *growth {
	n := l * l
	g := &growth{l: l, n: n, now: make([][]uint64, 1<<l), next: make([][]uint64, 1<<l)}
	for front := range g.now {
		g.now[front], g.next[front] = make([]uint64, (n-l+1)*(n+1)), make([]uint64, (n-l+1)*(n+1))
	}
	return g
}

// odd returns the parity of the number of unequal bonds where the newest spin of
// the front is in the given column: unequal bonds of a column come in pairs if
// its last spin is that of the first row, and those of a row if it ends as it
// began.
func (g *growth) odd(first, front, column int) int {
	parity := bits.OnesCount(uint(first ^ front))
	if column < g.l-1 {
		parity += front ^ front>>column
	}
	return parity & 1
}

// count calls visit with how many configurations with the given first row have
// each number of spins up and of pairs of unequal bonds.
func (g *growth) count(first int, visit func(up, pairs int, count uint64)) {
	for front := range g.now {
		clear(g.now[front])
	}
	unequal := bits.OnesCount(uint(first ^ (first<<1&(1<<g.l-1) | first>>(g.l-1))))
	g.now[first][unequal/2] = 1
	for site := g.l; site < g.n; site++ {
		for front := range g.next {
			g.add(first, front, site)
		}
		g.now, g.next = g.next, g.now
	}
	for front, of := range g.now {
		// The bonds between the last row and the first.
		pairs := (bits.OnesCount(uint(front^first)) + g.odd(first, front, g.l-1)) / 2
		for i, c := range of {
			if c > 0 {
				visit(bits.OnesCount(uint(front))+i/(g.n+1), pairs+i%(g.n+1), c)
			}
		}
	}
}

// add sets the counts of a front whose newest spin is that of a site, from those
// of the two fronts before it, which differ in the spin above. It counts as up
// where it has left the front.
func (g *growth) add(first, front, site int) {
	column := site % g.l
	before := (column + g.l - 1) % g.l
	spin := front >> column & 1
	clear(g.next[front][:(site-g.l+2)*(g.n+1)])
	for above := range 2 {
		old := front&^(1<<column) | above<<column
		unequal := g.odd(first, old, before) + (above ^ spin)
		if column > 0 {
			unequal += spin ^ front>>before&1
		}
		if column == g.l-1 {
			unequal += spin ^ front&1
		}
		for up := range site - g.l + 1 {
			from, to := g.now[old][up*(g.n+1):][:site], g.next[front][(up+above)*(g.n+1)+unequal/2:][:site]
			for i, c := range from {
				to[i] += c
			}
		}
	}
}
