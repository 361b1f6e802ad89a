//go:build !purego

package asm

// flipsLimit bounds the products in one call of the assembly, which cannot be
// preempted.
const flipsLimit = 1 << 18

func flipSums(dst, weights, x []float32, flips []uint32, first int) {
	if !useAVX2 {
		flipSumsGeneric(dst, weights, x, flips, first)
		return
	}
	part := max(1, flipsLimit/(FlipBlock*len(flips))) * FlipBlock
	for len(dst) > 0 {
		n := min(part, len(dst))
		if useAVX512 {
			flipSumsAVX512(dst[:n], weights, x, flips, first)
		} else {
			flipSumsAVX2(dst[:n], weights, x, flips, first)
		}
		dst, weights, first = dst[n:], weights[n*len(flips):], first+n
	}
}
