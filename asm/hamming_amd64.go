//go:build !purego

package asm

func hammingSums(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	switch {
	case c.n > hammingNarrow:
		hammingWide(loss, base, spin, rows, c, t)
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

// hammingLookup is the length of the tables of the kernels for up to 64 spins:
// 129 entries and the rest of a vector.
const hammingLookup = 144

func hammingSumsPacked(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables, buckets []float32) {
	p := &c.packed
	clear(loss)
	clear(base)
	var narrow [4 * HammingRows]uint32
	var space [3*hammingLookup + cacheLine/4]float32
	tables := aligned(space[:])
	// Only the first pass over the columns counts for the loss and the base.
	var droppedLoss [HammingRows]float64
	var droppedBase [HammingRows]float32
	lossTable, spinTable, baseTable := tables, tables[hammingLookup:], tables[2*hammingLookup:]
	copy(lossTable, t.loss)
	copy(spinTable, t.spin)
	a := hammingArgs{lossTable: &lossTable[0], spinTable: &spinTable[0], stride: 4 * p.groups}
	if t.base != nil {
		copy(baseTable, t.base)
		a.baseTable = &baseTable[0]
	}
	p.narrowRows(&narrow, rows)
	lanes := HammingRows / 2
	if useAVX512 {
		lanes = HammingRows
	}
	dirty := false
	for lane := 0; lane < HammingRows; lane += lanes {
		a.rows = &narrow[lane]
		a.loss, a.base = &loss[lane], &base[lane]
		for group := 0; group < p.groups; group += p.bucketsSpan {
			if dirty {
				clear(buckets)
			}
			dirty = true
			a.buckets = &buckets[0]
			a.skip, a.groups = 4*group, min(p.bucketsSpan, p.groups-group)
			if group > 0 {
				a.loss, a.base = &droppedLoss[0], &droppedBase[0]
			}
			for _, chunk := range p.chunks {
				a.run(c.n, &p.stream[chunk])
			}
			for g := range a.groups {
				first := (group + g) * p.groupBits
				if bits := min(p.groupBits, c.n-first); bits > 0 {
					hammingSigned(&spin[first*HammingRows+lane], &buckets[g<<p.groupBits*lanes], bits)
				}
			}
			if group == 0 && t.base == nil {
				copy(base[lane:lane+lanes], buckets)
			}
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

// hammingArgs are the arguments of a kernel.
type hammingArgs struct {
	loss                            *float64
	base, buckets                   *float32
	rows                            *uint32
	lossTable, baseTable, spinTable *float32
	groups, skip, stride            int
}

// run adds one chunk of the stream.
func (a *hammingArgs) run(n int, stream *uint32) {
	switch {
	case useAVX512 && hasVPOPCNTDQ:
		switch {
		case n <= 15:
			hamming15VPOPCNT(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		case n <= 16:
			hamming16VPOPCNT(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		case n <= 31:
			hamming31VPOPCNT(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		default:
			hamming64VPOPCNT(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		}
	case useAVX512:
		switch {
		case n <= 15:
			hamming15AVX512(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		case n <= 16:
			hamming16AVX512(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		case n <= 31:
			hamming31AVX512(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		default:
			hamming64AVX512(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		}
	default:
		switch {
		case n <= 15:
			hamming15AVX2(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		case n <= 16:
			hamming16AVX2(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		case n <= 31:
			hamming31AVX2(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		default:
			hamming64AVX2(a.loss, a.base, a.buckets, a.rows, stream, a.lossTable, a.baseTable, a.spinTable, a.groups, a.skip, a.stride)
		}
	}
}

func hammingSigned(spin, buckets *float32, bits int) {
	if useAVX512 {
		hammingSignedAVX512(spin, buckets, bits)
	} else {
		hammingSignedAVX2(spin, buckets, bits)
	}
}
