package ising

import "math/bits"

// A symmetry is a group of transformations of the lattice: that of a generator's
// samples, or the target's own.
type symmetry struct {
	flip bool // all spins at once
	// lattice is the space group of the L×L torus: translations, and the
	// rotations and reflections of the square.
	lattice bool
	side    int
}

// An element of a symmetry takes the spin of site i to site[i], and then flips all
// spins or none.
type element struct {
	site    []int
	flipped bool
}

// elements lists the group, the identity first.
func (y symmetry) elements() (all []element) {
	l, shifts, points := y.side, 1, 1
	if y.lattice {
		shifts, points = l*l, 8
	}
	for shift := range shifts {
		for point := range points {
			e := element{site: make([]int, l*l)}
			for i := range e.site {
				r, c := i/l, i%l
				if point&1 != 0 {
					r, c = c, r
				}
				if point&2 != 0 {
					r = l - 1 - r
				}
				if point&4 != 0 {
					c = l - 1 - c
				}
				e.site[i] = (r+shift/l)%l*l + (c+shift%l)%l
			}
			if all = append(all, e); y.flip {
				all = append(all, element{e.site, true})
			}
		}
	}
	return all
}

// of returns the image of a configuration of one word.
func (e element) of(s int) (to int) {
	for left := uint(s); left != 0; left &= left - 1 {
		to |= 1 << e.site[bits.TrailingZeros(left)]
	}
	if e.flipped {
		to ^= 1<<len(e.site) - 1
	}
	return to
}
