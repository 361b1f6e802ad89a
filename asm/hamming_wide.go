package asm

import (
	"math"
	"math/bits"
)

// Beyond hammingNarrow spins columns are taken in tiles of groups of five. The values
// w_c Spin(h_rc) of a tile are computed once. A table holds, for each row and group, the sums
// of the group's values with all 32 patterns of signs. Each spin adds, for each group, the
// entry that its signs in those columns select. So a spin costs one addition for five columns,
// and the table stays in the innermost cache.
const (
	hammingNarrow = 64 // largest number of spins whose columns are a stream, see hammingPacked
	groupColumns  = 5
	tileGroups    = 8
	tileColumns   = groupColumns * tileGroups
	distanceWords = 32 // words of the rows, 8 KiB, that are compared with a tile at a time
)

type (
	hammingCounts = [tileColumns * HammingRows]uint64                   // [column][row]
	hammingValues = [tileColumns * HammingRows]float32                  // [column][row]
	hammingTable  = [tileGroups * (HammingRows << groupColumns)]float32 // see hammingEntry
)

// hammingEntry returns the index in a hammingTable of a pattern of a group's signs, for row 0 or
// 16. The entries of the next fifteen rows follow.
func hammingEntry(group, row, pattern int) int {
	return ((group*HammingRows + row) << groupColumns) + pattern*(HammingRows/2)
}

// packTile writes the patterns of a tile. Element d holds, for each group, the bits of spin d
// in its columns, the first column's lowest, times 8: the offset of the pattern's entry in the
// group's table in units of 8 bytes.
func (c *HammingColumns) packTile(tile int) {
	var square [64]uint64
	first := tile * tileColumns
	patterns := c.patterns[tile*c.n : (tile+1)*c.n]
	for w := range c.words {
		clear(square[:])
		for i := range min(tileColumns, c.Len()-first) {
			square[i] = c.states[(first+i)*2*c.words+w]
		}
		Transpose64(&square)
		for k, columns := range square[:min(64, c.n-64*w)] {
			pattern := &patterns[64*w+k]
			for g := range pattern {
				pattern[g] = uint8(columns>>(groupColumns*g)) << 3
			}
		}
	}
}

// tiles returns the number of tiles.
func (c *HammingColumns) tiles() int { return (c.Len() + tileColumns - 1) / tileColumns }

// hammingWide is HammingSums for more than hammingNarrow spins.
func hammingWide(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	var buffer [len(hammingValues{}) + len(hammingTable{}) + cacheLine/4]float32
	floats := aligned(buffer[:])
	values, table := (*hammingValues)(floats), (*hammingTable)(floats[len(hammingValues{}):])
	var counts [len(hammingCounts{}) + cacheLine/8]uint64
	distances := (*hammingCounts)(aligned(counts[:]))
	clear(loss)
	clear(base)
	clear(spin)
	for first := 0; first < c.Len(); first += tileColumns {
		last := min(first+tileColumns, c.Len())
		if !c.tileDistances(distances, rows, first, last, t.reach) {
			continue
		}
		hammingWeigh(values, loss, base, distances, c.weights[first:last], t)
		clear(values[(last-first)*HammingRows:])
		hammingTabulate(table, values)
		tile := first / tileColumns
		hammingGather(spin, table, c.patterns[tile*c.n:(tile+1)*c.n])
	}
}

// tileDistances sets the distances of the columns of a tile. It compares some words of the rows
// at a time, which stay in the innermost cache, with all columns. It reports whether any distance
// is at most reach, and returns as soon as none can be.
func (c *HammingColumns) tileDistances(distances *hammingCounts, rows []uint64, first, last, reach int) bool {
	stride := 2 * c.words
	states := c.states[first*stride : last*stride]
	words, nextWords := distanceWords, distanceWords
	if reach < 2*c.n {
		// Weakly correlated configurations differ in a third to half of their bits, 21 to 32 of
		// a word, and most are out of reach after reach/20 words or some more.
		words, nextWords = reach/20+1, 8
	}
	for from := 0; from < stride; from, words = from+words, nextWords {
		words = min(words, distanceWords, stride-from)
		least := hammingDistances(distances, rows[from*HammingRows:], states[from:], last-first, words, stride, from > 0)
		if least > uint64(reach) {
			return false
		}
	}
	return true
}

func hammingDistances(distances *hammingCounts, rows, states []uint64, columns, words, stride int, add bool) (least uint64) {
	if !useAVX2 {
		return hammingDistancesGeneric(distances, rows, states, columns, words, stride, add)
	}
	adds := 0
	if add {
		adds = 1
	}
	least = math.MaxUint64
	for row := 0; row < HammingRows; row += hammingCallRows() {
		least = min(least, hammingDistancesVector(&distances[row], &rows[row], &states[0], columns, words, stride, adds))
	}
	return least
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
	for row := 0; row < HammingRows; row += hammingCallRows() {
		hammingWeighVector(&values[row], &loss[row], &base[row], &distances[row], &weights[0], &t.pairs[0], baseTable, len(weights))
	}
}

// hammingDistancesGeneric sets the Hamming distances of the given words of rows and columns, or
// adds them to distances if add is set, and returns the least distance. Columns are stride words
// apart.
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

// hammingWeighGeneric sets the values w_c Spin(h_rc) of a tile's columns. It adds their terms to
// the base and, after a sum in float32, to the loss.
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

// hammingTabulateGeneric sets entry p of each group's table to the sum of the group's values,
// where values whose bit of p is not set are subtracted.
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
