package bitspin

import "math/bits"

// A lattice64 is the geometry of a lattice of at most 64 sites, whose configurations
// are words. It has few enough fields for the compiler to keep them in registers.
type lattice64 struct {
	side, lastRow     uint8  // L, and N − L, where the last row begins
	lastColumn, sites uint64 // masks of the sites of the last column and of all sites
}

// boundaries returns the words whose bit i says that site i differs from its
// right and from its lower neighbour.
func (g lattice64) boundaries(s uint64) (right, down uint64) {
	right = s>>1&^g.lastColumn | s<<((g.side-1)&63)&g.lastColumn
	down = (s>>(g.side&63) | s<<(g.lastRow&63)) & g.sites
	return right ^ s, down ^ s
}

// difference returns ΔB/4 and ΔM/2 when the spins of m are flipped.
func (g lattice64) difference(s, m uint64) (quarterBonds, halfMagnetisation int) {
	sr, sd := g.boundaries(s)
	mr, md := g.boundaries(m)
	cut := bits.OnesCount64(mr) + bits.OnesCount64(md)
	crossing := bits.OnesCount64(mr&sr) + bits.OnesCount64(md&sd)
	return crossing - cut/2, bits.OnesCount64(m) - 2*bits.OnesCount64(m&s)
}
