//go:build !amd64 || purego

package asm

func flipSums(dst, weights, x []float32, flips []uint32, first int) {
	flipSumsGeneric(dst, weights, x, flips, first)
}
