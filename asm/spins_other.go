//go:build !amd64 || purego

package asm

func signMask(dst []uint64, logits []float32, rows, n int) { signMaskGeneric(dst, logits, rows, n) }
func unpack(dst []float32, spins []uint64, rows, n int)    { unpackGeneric(dst, spins, rows, n) }
func transpose64(a *[64]uint64)                            { transpose64Generic(a) }
