//go:build !purego

package asm

// The assembly fills whole groups of blocks. What remains of a draw is cut from
// one more group, so that an element has the same bits whichever call draws it.
const (
	philoxGroup512 = 128     // words
	philoxGroup256 = 32      // words
	philoxLimit    = 1 << 14 // words in one call, which cannot be preempted
)

// philoxSchedule holds what all blocks of a stream share: the two keys of each
// round, the step and the purpose.
type philoxSchedule = [2*philoxRounds + 2]uint32

func (c *Counter) schedule() (s philoxSchedule) {
	k0, k1 := uint32(c.Seed), uint32(c.Seed>>32)
	for r := range philoxRounds {
		s[2*r], s[2*r+1] = k0, k1
		k0 += philoxW0
		k1 += philoxW1
	}
	s[2*philoxRounds], s[2*philoxRounds+1] = c.Step, c.Purpose
	return s
}

func philoxBlocks(dst []uint32, c *Counter, first uint64) {
	if !useAVX2 {
		philoxBlocksGeneric(dst, c, first)
		return
	}
	s, group := c.schedule(), philoxGroup256
	if useAVX512 {
		group = philoxGroup512
	}
	for len(dst) >= group {
		n := min(len(dst), philoxLimit) &^ (group - 1)
		philoxBlocksGroups(dst[:n], first, &s)
		dst, first = dst[n:], first+uint64(n/4)
	}
	if len(dst) > 0 {
		var rest [philoxGroup512]uint32
		philoxBlocksGroups(rest[:group], first, &s)
		copy(dst, rest[:])
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
	s, group := c.schedule(), philoxGroup256
	if useAVX512 {
		group = philoxGroup512
	}
	for len(dst) >= group {
		n := min(len(dst), philoxLimit) &^ (group - 1)
		uniformsGroups(dst[:n], first, &s)
		dst, first = dst[n:], first+uint64(n/4)
	}
	if len(dst) > 0 {
		var rest [philoxGroup512]float32
		uniformsGroups(rest[:group], first, &s)
		copy(dst, rest[:])
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
	s, group := c.schedule(), philoxGroup256
	if useAVX512 {
		group = philoxGroup512
	}
	for len(dst) >= group {
		n := min(len(dst), philoxLimit) &^ (group - 1)
		normalsGroups(dst[:n], first, &s)
		dst, first = dst[n:], first+uint64(n/4)
	}
	if len(dst) > 0 {
		var rest [philoxGroup512]float32
		normalsGroups(rest[:group], first, &s)
		copy(dst, rest[:])
	}
}

func normalsGroups(dst []float32, first uint64, s *philoxSchedule) {
	if useAVX512 {
		normalsAVX512(dst, first, s)
	} else {
		normalsAVX2(dst, first, s)
	}
}

func compareDigit(below, open *[bernoulliStretch]uint64, words *[2 * bernoulliStretch]uint32, digit uint64) uint64 {
	switch {
	case useAVX512:
		return compareDigitAVX512(below, open, words, digit)
	case useAVX2:
		return compareDigitAVX2(below, open, words, digit)
	}
	return compareDigitGeneric(below, open, words, digit)
}
