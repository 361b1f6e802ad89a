package asm

// A Counter names a stream of Philox 4x32-10 blocks, the counter-based
// generator of Salmon et al. (Random123). Block c of the stream is the
// encryption of the counter {low word of c, high word of c, Step, Purpose}
// under the key {low word of Seed, high word of Seed}, so every draw is a
// function of seed, purpose, step and index alone.
type Counter struct {
	Seed          uint64
	Purpose, Step uint32
}

// PhiloxBlocks writes blocks first, first+1, … of the stream to dst, four
// words each. len(dst) must be a multiple of 4. All paths give the same bits.
func PhiloxBlocks(dst []uint32, c *Counter, first uint64) {
	wholeBlocks(len(dst))
	philoxBlocks(dst, c, first)
}

// Uniforms writes uniform numbers in the open interval (0, 1), one for each
// word x of the stream's blocks first, first+1, …:
//
//	dst[i] = (x>>9 + ½)·2⁻²³
//
// which is exact in float32, symmetric about ½ and the same bits on all paths.
// len(dst) must be a multiple of 4.
func Uniforms(dst []float32, c *Counter, first uint64) {
	wholeBlocks(len(dst))
	uniforms(dst, c, first)
}

// Normals writes standard normal numbers by the Box–Muller transform of words
// (x0, x1) and (x2, x3) of each of the stream's blocks first, first+1, …:
//
//	r = √(−2 ln((x0 + ½)/2³²)),  φ = 2π·x1/2³²
//	dst[i], dst[i+1] = r·cos φ, r·sin φ
//
// len(dst) must be a multiple of 4. The largest |dst[i]| is √(66 ln 2) = 6.7637,
// which a normal variable exceeds once in 7·10¹⁰ draws. The generic path rounds
// the float64 result; the others stay within NormalsError of the definition.
func Normals(dst []float32, c *Counter, first uint64) {
	wholeBlocks(len(dst))
	normals(dst, c, first)
}

// NormalsError bounds the absolute error of Normals on every path.
const NormalsError = 1e-6

func wholeBlocks(n int) {
	if n%4 != 0 {
		panic("asm: the length of a Philox draw must be a multiple of 4")
	}
}
