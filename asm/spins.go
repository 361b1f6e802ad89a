package asm

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

// spinsPart returns how many rows of n values a call takes: it bounds the values, some
// 30,000, as the assembly cannot be preempted. Rows longer than that are taken one at a time.
func spinsPart(rows, n int) int { return min(rows, max(1, 1<<15/n)) }

// Transpose64 exchanges bit j of word i with bit i of word j. All paths give the same
// bits.
func Transpose64(a *[64]uint64) { transpose64(a) }

func checkSpins(words, values, rows, n int) {
	refuse(rows < 0 || n < 1 || words != rows*((n+63)/64) || values != rows*n, "lengths of spins and values do not match rows and n")
}
