package asm

import (
	"math"
	"slices"
)

// hammingPacked holds columns as a stream for the assembly, see packNarrow.
type hammingPacked struct {
	ready     bool     // the stream has all columns
	groups    int      // of spins, each with 1<<groupBits buckets
	groupBits int      // spins of a group
	words     int      // of 32 bits in a column, without the weight
	stream    []uint32 // chunks
	chunks    []int    // where each begins in the stream

	keys, spare []uint64        // column<<16 | hash of the first configuration
	runs        []run           // in order of keys
	sorted      []run           // by length, see packNarrow
	offsets     [maxRun + 1]int // of each length in sorted
}

// A run is some columns, neighbours in keys, with the same first configuration.
type run struct{ begin, length int32 }

const (
	maxRun       = 64   // columns, in a run and in a segment
	maxChunk     = 2048 // columns, in one call of the assembly
	smallBuckets = 96   // buckets, up to 15 spins
	largeBuckets = 256  // buckets, more spins: enough for all groups
	bucketBytes  = 64   // bytes between buckets of 16 rows
)

func (p *hammingPacked) init(n, capacity int) {
	if bestPath == Generic {
		return // no kernel here reads a stream
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
	p.keys, p.spare = make([]uint64, 0, capacity), make([]uint64, 0, capacity)
	p.runs, p.sorted = make([]run, 0, capacity), make([]run, 0, capacity)
}

// packNarrow writes the stream of columns of up to hammingNarrow spins.
//
// Columns with the same first configuration become neighbours, a run, because the sum of their
// values has to be signed by its spins only once. Runs are ordered by length, so that branches
// of the assembly's loops are predicted. Runs of one length are ordered by a hash, so that
// neighbouring runs rarely wait for each other to add to the same bucket.
func (c *HammingColumns) packNarrow() {
	p := &c.packed
	p.ready = useAVX2
	if !p.ready {
		return
	}
	c.findRuns()
	clear(p.offsets[:])
	for _, r := range p.runs {
		p.offsets[r.length]++
	}
	longer := 0
	for length := maxRun; length > 0; length-- {
		longer, p.offsets[length] = longer+p.offsets[length], longer
	}
	p.sorted = slices.Grow(p.sorted[:0], len(p.runs))[:len(p.runs)]
	for _, r := range p.runs {
		p.sorted[p.offsets[r.length]] = r
		p.offsets[r.length]++
	}

	p.stream, p.chunks = p.stream[:0], p.chunks[:0]
	chunkColumns := maxChunk
	for i := 0; i < len(p.sorted); {
		length := int(p.sorted[i].length)
		n := 1
		for n < maxRun/length && i+n < len(p.sorted) && int(p.sorted[i+n].length) == length {
			n++
		}
		if chunkColumns+n*length > maxChunk {
			if i > 0 {
				p.stream = append(p.stream, 0)
			}
			p.chunks = append(p.chunks, len(p.stream))
			chunkColumns = 0
		}
		chunkColumns += n * length
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
	hashBits := min(c.n, 16)
	p.keys, p.spare = p.keys[:0], p.spare[:0]
	for i := range c.weights {
		var h uint64
		for _, x := range c.states[i*w : i*w+c.words] {
			h = (h ^ x) * multiplier
		}
		if c.n > 16 {
			h >>= 48
		}
		p.keys = append(p.keys, uint64(i)<<16|h&(1<<hashBits-1))
	}
	p.spare = slices.Grow(p.spare, len(p.keys))[:len(p.keys)]
	const digit = 9 // bits of a radix sort
	for shift := 0; shift < hashBits; shift += digit {
		var offsets [1 << digit]int32
		mask := uint64(1)<<min(digit, hashBits-shift) - 1
		for _, k := range p.keys {
			offsets[k>>shift&mask]++
		}
		var sum int32
		for d, n := range offsets {
			offsets[d] = sum
			sum += n
		}
		for _, k := range p.keys {
			d := k >> shift & mask
			p.spare[offsets[d]] = k
			offsets[d]++
		}
		p.keys, p.spare = p.spare, p.keys
	}
	p.runs = p.runs[:0]
	for begin := 0; begin < len(p.keys); {
		end := begin + 1
		for end < len(p.keys) && end-begin < maxRun && c.sameFirst(p.keys[begin], p.keys[end]) {
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
	columns := p.keys[r.begin : r.begin+r.length]
	x := c.states[int(columns[0]>>16)*2*w:]
	stream := p.stream
	for g := range p.groups {
		pattern := uint32(x[0]>>(g*p.groupBits)) & (1<<p.groupBits - 1)
		bucket := uint32(g)<<p.groupBits | pattern
		stream = append(stream, bucket*bucketBytes)
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

// hammingCallRows returns the number of rows that a call of the assembly takes.
func hammingCallRows() int {
	if useAVX512 {
		return HammingRows
	}
	return HammingRows / 2
}

// lookupEntries is the length of the tables of the kernels for up to 64 spins: 129 entries,
// rounded up to whole vectors.
const lookupEntries = 144

func hammingSumsPacked(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables, buckets []float32) {
	p := &c.packed
	clear(loss)
	clear(base)
	var words [4*HammingRows + cacheLine/4]uint32
	narrow := (*[4 * HammingRows]uint32)(aligned(words[:]))
	var buffer [3*lookupEntries + cacheLine/4]float32
	tables := aligned(buffer[:])
	lossTable, spinTable, baseTable := tables, tables[lookupEntries:], tables[2*lookupEntries:]
	copy(lossTable, t.loss)
	copy(spinTable, t.spin)
	var baseEntry *float32
	if t.base != nil {
		copy(baseTable, t.base)
		baseEntry = &baseTable[0]
	}
	p.narrowRows(narrow, rows)
	callRows := hammingCallRows()
	for row := 0; row < HammingRows; row += callRows {
		if row > 0 {
			clear(buckets)
		}
		for _, chunk := range p.chunks {
			stream, stride := &p.stream[chunk], 4*p.groups
			switch {
			case c.n <= 15:
				hamming15Vector(&loss[row], &base[row], &buckets[0], &narrow[row], stream, &lossTable[0], baseEntry, &spinTable[0], p.groups, 0, stride)
			case c.n <= 16:
				hamming16Vector(&loss[row], &base[row], &buckets[0], &narrow[row], stream, &lossTable[0], baseEntry, &spinTable[0], p.groups, 0, stride)
			case c.n <= 31:
				hamming31Vector(&loss[row], &base[row], &buckets[0], &narrow[row], stream, &lossTable[0], baseEntry, &spinTable[0], p.groups, 0, stride)
			default:
				hamming64Vector(&loss[row], &base[row], &buckets[0], &narrow[row], stream, &lossTable[0], baseEntry, &spinTable[0], p.groups, 0, stride)
			}
		}
		for g := range p.groups {
			first := g * p.groupBits
			if bits := min(p.groupBits, c.n-first); bits > 0 {
				hammingSignedVector(&spin[first*HammingRows+row], &buckets[g<<p.groupBits*callRows], bits)
			}
		}
		if t.base == nil {
			copy(base[row:row+callRows], buckets)
		}
	}
}

// narrowRows writes rows of up to 64 spins in words of 32 bits, in the order of a column's.
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
