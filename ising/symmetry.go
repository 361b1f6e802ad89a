package ising

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins/perceptron"
)

// A symmetry is a group of transformations of the lattice, perceptron.Symmetry.
type symmetry struct {
	flip bool // all spins at once
	// lattice is the space group of the L×L torus: translations, and the
	// rotations and reflections of the square.
	lattice bool
	side    int
}

// symmetries are the names of the groups, as the configuration takes them.
var symmetries = []string{"none", "z2", "lattice", "z2+lattice"}

func newSymmetry(name string, side int) symmetry {
	return symmetry{
		flip:    name == "z2" || name == "z2+lattice",
		lattice: name == "lattice" || name == "z2+lattice",
		side:    side,
	}
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

// draw sets elements to those of samples first, first+1, …. It needs scratch of
// four words each.
func (y symmetry) draw(elements []element, c *rng.Counter, first uint64, scratch []uint32) {
	scratch = scratch[:4*len(elements)]
	asm.PhiloxBlocks(scratch, c, first)
	for i := range elements {
		w, e := scratch[4*i:][:4], element{}
		if y.flip {
			e.flipped = w[0]&1 == 1
		}
		if y.lattice {
			e.point = uint8(w[1] & 7)
			e.row = uint16(uint64(w[2]) * uint64(y.side) >> 32)
			e.column = uint16(uint64(w[3]) * uint64(y.side) >> 32)
		}
		elements[i] = e
	}
}

// A mover is what one goroutine needs to apply elements of a symmetry.
type mover struct {
	symmetry
	rows, columns []int // where those go
	config        []uint64
	grad          []float32
}

func newMover(y symmetry) *mover {
	n := y.side * y.side
	return &mover{y, make([]int, y.side), make([]int, y.side), make([]uint64, (n+63)/64), make([]float32, n)}
}

// Flips implements perceptron.Symmetry.
func (y symmetry) Flips() bool { return y.flip }

// NewMover implements perceptron.Symmetry.
func (y symmetry) NewMover(rows int) perceptron.Mover {
	return &batchMover{newMover(y), make([]element, rows), make([]uint32, 4*rows)}
}

// A batchMover remembers the elements that it has drawn.
type batchMover struct {
	*mover
	elements []element // by row
	scratch  []uint32
}

// Move implements perceptron.Mover.
func (m *batchMover) Move(batch []uint64, c *rng.Counter, first uint64) {
	words := len(m.config)
	drawn := m.elements[:len(batch)/words]
	m.draw(drawn, c, first, m.scratch)
	for r, e := range drawn {
		m.apply(batch[r*words:], e)
	}
}

// PullBack implements perceptron.Mover.
func (m *batchMover) PullBack(grad []float32, r int) { m.pullBack(grad, m.elements[r]) }

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
		perceptron.Flip(config, n)
	}
}

// pullBack takes a gradient by the spins after e to that by the spins before,
// the inverse of what e does to a configuration.
func (m *mover) pullBack(grad []float32, e element) {
	if m.lattice {
		m.places(e)
		copy(m.grad, grad)
		site := 0
		for _, r := range m.rows {
			for _, c := range m.columns {
				grad[site] = m.grad[r+c]
				site++
			}
		}
	}
	if e.flipped {
		for i, g := range grad {
			grad[i] = -g
		}
	}
}
