package asm

import (
	"math"
	"math/bits"
)

// hammingDistancesGeneric sets the Hamming distances of a tile's columns: of the
// given words of the rows and of columns whose words begin stride after those of the
// column before. With add they are added to those already there. It returns the least.
func hammingDistancesGeneric(distances *hammingCounts, rows, states []uint64, columns, words, stride int, add bool) (least uint64) {
	least = math.MaxUint64
	for i := range columns {
		for r := range HammingRows {
			var h int
			for k, x := range states[i*stride : i*stride+words] {
				h += bits.OnesCount64(rows[k*HammingRows+r] ^ x)
			}
			if add {
				h += int(distances[i*HammingRows+r])
			}
			distances[i*HammingRows+r] = uint64(h)
			least = min(least, uint64(h))
		}
	}
	return least
}

// hammingWeighGeneric sets the values w_c Spin(h_rc) of a tile's columns and adds
// their parts of the loss, in float32 within the tile, and of the base.
func hammingWeighGeneric(values *hammingValues, loss []float64, base []float32, distances *hammingCounts, weights []float32, t *HammingTables) {
	for r := range HammingRows {
		var lossSum, baseSum float32
		for i, w := range weights {
			h := distances[i*HammingRows+r]
			v := w * t.spin[h]
			values[i*HammingRows+r] = v
			lossSum += w * t.loss[h]
			if t.base != nil {
				baseSum += w * t.base[h]
			} else {
				baseSum += v
			}
		}
		loss[r] += float64(lossSum)
		base[r] += baseSum
	}
}

// hammingTabulateGeneric sets entry p of each group's table to the sum of the
// group's values, each added where its bit of p is set and else subtracted.
func hammingTabulateGeneric(table *hammingTable, values *hammingValues) {
	for g := range tileGroups {
		for r := range HammingRows {
			var v [groupColumns]float32
			for column := range v {
				v[column] = values[(g*groupColumns+column)*HammingRows+r]
			}
			half, lane := r&^15, r&15
			for p := range 1 << groupColumns {
				signed := v
				for column := range signed {
					if p>>column&1 == 0 {
						signed[column] = -signed[column]
					}
				}
				table[hammingEntry(g, half, p)+lane] = signed[0] + signed[1] + (signed[2] + signed[3] + signed[4])
			}
		}
	}
}

// hammingGatherGeneric adds to the sums of each spin, [spin][row], the entries
// that its patterns select.
func hammingGatherGeneric(sums []float32, table *hammingTable, patterns [][tileGroups]uint8) {
	for d := range patterns {
		for row := 0; row < HammingRows; row += HammingRows / 2 {
			out := sums[d*HammingRows+row:][:HammingRows/2]
			for g, pattern := range &patterns[d] {
				entry := table[hammingEntry(g, row, int(pattern>>3)):][:HammingRows/2]
				for r := range out {
					out[r] += entry[r]
				}
			}
		}
	}
}
