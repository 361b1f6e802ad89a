// Command gemm generates the dense products of a network's layers: tiled
// products for wide layers, rows of dot products for layers of few
// outputs, and the sums of columns for the bias.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
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

const (
	panel      = 16 // columns
	panelBytes = 4 * panel
)

// Comparisons that are false, or true for those named not, where an operand
// is NaN, and signal nothing.
const (
	less       = 0x11
	notLess    = 0x15
	notGreater = 0x1a
	greater    = 0x1e
)

// A tail masks the columns of a panel that is not full.
type tail struct {
	isa
	word    Register   // AVX-512
	vectors []Register // AVX2
}

// set takes the number of columns, 1 to 16; more are as many as 16.
func (t *tail) set(width Register) {
	limit := GP64()
	MOVQ(U32(panel), limit)
	CMPQ(width, limit)
	CMOVQGT(limit, width)
	if t.Bytes == 64 {
		ones := GP32()
		MOVL(U32(1<<panel-1), ones)
		BZHIL(width.(GP).As32(), ones, ones)
		t.word = K()
		KMOVW(ones, t.word)
		return
	}
	table := GP64()
	LEAQ(maskTable(), table)
	SUBQ(width, limit)
	t.vectors = []Register{YMM(), YMM()}
	for v, m := range t.vectors {
		VMOVUPS(Mem{Base: table, Index: limit, Scale: 4, Disp: v * t.Bytes}, m)
	}
}

// load reads vector v of the panel, with zeros beyond the columns.
func (t *tail) load(m Mem, v int, dst Register) {
	if t.Bytes == 64 {
		VMOVUPS_Z(m, t.word, dst)
	} else {
		VMASKMOVPS(m, t.vectors[v], dst)
	}
}

// store writes vector v of the panel, and nothing beyond the columns.
func (t *tail) store(src Register, v int, m Mem) {
	if t.Bytes == 64 {
		VMOVUPS(src, t.word, m)
	} else {
		VMASKMOVPS(src, t.vectors[v], m)
	}
}

var masks Mem

// maskTable holds 16 words of ones and 16 of zeros: what begins at word 16-n
// masks n columns of a panel.
func maskTable() Mem {
	if masks.Base == nil {
		masks = GLOBL("denseMasks", RODATA|NOPTR)
		for i := range 2 * panel {
			word := U32(0)
			if i < panel {
				word = 0xffffffff
			}
			DATA(4*i, word)
		}
	}
	return masks
}
