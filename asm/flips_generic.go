package asm

// The conversion keeps the compiler from fusing products with sums.
func flipSumsGeneric(dst, weights, x []float32, flips []uint32, first int) {
	clear(dst)
	for ; len(dst) > 0; dst, first = dst[FlipBlock:], first+FlipBlock {
		for _, flip := range flips {
			for i, w := range weights[:FlipBlock] {
				dst[i] += float32(w * x[uint32(first+i)^flip])
			}
			weights = weights[FlipBlock:]
		}
	}
}
