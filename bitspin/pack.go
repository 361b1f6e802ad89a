package bitspin

import (
	"fmt"

	"github.com/revgen/revgen/asm"
)

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
