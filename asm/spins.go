package asm

// SignMask packs the signs of logits, row-major [rows][n], into configurations
// of ceil(n/64) words each: bit i of row r is 1, spin up, exactly where
// logits[r*n+i] > 0. Zeros of either sign and NaN give spin down; bits from n
// up are zero. All paths give the same bits.
func SignMask(dst []uint64, logits []float32, rows, n int) {
	checkSpins(len(dst), len(logits), rows, n)
	signMask(dst, logits, rows, n)
}

// Unpack writes configurations of ceil(n/64) words each as numbers, row-major
// [rows][n]: +1 where the bit is 1, −1 where it is 0.
func Unpack(dst []float32, spins []uint64, rows, n int) {
	checkSpins(len(spins), len(dst), rows, n)
	unpack(dst, spins, rows, n)
}

// Transpose64 exchanges bit j of word i with bit i of word j. All paths give the same
// bits.
func Transpose64(a *[64]uint64) { transpose64(a) }

func checkSpins(words, values, rows, n int) {
	if rows < 0 || n < 1 || words != rows*((n+63)/64) || values != rows*n {
		panic("asm: lengths of spins and values do not match rows and n")
	}
}
