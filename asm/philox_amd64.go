//go:build !purego

package asm

import "math/bits"

// The assembly fills whole groups of blocks. What remains of a draw is cut from
// one more group, so that an element has the same bits whichever call draws it.
const (
	philoxGroup512 = 128     // words
	philoxGroup256 = 32      // words
	philoxLimit    = 1 << 14 // words in one call, which cannot be preempted
)

// philoxSchedule holds what all blocks of a call share: two keys for each round.
// Their counters differ in the first word alone. So after one round x0 and x1 are
// the same in all blocks, and x3 after two; in place of the keys that are
// combined with these words there is what they combine to, and the first key is
// not needed.
type philoxSchedule = [2 * philoxRounds]uint32

// schedule returns the schedule of blocks whose numbers have the same upper half
// as first.
func (c *Counter) schedule(first uint64) (s philoxSchedule) {
	k0, k1 := uint32(c.Seed), uint32(c.Seed>>32)
	for r := range philoxRounds {
		s[2*r], s[2*r+1] = k0, k1
		k0 += philoxW0
		k1 += philoxW1
	}
	h1, l1 := bits.Mul32(philoxM1, c.Step)
	h0, l0 := bits.Mul32(philoxM0, h1^uint32(first>>32)^s[0])
	s[0] = 0
	s[1] ^= c.Purpose
	s[2] ^= l1
	s[3] ^= h0
	s[5] ^= l0
	return s
}

// untilCarry returns the number of words before the upper half of the blocks'
// numbers changes.
func untilCarry(first uint64) int { return 4 * int(1<<32-first%(1<<32)) }

// philoxGroup returns the number of words in a group.
func philoxGroup() int {
	if useAVX512 {
		return philoxGroup512
	}
	return philoxGroup256
}

// philoxGroups returns how many of n words one call draws, whole groups.
func philoxGroups(n int) int { return min(n, philoxLimit) &^ (philoxGroup() - 1) }

func philoxBlocks(dst []uint32, c *Counter, first uint64) {
	if !useAVX2 {
		philoxBlocksGeneric(dst, c, first)
		return
	}
	for len(dst) > 0 {
		s, n := c.schedule(first), min(len(dst), untilCarry(first))
		if groups := philoxGroups(n); groups > 0 {
			n = groups
			philoxBlocksGroups(dst[:n], first, &s)
		} else {
			var rest [philoxGroup512]uint32
			philoxBlocksGroups(rest[:philoxGroup()], first, &s)
			copy(dst[:n], rest[:])
		}
		dst, first = dst[n:], first+uint64(n/4)
	}
}

func philoxBlocksGroups(dst []uint32, first uint64, s *philoxSchedule) {
	if useAVX512 {
		philoxBlocksAVX512(dst, first, s)
	} else {
		philoxBlocksAVX2(dst, first, s)
	}
}

func uniforms(dst []float32, c *Counter, first uint64) {
	if !useAVX2 {
		uniformsGeneric(dst, c, first)
		return
	}
	for len(dst) > 0 {
		s, n := c.schedule(first), min(len(dst), untilCarry(first))
		if groups := philoxGroups(n); groups > 0 {
			n = groups
			uniformsGroups(dst[:n], first, &s)
		} else {
			var rest [philoxGroup512]float32
			uniformsGroups(rest[:philoxGroup()], first, &s)
			copy(dst[:n], rest[:])
		}
		dst, first = dst[n:], first+uint64(n/4)
	}
}

func uniformsGroups(dst []float32, first uint64, s *philoxSchedule) {
	if useAVX512 {
		uniformsAVX512(dst, first, s)
	} else {
		uniformsAVX2(dst, first, s)
	}
}

func normals(dst []float32, c *Counter, first uint64) {
	if !useAVX2 {
		normalsGeneric(dst, c, first)
		return
	}
	for len(dst) > 0 {
		s, n := c.schedule(first), min(len(dst), untilCarry(first))
		if groups := philoxGroups(n); groups > 0 {
			n = groups
			normalsGroups(dst[:n], first, &s)
		} else {
			var rest [philoxGroup512]float32
			normalsGroups(rest[:philoxGroup()], first, &s)
			copy(dst[:n], rest[:])
		}
		dst, first = dst[n:], first+uint64(n/4)
	}
}

func normalsGroups(dst []float32, first uint64, s *philoxSchedule) {
	if useAVX512 {
		normalsAVX512(dst, first, s)
	} else {
		normalsAVX2(dst, first, s)
	}
}
