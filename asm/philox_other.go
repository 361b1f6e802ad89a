//go:build !amd64 || purego

package asm

func philoxBlocks(dst []uint32, c *Counter, first uint64) { philoxBlocksGeneric(dst, c, first) }
func uniforms(dst []float32, c *Counter, first uint64)    { uniformsGeneric(dst, c, first) }
func normals(dst []float32, c *Counter, first uint64)     { normalsGeneric(dst, c, first) }
