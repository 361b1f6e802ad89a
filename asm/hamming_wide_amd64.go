//go:build !purego

package asm

func hammingDistances(distances *hammingCounts, rows, states []uint64, columns, words, stride int, add bool) (least uint64) {
	if !useAVX2 {
		return hammingDistancesGeneric(distances, rows, states, columns, words, stride, add)
	}
	adds := 0
	if add {
		adds = 1
	}
	switch {
	case useAVX512 && hasVPOPCNTDQ:
		return hammingDistancesVPOPCNT(&distances[0], &rows[0], &states[0], columns, words, stride, adds)
	case useAVX512:
		return hammingDistancesAVX512(&distances[0], &rows[0], &states[0], columns, words, stride, adds)
	}
	const half = HammingRows / 2
	return min(hammingDistancesAVX2(&distances[0], &rows[0], &states[0], columns, words, stride, adds),
		hammingDistancesAVX2(&distances[half], &rows[half], &states[0], columns, words, stride, adds))
}

func hammingWeigh(values *hammingValues, loss []float64, base []float32, distances *hammingCounts, weights []float32, t *HammingTables) {
	if !useAVX2 {
		hammingWeighGeneric(values, loss, base, distances, weights, t)
		return
	}
	var baseTable *float32
	if t.base != nil {
		baseTable = &t.base[0]
	}
	if useAVX512 {
		hammingWeighAVX512(&values[0], &loss[0], &base[0], &distances[0], &weights[0], &t.pairs[0], baseTable, len(weights))
		return
	}
	for half := 0; half < HammingRows; half += HammingRows / 2 {
		hammingWeighAVX2(&values[half], &loss[half], &base[half], &distances[half], &weights[0], &t.pairs[0], baseTable, len(weights))
	}
}

func hammingTabulate(table *hammingTable, values *hammingValues) {
	switch {
	case useAVX512:
		hammingTabulateAVX512(&table[0], &values[0])
	case useAVX2:
		hammingTabulateAVX2(&table[0], &values[0])
	default:
		hammingTabulateGeneric(table, values)
	}
}

func hammingGather(sums []float32, table *hammingTable, patterns [][tileGroups]uint8) {
	switch {
	case useAVX512:
		hammingGatherAVX512(&sums[0], &table[0], &patterns[0], len(patterns))
	case useAVX2:
		hammingGatherAVX2(&sums[0], &table[0], &patterns[0], len(patterns))
	default:
		hammingGatherGeneric(sums, table, patterns)
	}
}

func hammingFinish(grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool, n int) {
	const block = 16 // rows, and spins
	blocks := 0
	if useAVX512 {
		blocks = n / block
	}
	if blocks > 0 {
		signs := 0
		if signed {
			signs = -1
		}
		for lane := 0; lane < len(own); lane += block {
			hammingFinishAVX512(&grad[lane*n], &base[lane], &spin[lane], &rows[lane], &own[lane][0],
				scale, signs, 4*n, (n+63)/64, blocks, len(own)-lane)
		}
	}
	hammingFinishGeneric(grad, base, spin, rows, own, scale, signed, n, blocks*block)
}
