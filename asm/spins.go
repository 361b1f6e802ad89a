package asm

import "math"

// SignMask packs the signs of logits, row-major [rows][n], into configurations
// of ceil(n/64) words each: bit i of row r is 1, spin up, exactly where
// logits[r*n+i] > 0. Zeros of either sign and NaN give spin down; bits from n
// up are zero. All paths give the same bits.
func SignMask(dst []uint64, logits []float32, rows, n int) {
	checkSpins(len(dst), len(logits), rows, n)
	words := (n + 63) / 64
	for rows > 0 {
		part := spinsPart(rows, n)
		signMask(dst, logits, part, n)
		dst, logits, rows = dst[part*words:], logits[part*n:], rows-part
	}
}

// Unpack writes configurations of ceil(n/64) words each as numbers, row-major
// [rows][n]: +1 where the bit is 1, −1 where it is 0.
func Unpack(dst []float32, spins []uint64, rows, n int) {
	checkSpins(len(spins), len(dst), rows, n)
	words := (n + 63) / 64
	for rows > 0 {
		part := spinsPart(rows, n)
		unpack(dst, spins, part, n)
		dst, spins, rows = dst[part*n:], spins[part*words:], rows-part
	}
}

// spinsPart returns how many rows of n values a call of the assembly, which cannot be
// preempted, takes: some 30,000 values, but at least one row.
func spinsPart(rows, n int) int { return min(rows, max(1, 1<<15/n)) }

// Transpose64 exchanges bit j of word i with bit i of word j. All paths give the same
// bits.
func Transpose64(a *[64]uint64) { transpose64(a) }

func checkSpins(words, values, rows, n int) {
	panicIf(rows < 0 || n < 1 || words != rows*((n+63)/64) || values != rows*n, "lengths of spins and values do not match rows and n")
}

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

// transpose64Generic exchanges the two off-diagonal quarters, then those of each quarter, and
// so on.
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
