package asm

import "math"

func signMaskGeneric(dst []uint64, logits []float32, rows, n int) {
	for range rows {
		for from := 0; from < n; from += 64 {
			var w uint64
			for i, v := range logits[from:min(from+64, n)] {
				if v > 0 {
					w |= 1 << i
				}
			}
			dst[from/64] = w
		}
		dst, logits = dst[(n+63)/64:], logits[n:]
	}
}

func unpackGeneric(dst []float32, spins []uint64, rows, n int) {
	const minusOne = 0xBF800000
	for range rows {
		for from := 0; from < n; from += 64 {
			w := ^spins[from/64]
			block := dst[from:min(from+64, n)]
			for i := range block {
				block[i] = math.Float32frombits(minusOne &^ (^uint32(w) << 31))
				w >>= 1
			}
		}
		dst, spins = dst[n:], spins[(n+63)/64:]
	}
}

// transpose64Generic exchanges first the two quarters off the diagonal, then those of
// each quarter, and so on.
func transpose64Generic(a *[64]uint64) {
	mask := uint64(1<<32 - 1)
	for width := 32; width > 0; width /= 2 {
		for i := 0; i < 64; i = (i + width + 1) &^ width {
			x := (a[i]>>width ^ a[i+width]) & mask
			a[i] ^= x << width
			a[i+width] ^= x
		}
		mask ^= mask << (width / 2)
	}
}
