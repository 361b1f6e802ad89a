package asm

import (
	"math"
	"math/bits"
)

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
