// Command conditional generates the kernels of conditional probabilities of spins:
// perceptrons whose inputs are the spins of a block of samples, bit by bit, the heat
// bath and the score. The vectors of the perceptrons run along the hidden layer, as
// four spins choose a row of a table there; those of the heat bath and the score run
// along the samples.
package main

import (
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

const (
	samples  = 64
	lineSize = 64 // bytes of one row of 16 hidden units
	maxLines = 4  // such rows of the widest layer
)

type isa struct{ *ISA }

var (
	avx512    = &isa{AVX512}
	avx2      = &isa{AVX2}
	constants = NewPool("conditionalConstants")
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*isa{avx512, avx2} {
		w.indices()
		w.logits()
		w.gradient()
		w.expand()
		w.fold()
		w.draw()
		w.lookup()
		w.selected()
		w.categories()
		w.score(false)
		w.score(true)
	}
	Generate()
}

// full returns a vector of one number, and word of one word.
func (w *isa) full(x float64) Mem { return w.word(math.Float32bits(float32(x))) }
func (w *isa) word(x uint32) Mem  { return constants.Vector32(slices.Repeat([]uint32{x}, w.Lanes())...) }

func (w *isa) zero() VecVirtual {
	v := w.Vector()
	VXORPS(v.AsY(), v.AsY(), v.AsY())
	return v
}
