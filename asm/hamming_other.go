//go:build !amd64 || purego

package asm

type hammingPacked struct{}

func (*hammingPacked) init(n, capacity int) {}
func (*hammingPacked) invalidate()          {}

func (c *HammingColumns) packNarrow() {}

func hammingSums(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	if c.n > hammingNarrow {
		hammingWide(loss, base, spin, rows, c, t)
		return
	}
	hammingSumsGeneric(loss, base, spin, rows, c, t)
}

func hammingDistances(distances *hammingCounts, rows, states []uint64, columns, words, stride int, add bool) (least uint64) {
	return hammingDistancesGeneric(distances, rows, states, columns, words, stride, add)
}

func hammingWeigh(values *hammingValues, loss []float64, base []float32, distances *hammingCounts, weights []float32, t *HammingTables) {
	hammingWeighGeneric(values, loss, base, distances, weights, t)
}

func hammingTabulate(table *hammingTable, values *hammingValues) {
	hammingTabulateGeneric(table, values)
}

func hammingGather(sums []float32, table *hammingTable, patterns [][tileGroups]uint8) {
	hammingGatherGeneric(sums, table, patterns)
}

func hammingFinish(grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool, n int) {
	hammingFinishGeneric(grad, base, spin, rows, own, scale, signed, n, 0)
}
