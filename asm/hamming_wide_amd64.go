//go:build !purego

package asm

func hammingWeigh(values *hammingValues, loss []float64, base []float32, rows, states []uint64, weights []float32, t *HammingTables) {
	if !useAVX2 {
		hammingWeighGeneric(values, loss, base, rows, states, weights, t)
		return
	}
	var baseTable *float32
	if t.base != nil {
		baseTable = &t.base[0]
	}
	words := len(rows) / HammingRows
	switch {
	case useAVX512 && hasVPOPCNTDQ:
		hammingWeighVPOPCNT(&values[0], &loss[0], &base[0], &rows[0], &states[0], &weights[0], &t.pairs[0], baseTable, len(weights), words)
	case useAVX512:
		hammingWeighAVX512(&values[0], &loss[0], &base[0], &rows[0], &states[0], &weights[0], &t.pairs[0], baseTable, len(weights), words)
	default:
		for half := 0; half < HammingRows; half += HammingRows / 2 {
			hammingWeighAVX2(&values[half], &loss[half], &base[half], &rows[half], &states[0], &weights[0], &t.pairs[0], baseTable, len(weights), words)
		}
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
