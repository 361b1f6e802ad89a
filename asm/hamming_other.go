package asm

func hammingSums(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	hammingSumsGeneric(loss, base, spin, rows, c, t)
}
