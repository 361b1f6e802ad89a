//go:build !amd64 || purego

package asm

func bitIndices(dst []uint16, state []uint64, sites []int32, scale int) {
	bitIndicesGeneric(dst, state, sites, scale)
}

func bitLogits(dst *[BitSamples]float32, tables, output []float32, index []uint16, bias float32) {
	bitLogitsGeneric(dst, tables, output, index, bias)
}

func bitGradient(dTables, dOutput, tables, output []float32, index []uint16, scale, residual *[BitSamples]float32) {
	bitGradientGeneric(dTables, dOutput, tables, output, index, scale, residual)
}

func heatBath(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, words *[BitSamples]uint32) uint64 {
	return heatBathGeneric(logq, residual, logits, words)
}

func bitScore(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, spins uint64) {
	bitScoreGeneric(logq, residual, logits, spins)
}

func bitTables(tables, weights, bias []float32) { bitTablesGeneric(tables, weights, bias) }

func bitFold(weights, tables []float32, k int) { bitFoldGeneric(weights, tables, k) }

func bitDraw(thresholds []uint32, state []uint64, sites []int32, words *[BitSamples]uint32) uint64 {
	return bitDrawGeneric(thresholds, state, sites, words)
}

func bitLookup(dst *[BitSamples]float64, table []float64, scale float64, state []uint64, sites []int32) {
	bitLookupGeneric(dst, table, scale, state, sites)
}
