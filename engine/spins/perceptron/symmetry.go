package perceptron

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// A Symmetry is a group of transformations of configurations that leave the energy
// alone. Each sample of a generator is taken through an element drawn uniformly,
// which makes the law of the samples invariant, so that only one configuration of
// each orbit has to be learnt.
type Symmetry interface {
	// Flips reports whether the group holds the flip of all spins.
	Flips() bool
	// NewMover returns what one goroutine needs to move up to rows configurations.
	NewMover(rows int) Mover
}

// A Mover takes a block of configurations through elements of a symmetry, and
// remembers these.
type Mover interface {
	// Move draws the elements of samples first, first+1, … of the stream and takes
	// the configurations of the batch through them.
	Move(batch []uint64, c *rng.Counter, first uint64)
	// PullBack takes a gradient with respect to the spins of row r of the last
	// batch to that with respect to the spins before, in place.
	PullBack(grad []float32, r int)
}

// symmetryOf returns the group of a name, nil for none.
func symmetryOf(name string, t Target) Symmetry {
	switch s, ok := t.(SymmetricTarget); {
	case name == "z2":
		return flips(t.Spins())
	case ok:
		return s.Symmetry(name)
	}
	return nil
}

// flips is the group of the flip of n spins.
type flips int

func (flips) Flips() bool { return true }

func (n flips) NewMover(rows int) Mover {
	return &flipper{int(n), make([]uint32, 4*rows), make([]bool, rows)}
}

type flipper struct {
	n       int
	words   []uint32
	flipped []bool // by row of the last batch
}

func (f *flipper) Move(batch []uint64, c *rng.Counter, first uint64) {
	perRow := (f.n + 63) / 64
	rows := len(batch) / perRow
	asm.PhiloxBlocks(f.words[:4*rows], c, first)
	for r := range rows {
		f.flipped[r] = f.words[4*r]&1 == 1
		if f.flipped[r] {
			Flip(batch[r*perRow:][:perRow], f.n)
		}
	}
}

func (f *flipper) PullBack(grad []float32, r int) {
	if f.flipped[r] {
		for i, g := range grad {
			grad[i] = -g
		}
	}
}

// Flip flips all n spins of a configuration.
func Flip(config []uint64, n int) {
	for k := range config {
		config[k] = ^config[k]
	}
	config[len(config)-1] &= ^uint64(0) >> (-n & 63)
}
