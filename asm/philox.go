package asm

import (
	"math"
	"math/bits"
)

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
	if useAVX2 {
		philoxDraw(drawWords, dst, c, first)
	} else {
		philoxBlocksGeneric(dst, c, first)
	}
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
	if useAVX2 {
		philoxDraw(drawUniforms, floatWords(dst), c, first)
	} else {
		uniformsGeneric(dst, c, first)
	}
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
	if useAVX2 {
		philoxDraw(drawNormals, floatWords(dst), c, first)
	} else {
		normalsGeneric(dst, c, first)
	}
}

// NormalsError bounds the absolute error of Normals on every path.
const NormalsError = 1e-6

func wholeBlocks(n int) {
	if n%4 != 0 {
		panic("asm: the length of a Philox draw must be a multiple of 4")
	}
}

// The assembly fills whole groups of blocks. The end of a draw is copied from one more group,
// so that an element has the same bits in every draw.
const (
	philoxGroup512 = 128     // words
	philoxGroup256 = 32      // words
	philoxLimit    = 1 << 14 // words in one call, which cannot be preempted
)

// philoxSchedule holds two keys for each round, which all blocks of a call share. As the
// blocks' counters differ in the first word alone, x0 and x1 are the same in all blocks after
// one round, and x3 after two. The keys that are combined with these words are replaced by the
// combinations, and the first key is not needed.
type philoxSchedule = [2 * philoxRounds]uint32

// schedule returns the schedule of the blocks whose numbers have the same upper half as
// first.
func (c *Counter) schedule(first uint64) (s philoxSchedule) {
	k0, k1 := uint32(c.Seed), uint32(c.Seed>>32)
	for r := range philoxRounds {
		s[2*r], s[2*r+1] = k0, k1
		k0 += philoxW0
		k1 += philoxW1
	}
	h1, l1 := bits.Mul32(philoxM1, c.Step)
	h0, l0 := bits.Mul32(philoxM0, h1^uint32(first>>32)^s[0])
	s[1] ^= c.Purpose
	s[2] ^= l1
	s[3] ^= h0
	s[5] ^= l0
	return s
}

// philoxGroup returns the number of words in a group.
func philoxGroup() int {
	if useAVX512 {
		return philoxGroup512
	}
	return philoxGroup256
}

// The kinds of draws: words of the stream, or numbers made of them.
const (
	drawWords = iota
	drawUniforms
	drawNormals
)

// philoxDraw fills dst with words, or with numbers in their place.
func philoxDraw(kind int, dst []uint32, c *Counter, first uint64) {
	for len(dst) > 0 {
		scheduled := 4 * int(1<<32-first%(1<<32)) // words until the upper half of the blocks' numbers changes
		s, n := c.schedule(first), min(len(dst), scheduled)
		if groups := min(n, philoxLimit) &^ (philoxGroup() - 1); groups > 0 {
			n = groups
			philoxDrawGroups(kind, dst[:n], first, &s)
		} else {
			var group [philoxGroup512]uint32
			philoxDrawGroups(kind, group[:philoxGroup()], first, &s)
			copy(dst[:n], group[:])
		}
		dst, first = dst[n:], first+uint64(n/4)
	}
}

func philoxDrawGroups(kind int, dst []uint32, first uint64, s *philoxSchedule) {
	switch kind {
	case drawWords:
		philoxBlocksVector(dst, first, s)
	case drawUniforms:
		uniformsVector(dst, first, s)
	case drawNormals:
		normalsVector(dst, first, s)
	}
}

// Multipliers and key increments of Philox 4x32.
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

const philoxRounds = 10

// philox encrypts one counter under a key.
func philox(x [4]uint32, k0, k1 uint32) [4]uint32 {
	for range philoxRounds {
		h0, l0 := bits.Mul32(philoxM0, x[0])
		h1, l1 := bits.Mul32(philoxM1, x[2])
		x = [4]uint32{h1 ^ x[1] ^ k0, l1, h0 ^ x[3] ^ k1, l0}
		k0 += philoxW0
		k1 += philoxW1
	}
	return x
}

// block returns block i of the stream.
func (c *Counter) block(i uint64) [4]uint32 {
	return philox([4]uint32{uint32(i), uint32(i >> 32), c.Step, c.Purpose}, uint32(c.Seed), uint32(c.Seed>>32))
}

func philoxBlocksGeneric(dst []uint32, c *Counter, first uint64) {
	for ; len(dst) >= 4; dst = dst[4:] {
		*(*[4]uint32)(dst) = c.block(first)
		first++
	}
}

func uniformsGeneric(dst []float32, c *Counter, first uint64) {
	for ; len(dst) >= 4; dst = dst[4:] {
		for i, x := range c.block(first) {
			dst[i] = (float32(x>>9) + 0.5) * (1.0 / (1 << 23))
		}
		first++
	}
}

func normalsGeneric(dst []float32, c *Counter, first uint64) {
	for ; len(dst) >= 4; dst = dst[4:] {
		x := c.block(first)
		dst[0], dst[1] = boxMuller(x[0], x[1])
		dst[2], dst[3] = boxMuller(x[2], x[3])
		first++
	}
}

// boxMuller is the definition of Normals, in float64.
func boxMuller(radius, angle uint32) (cos, sin float32) {
	r := math.Sqrt(-2 * math.Log((float64(radius)+0.5)/(1<<32)))
	s, c := math.Sincos(2 * math.Pi / (1 << 32) * float64(angle))
	return float32(r * c), float32(r * s)
}
