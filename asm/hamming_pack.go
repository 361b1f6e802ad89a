package asm

import (
	"math"
	"slices"
)

// hammingPacked holds columns as a stream for the assembly, see packNarrow.
type hammingPacked struct {
	ready             bool     // since the last column was appended
	groups, groupBits int      // spins share groups; each group has 1<<groupBits buckets
	words             int      // of 32 bits in a column, without the weight
	stream            []uint32 // chunks
	chunks            []int    // where each begins

	key, spare []uint64 // column<<16 | hash of the first configuration
	runs       []run
	sorted     []run
	byLength   [maxRun + 2]int
}

// A run is a number of columns with the same first configuration.
type run struct{ begin, length int32 }

const (
	maxRun        = 64   // columns, in a run and in a segment
	maxChunk      = 2048 // columns, in one call of the assembly
	hammingSmall  = 96   // buckets, up to 15 spins
	hammingLarge  = 256  // buckets, more spins: enough for all groups
	hammingStride = 64   // bytes between buckets of 16 rows
)

func (p *hammingPacked) init(n, capacity int) {
	if best == Generic {
		return // nothing reads a stream
	}
	switch {
	case n <= 10:
		p.groups = 2
	case n <= 16:
		p.groups = 3
	case n <= 40:
		p.groups = (n + 4) / 5
	default:
		p.groups = (n + 3) / 4
	}
	p.groupBits = (n + p.groups - 1) / p.groups
	switch {
	case n <= 16:
		p.words = 1
	case n <= 31:
		p.words = 2
	default:
		p.words = 4
	}
	p.stream = make([]uint32, 0, capacity*(p.groups+p.words+1)+2*(capacity/(maxRun/2)+maxRun)+capacity/(maxChunk-maxRun)+2)
	p.chunks = make([]int, 0, capacity/(maxChunk-maxRun)+1)
	p.key, p.spare = make([]uint64, 0, capacity), make([]uint64, 0, capacity)
	p.runs, p.sorted = make([]run, 0, capacity), make([]run, 0, capacity)
}

// packNarrow writes the stream of columns of up to hammingNarrow spins.
//
// Columns with the same first configuration are made neighbours, because their
// values need to be signed by its spins only once, after they have been added.
// Runs are then ordered by length, so that the loops of the assembly run the
// same number of times again and again and their branches are predicted, and
// within a length by a hash, so that neighbouring runs rarely add to the same
// bucket and do not wait for each other.
func (c *HammingColumns) packNarrow() {
	p := &c.packed
	p.ready = useAVX2
	if !p.ready {
		return
	}
	c.findRuns()
	clear(p.byLength[:])
	for _, r := range p.runs {
		p.byLength[r.length]++
	}
	at := 0
	for length := maxRun; length > 0; length-- {
		at, p.byLength[length] = at+p.byLength[length], at
	}
	p.byLength[0] = at
	p.sorted = slices.Grow(p.sorted[:0], len(p.runs))[:len(p.runs)]
	for _, r := range p.runs {
		p.sorted[p.byLength[r.length]] = r
		p.byLength[r.length]++
	}

	p.stream, p.chunks = p.stream[:0], p.chunks[:0]
	inChunk := maxChunk
	for i := 0; i < len(p.sorted); {
		length := int(p.sorted[i].length)
		n := 1
		for n < maxRun/length && i+n < len(p.sorted) && int(p.sorted[i+n].length) == length {
			n++
		}
		if inChunk+n*length > maxChunk {
			if i > 0 {
				p.stream = append(p.stream, 0)
			}
			p.chunks = append(p.chunks, len(p.stream))
			inChunk = 0
		}
		inChunk += n * length
		p.stream = append(p.stream, uint32(n), uint32(length-1))
		for _, r := range p.sorted[i : i+n] {
			c.packRun(r)
		}
		i += n
	}
	p.stream = append(p.stream, 0)
}

// findRuns sorts the columns by a hash of their first configuration, which up
// to 16 spins is one-to-one, and cuts them into runs.
func (c *HammingColumns) findRuns() {
	const multiplier = 0x9E3779B97F4A7C15 // odd; 2⁶⁴ divided by the golden ratio
	p := &c.packed
	w := 2 * c.words
	bits := min(c.n, 16)
	p.key, p.spare = p.key[:0], p.spare[:0]
	for i := range c.weights {
		var h uint64
		for _, x := range c.states[i*w : i*w+c.words] {
			h = (h ^ x) * multiplier
		}
		if c.n > 16 {
			h >>= 48
		}
		p.key = append(p.key, uint64(i)<<16|h&(1<<bits-1))
	}
	p.spare = slices.Grow(p.spare, len(p.key))[:len(p.key)]
	const digit = 9
	for shift := 0; shift < bits; shift += digit {
		var at [1 << digit]int32
		mask := uint64(1)<<min(digit, bits-shift) - 1
		for _, k := range p.key {
			at[k>>shift&mask]++
		}
		var sum int32
		for d, n := range at {
			at[d] = sum
			sum += n
		}
		for _, k := range p.key {
			d := k >> shift & mask
			p.spare[at[d]] = k
			at[d]++
		}
		p.key, p.spare = p.spare, p.key
	}
	p.runs = p.runs[:0]
	for begin := 0; begin < len(p.key); {
		end := begin + 1
		for end < len(p.key) && end-begin < maxRun && c.sameFirst(p.key[begin], p.key[end]) {
			end++
		}
		p.runs = append(p.runs, run{int32(begin), int32(end - begin)})
		begin = end
	}
}

// sameFirst reports whether the columns of two keys have the same first
// configuration.
func (c *HammingColumns) sameFirst(k, l uint64) bool {
	return (k^l)&(1<<16-1) == 0 && (c.n <= 16 || c.equalFirst(k>>16, l>>16))
}

func (c *HammingColumns) equalFirst(i, j uint64) bool {
	w := uint64(c.words)
	return slices.Equal(c.states[2*w*i:2*w*i+w], c.states[2*w*j:2*w*j+w])
}

// packRun appends a run to the stream.
func (c *HammingColumns) packRun(r run) {
	p := &c.packed
	w := c.words
	columns := p.key[r.begin : r.begin+r.length]
	x := c.states[int(columns[0]>>16)*2*w:]
	stream := p.stream
	for g := range p.groups {
		pattern := uint32(x[0]>>(g*p.groupBits)) & (1<<p.groupBits - 1)
		bucket := uint32(g)<<p.groupBits | pattern
		stream = append(stream, bucket*hammingStride)
	}
	for _, k := range columns {
		i := int(k >> 16)
		weight := math.Float32bits(c.weights[i])
		if p.words == 1 {
			pair := c.states[2*i : 2*i+2]
			stream = append(stream, uint32(pair[0])|uint32(pair[1])<<16, weight)
			continue
		}
		for _, v := range c.states[2*w*i : 2*w*(i+1)] {
			stream = append(stream, uint32(v))
			if p.words > 2 {
				stream = append(stream, uint32(v>>32))
			}
		}
		stream = append(stream, weight)
	}
	p.stream = stream
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
