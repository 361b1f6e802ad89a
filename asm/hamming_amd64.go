//go:build !purego

package asm

import "math"

func hammingSums(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	switch {
	case !useAVX2 || !c.packed.ready:
		hammingSumsGeneric(loss, base, spin, rows, c, t)
	case c.n <= 15:
		var buckets [hammingSmall*HammingRows + cacheLine/4]float32
		hammingSumsPacked(loss, base, spin, rows, c, t, aligned(buckets[:]))
	default:
		var buckets [hammingLarge*HammingRows + cacheLine/4]float32
		hammingSumsPacked(loss, base, spin, rows, c, t, aligned(buckets[:]))
	}
}

// hammingLanes returns the number of rows that a call of the assembly takes.
func hammingLanes() int {
	if useAVX512 {
		return HammingRows
	}
	return HammingRows / 2
}

// hammingLookup is the length of the tables of the kernels for up to 64 spins:
// 129 entries and the rest of a vector.
const hammingLookup = 144

func hammingSumsPacked(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables, buckets []float32) {
	p := &c.packed
	clear(loss)
	clear(base)
	var words [4*HammingRows + cacheLine/4]uint32
	narrow := (*[4 * HammingRows]uint32)(aligned(words[:]))
	var space [3*hammingLookup + cacheLine/4]float32
	tables := aligned(space[:])
	lossTable, spinTable, baseTable := tables, tables[hammingLookup:], tables[2*hammingLookup:]
	copy(lossTable, t.loss)
	copy(spinTable, t.spin)
	var baseAt *float32
	if t.base != nil {
		copy(baseTable, t.base)
		baseAt = &baseTable[0]
	}
	p.narrowRows(narrow, rows)
	lanes := hammingLanes()
	for lane := 0; lane < HammingRows; lane += lanes {
		if lane > 0 {
			clear(buckets)
		}
		for _, chunk := range p.chunks {
			stream, stride := &p.stream[chunk], 4*p.groups
			switch {
			case c.n <= 15:
				hamming15Vector(&loss[lane], &base[lane], &buckets[0], &narrow[lane], stream, &lossTable[0], baseAt, &spinTable[0], p.groups, 0, stride)
			case c.n <= 16:
				hamming16Vector(&loss[lane], &base[lane], &buckets[0], &narrow[lane], stream, &lossTable[0], baseAt, &spinTable[0], p.groups, 0, stride)
			case c.n <= 31:
				hamming31Vector(&loss[lane], &base[lane], &buckets[0], &narrow[lane], stream, &lossTable[0], baseAt, &spinTable[0], p.groups, 0, stride)
			default:
				hamming64Vector(&loss[lane], &base[lane], &buckets[0], &narrow[lane], stream, &lossTable[0], baseAt, &spinTable[0], p.groups, 0, stride)
			}
		}
		for g := range p.groups {
			first := g * p.groupBits
			if bits := min(p.groupBits, c.n-first); bits > 0 {
				hammingSignedVector(&spin[first*HammingRows+lane], &buckets[g<<p.groupBits*lanes], bits)
			}
		}
		if t.base == nil {
			copy(base[lane:lane+lanes], buckets)
		}
	}
}

// narrowRows lays rows out like columns of up to 64 spins, in words of 32 bits.
func (p *hammingPacked) narrowRows(dst *[4 * HammingRows]uint32, rows []uint64) {
	for r := range HammingRows {
		a, b := rows[r], rows[HammingRows+r]
		switch p.words {
		case 1:
			dst[r] = uint32(a) | uint32(b)<<16
		case 2:
			dst[r], dst[HammingRows+r] = uint32(a), uint32(b)
		default:
			dst[r], dst[HammingRows+r] = uint32(a), uint32(a>>32)
			dst[2*HammingRows+r], dst[3*HammingRows+r] = uint32(b), uint32(b>>32)
		}
	}
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
	for row := 0; row < HammingRows; row += hammingLanes() {
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
	for row := 0; row < HammingRows; row += hammingLanes() {
		hammingWeighVector(&values[row], &loss[row], &base[row], &distances[row], &weights[0], &t.pairs[0], baseTable, len(weights))
	}
}

func hammingFinish(grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool, n int) {
	const block = 16 // rows, and spins
	blocks := n / block
	if !useAVX512 || blocks == 0 {
		hammingFinishGeneric(grad, base, spin, rows, own, scale, signed, n)
		return
	}
	signs := 0
	if signed {
		signs = -1
	}
	for lane := 0; lane < len(own); lane += block {
		hammingFinishAVX512(&grad[lane*n], &base[lane], &spin[lane], &rows[lane], &own[lane][0],
			scale, signs, 4*n, (n+63)/64, blocks, len(own)-lane)
	}
	hammingFinishFrom(blocks*block, grad, base, spin, rows, own, scale, signed, n)
}
