//go:build !amd64 || purego

package asm

func philoxBlocks(dst []uint32, c *Counter, first uint64) { philoxBlocksGeneric(dst, c, first) }
func uniforms(dst []float32, c *Counter, first uint64)    { uniformsGeneric(dst, c, first) }
func normals(dst []float32, c *Counter, first uint64)     { normalsGeneric(dst, c, first) }

func compareDigit(below, open *[bernoulliStretch]uint64, words *[2 * bernoulliStretch]uint32, digit uint64) uint64 {
	return compareDigitGeneric(below, open, words, digit)
}
