//go:build !purego

package asm

func bitIndices(dst []uint16, state []uint64, sites []int32, scale int) {
	switch {
	case useAVX512:
		bitIndicesAVX512(dst, state, sites, scale)
	case useAVX2:
		bitIndicesAVX2(dst, state, sites, scale)
	default:
		bitIndicesGeneric(dst, state, sites, scale)
	}
}

func bitLogits(dst *[BitSamples]float32, tables, output []float32, index []uint16, bias float32) {
	switch {
	case useAVX512:
		bitLogitsAVX512(dst, tables, output, index, bias)
	case useAVX2:
		bitLogitsAVX2(dst, tables, output, index, bias)
	default:
		bitLogitsGeneric(dst, tables, output, index, bias)
	}
}

func bitGradient(dTables, dOutput, tables, output []float32, index []uint16, scale, residual *[BitSamples]float32) {
	switch {
	case useAVX512:
		bitGradientAVX512(dTables, dOutput, tables, output, index, scale, residual)
	case useAVX2:
		bitGradientAVX2(dTables, dOutput, tables, output, index, scale, residual)
	default:
		bitGradientGeneric(dTables, dOutput, tables, output, index, scale, residual)
	}
}

func heatBath(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, words *[BitSamples]uint32) uint64 {
	switch {
	case useAVX512:
		return heatBathAVX512(logq, residual, logits, words)
	case useAVX2:
		return heatBathAVX2(logq, residual, logits, words)
	}
	return heatBathGeneric(logq, residual, logits, words)
}

func bitScore(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, spins uint64) {
	switch {
	case useAVX512:
		bitScoreAVX512(logq, residual, logits, spins)
	case useAVX2:
		bitScoreAVX2(logq, residual, logits, spins)
	default:
		bitScoreGeneric(logq, residual, logits, spins)
	}
}

func bitTables(tables, weights, bias []float32) {
	switch {
	case useAVX512:
		bitTablesAVX512(tables, weights, bias)
	case useAVX2:
		bitTablesAVX2(tables, weights, bias)
	default:
		bitTablesGeneric(tables, weights, bias)
	}
}

func bitFold(weights, tables []float32, k int) {
	switch {
	case useAVX512:
		bitFoldAVX512(weights, tables, k)
	case useAVX2:
		bitFoldAVX2(weights, tables, k)
	default:
		bitFoldGeneric(weights, tables, k)
	}
}

func bitDraw(thresholds []uint32, state []uint64, sites []int32, words *[BitSamples]uint32) uint64 {
	switch {
	case useAVX512:
		return bitDrawAVX512(thresholds, state, sites, words)
	case useAVX2:
		return bitDrawAVX2(thresholds, state, sites, words)
	}
	return bitDrawGeneric(thresholds, state, sites, words)
}

func bitLookup(dst *[BitSamples]float64, table []float64, scale float64, state []uint64, sites []int32) {
	switch {
	case useAVX512:
		bitLookupAVX512(dst, table, scale, state, sites)
	case useAVX2:
		bitLookupAVX2(dst, table, scale, state, sites)
	default:
		bitLookupGeneric(dst, table, scale, state, sites)
	}
}
