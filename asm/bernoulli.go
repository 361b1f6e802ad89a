package asm

import (
	"math"
	"math/bits"
)

const (
	bernoulliBits    = 32  // of the probability
	bernoulliStretch = 128 // words that are decided together
)

// Bernoulli sets every bit of dst independently with probability p, 0 ≤ p ≤ 1,
// rounded to a multiple of 2⁻³².
//
// Bit b of dst[i] compares p with a uniform number whose k-th binary digit is
// bit b of word i of plane k = 0 … 31. The 64-bit words of a plane, low half
// first, are the stream's blocks from first + k·2⁵⁸ on, two to a block; len(dst)
// must be even and first + len(dst)/2 below 2⁵⁸. Planes are drawn only until all
// bits of some stretch of dst are decided, on average two for a bit alone and
// about 14 for a stretch, which does not change the result. All paths give the
// same bits.
func Bernoulli(dst []uint64, p float64, c *Counter, first uint64) {
	if len(dst)%2 != 0 || !(0 <= p && p <= 1) {
		panic("asm: Bernoulli needs whole blocks and a probability")
	}
	threshold := uint64(math.RoundToEven(math.Ldexp(p, bernoulliBits)))
	for len(dst) > 0 {
		n := min(len(dst), bernoulliStretch)
		bernoulli(dst[:n], threshold, c, first)
		dst, first = dst[n:], first+uint64(n/2)
	}
}

// bernoulli draws one stretch.
func bernoulli(dst []uint64, threshold uint64, c *Counter, first uint64) {
	if threshold>>bernoulliBits != 0 {
		for i := range dst {
			dst[i] = ^uint64(0)
		}
		return
	}
	var words [2 * bernoulliStretch]uint32
	var below, open [bernoulliStretch]uint64 // less than the threshold; equal in all digits so far
	for i := range dst {
		open[i] = ^uint64(0)
	}
	// Below the last digit 1 of the threshold no number can still be smaller.
	for k := range bernoulliBits - bits.TrailingZeros32(uint32(threshold)) {
		PhiloxBlocks(words[:2*len(dst)], c, first+uint64(k)<<58)
		digit := -(threshold >> (bernoulliBits - 1 - k) & 1)
		if compareDigit(&below, &open, &words, digit) == 0 {
			break
		}
	}
	copy(dst, below[:])
}

// compareDigitGeneric compares one binary digit of many random numbers with that
// of a threshold, all zeros or all ones, and returns a number that is zero if
// all are decided.
func compareDigitGeneric(below, open *[bernoulliStretch]uint64, words *[2 * bernoulliStretch]uint32, digit uint64) (left uint64) {
	for i := range open {
		u := uint64(words[2*i+1])<<32 | uint64(words[2*i])
		below[i] |= open[i] & digit &^ u
		open[i] &^= digit ^ u
		left |= open[i]
	}
	return left
}
