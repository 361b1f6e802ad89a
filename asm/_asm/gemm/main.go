// Command gemm generates the dense products of a network's layers: tiled
// products for wide layers, rows of dot products for layers of few
// outputs, and the sums of columns for the bias.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, isa := range []isa{avx512, avx2} {
		for _, product := range []product{forward, backwardInput, weights} {
			k := kernel{isa: isa, product: product}
			k.function()
		}
		narrowProduct(isa)
		columnSums(isa)
		packPanel(isa)
	}
	Generate()
}

// An isa is an instruction set with the tile heights that fill its registers.
type isa struct {
	*ISA
	groups  []group
	vectors int   // per panel
	dots    []int // rows of a tile of 1, 2, ... dot products per row
}

var (
	avx512 = isa{
		ISA: AVX512, vectors: 1,
		dots: []int{16, 8, 5, 4, 3, 2, 2, 2, 2},
		groups: []group{
			{panels: 4, heights: []int{6, 4, 2, 1}, fewRows: true},
			{panels: 3, heights: []int{9, 8, 4, 2, 1}, last: true, fewRows: true},
			{panels: 2, heights: []int{14, 8, 4, 2, 1}},
			{panels: 1, heights: []int{14, 8, 4, 2, 1}},
		},
	}
	avx2 = isa{
		ISA: AVX2, vectors: 2,
		dots: []int{8, 4, 2, 2, 2, 2, 1, 1, 1},
		groups: []group{
			{panels: 2, heights: []int{2, 1}, fewRows: true, full: true},
			{panels: 1, heights: []int{6, 4, 3, 2, 1}, full: true},
			{panels: 1, heights: []int{4, 2, 1}},
		},
	}
)

var constants = NewPool("denseConstants")

const (
	panel      = 16 // columns
	panelBytes = 4 * panel
)

// tail returns what masks the columns of a panel, 1 to 16; more are as many as 16.
func (isa isa) tail(width Register) []Register { return isa.FirstLanes(width, isa.vectors, constants) }
