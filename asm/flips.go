package asm

import "math/bits"

// FlipBlock is the number of configurations that the weights of FlipSums are
// grouped in.
const FlipBlock = 64

// FlipSums sums over the configurations that differ from each by one of the
// given flips:
//
//	dst[i] = Σ_k w_k(first+i) x[(first+i) ⊕ flips[k]],
//
// where configurations are numbers below len(x), a power of two, and a flip is
// the mask of the bits that change. dst takes whole blocks of FlipBlock
// configurations from first on, itself a multiple of that. weights holds those
// of the same blocks, [blocks][len(flips)][FlipBlock]. The terms are added in
// the order of the flips and rounded one by one: all paths give the same bits.
func FlipSums(dst, weights, x []float32, flips []uint32, first int) {
	n := len(x)
	if n < FlipBlock || n > 1<<31 || bits.OnesCount(uint(n)) != 1 {
		panic("asm: FlipSums: the number of configurations is not a power of two, or not whole blocks")
	}
	if first < 0 || first%FlipBlock != 0 || len(dst)%FlipBlock != 0 || first+len(dst) > n {
		panic("asm: FlipSums: dst is not whole blocks of the configurations")
	}
	checkSame("FlipSums", "weights", len(weights), len(dst)*len(flips))
	for _, f := range flips {
		if int(f) >= n {
			panic("asm: FlipSums: a flip leads beyond the configurations")
		}
	}
	if len(dst) == 0 || len(flips) == 0 {
		clear(dst)
		return
	}
	flipSums(dst, weights, x, flips, first)
}
