package bitspin

import (
	"fmt"

	"github.com/revgen/revgen/asm"
)

// Pack stores the signs of x in dst: bit = x > 0, so that logits become spins
// and ±1 floats become their bits; zero and NaN become spin −1. x is
// row-major [rows][n] with n spins a row; dst holds rows·Words(n) words.
func Pack(dst []uint64, x []float32, n int) {
	asm.SignMask(dst, x, checkRows(dst, len(x), n), n)
}

// Unpack stores the spins of a batch in dst as ±1, row-major [rows][n].
func Unpack(dst []float32, batch []uint64, n int) {
	asm.Unpack(dst, batch, checkRows(batch, len(dst), n), n)
}

// checkRows returns the number of rows of n spins in size values and panics
// unless the batch has as many configurations.
func checkRows(batch []uint64, size, n int) int {
	if n <= 0 || size%n != 0 {
		panic(fmt.Sprintf("bitspin: %d values are no whole number of configurations of %d spins", size, n))
	}
	checkBatch(batch, size/n, Words(n))
	return size / n
}
