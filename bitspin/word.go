package bitspin

import "math/bits"

// A word is the geometry of a lattice of at most 64 sites. It has few enough
// fields for the compiler to keep them in registers.
type word struct {
	side, rest uint8  // L and N − L
	last, all  uint64 // sites of the last column, and all sites
}

// boundaries returns the words whose bit i says that site i differs from its
// right and from its lower neighbour.
func (g word) boundaries(s uint64) (right, down uint64) {
	right = s>>1&^g.last | s<<((g.side-1)&63)&g.last
	down = (s>>(g.side&63) | s<<(g.rest&63)) & g.all
	return right ^ s, down ^ s
}

// difference returns ΔB/4 and ΔM/2 when the spins of m are flipped.
func (g word) difference(s, m uint64) (quarterBonds, halfMagnetisation int) {
	sr, sd := g.boundaries(s)
	mr, md := g.boundaries(m)
	cut := bits.OnesCount64(mr) + bits.OnesCount64(md)
	crossing := bits.OnesCount64(mr&sr) + bits.OnesCount64(md&sd)
	return crossing - cut/2, bits.OnesCount64(m) - 2*bits.OnesCount64(m&s)
}
