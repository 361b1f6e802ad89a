package asm

import "math/bits"

// A Xoshiro is eight xoshiro256++ generators of Blackman and Vigna side by side:
// element i of the four rows is the state s0 … s3 of generator i. One output of
// 64 bits from each makes a plane of random bits for ReplicaBits replicas. It is
// several times faster than Philox, but its draws come in sequence.
type Xoshiro [4][ReplicaWords]uint64

// Seed sets the states from sixteen blocks of the stream, from block first.
func (x *Xoshiro) Seed(c *Counter, first uint64) {
	var words [2 * 4 * ReplicaWords]uint32
	PhiloxBlocks(words[:], c, first)
	for i := range 4 * ReplicaWords {
		x[i/ReplicaWords][i%ReplicaWords] = uint64(words[2*i+1])<<32 | uint64(words[2*i])
	}
}

// next returns one output of each generator.
func (x *Xoshiro) next() (out [ReplicaWords]uint64) {
	for i := range out {
		s0, s1, s2, s3 := x[0][i], x[1][i], x[2][i], x[3][i]
		out[i] = bits.RotateLeft64(s0+s3, 23) + s0
		t := s1 << 17
		s2 ^= s0
		s3 ^= s1
		s1 ^= s2
		s0 ^= s3
		x[0][i], x[1][i], x[2][i], x[3][i] = s0, s1, s2^t, bits.RotateLeft64(s3, 45)
	}
	return out
}
