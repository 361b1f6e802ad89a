package ising

import "github.com/revgen/revgen/engine/spins"

// A symmetry is a group of transformations of the lattice: that of a generator's
// samples, or the target's own.
type symmetry struct {
	flip bool // all spins at once
	// lattice is the space group of the L×L torus: translations, and the
	// rotations and reflections of the square.
	lattice bool
	side    int
}

// trivial reports whether the identity is the only element.
func (y symmetry) trivial() bool { return !y.flip && !y.lattice }

// An element of a symmetry turns the square, shifts it, and then flips all
// spins or none. The zero value is the identity.
type element struct {
	flipped bool
	// point is an element of the point group: bit 0 exchanges rows and
	// columns, bits 1 and 2 then reverse the order of rows and of columns.
	point       uint8
	row, column uint16 // shifts, less than the side
}

// order returns the number of elements.
func (y symmetry) order() int {
	n := 1
	if y.flip {
		n *= 2
	}
	if y.lattice {
		n *= 8 * y.side * y.side
	}
	return n
}

// element returns element i, 0 ≤ i < order.
func (y symmetry) element(i int) (e element) {
	if y.flip {
		e.flipped = i&1 == 1
		i >>= 1
	}
	if y.lattice {
		e.point = uint8(i & 7)
		i >>= 3
		e.row, e.column = uint16(i/y.side), uint16(i%y.side)
	}
	return e
}

// A mover is what one goroutine needs to apply elements of a symmetry.
type mover struct {
	symmetry
	rows, columns []int // where those go
	config        []uint64
}

func newMover(y symmetry) *mover {
	n := y.side * y.side
	return &mover{y, make([]int, y.side), make([]int, y.side), make([]uint64, (n+63)/64)}
}

// places sets rows and columns such that the spin at (r, c) goes to site
// rows[r] + columns[c].
func (m *mover) places(e element) {
	l := m.side
	for i := range l {
		r, c := i, i
		if e.point&2 != 0 {
			r = l - 1 - r
		}
		if e.point&4 != 0 {
			c = l - 1 - c
		}
		if r += int(e.row); r >= l {
			r -= l
		}
		if c += int(e.column); c >= l {
			c -= l
		}
		m.rows[i], m.columns[i] = r*l, c
	}
	if e.point&1 != 0 {
		m.rows, m.columns = m.columns, m.rows
	}
}

// apply transforms a configuration of one or more words.
func (m *mover) apply(config []uint64, e element) {
	n := m.side * m.side
	config = config[:len(m.config)]
	if m.lattice {
		m.places(e)
		copy(m.config, config)
		clear(config)
		site := 0
		for _, r := range m.rows {
			for _, c := range m.columns {
				to := r + c
				config[to>>6] |= m.config[site>>6] >> (site & 63) & 1 << (to & 63)
				site++
			}
		}
	}
	if e.flipped {
		spins.Invert(config, n)
	}
}
