package perceptron

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
)

// A flipper takes each configuration of a block through the identity or the flip of
// all spins, by chance, and remembers which. The law of the samples is even then, so
// that only one of the two has to be learnt.
type flipper struct {
	n       int
	words   []uint32
	flipped []bool // by row of the last batch
}

// newFlipper returns what one goroutine needs for up to rows configurations of n
// spins.
func newFlipper(n, rows int) *flipper { return &flipper{n, make([]uint32, 4*rows), make([]bool, rows)} }

// move flips configurations of the batch as the stream says of samples first,
// first+1, ….
func (f *flipper) move(batch []uint64, c *rng.Counter, first uint64) {
	perRow := (f.n + 63) / 64
	rows := len(batch) / perRow
	asm.PhiloxBlocks(f.words[:4*rows], c, first)
	for r := range rows {
		f.flipped[r] = f.words[4*r]&1 == 1
		if f.flipped[r] {
			spins.Invert(batch[r*perRow:][:perRow], f.n)
		}
	}
}

// pullBack takes a gradient with respect to the spins of row r of the last batch to
// that with respect to the spins before, in place.
func (f *flipper) pullBack(grad []float32, r int) {
	if f.flipped[r] {
		for i, g := range grad {
			grad[i] = -g
		}
	}
}
