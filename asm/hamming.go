package asm

import "math/bits"

// HammingRows is the number of rows that HammingSums takes at a time.
const HammingRows = 32

// HammingTables are three functions of the Hamming distance h = 0 … 2n between
// two pairs of configurations of n spins.
type HammingTables struct {
	loss, base, spin []float32
	pairs            []float32 // loss and spin of each h, interleaved
	reach            int       // the largest h where a function is not 0
}

// NewHammingTables returns the functions Loss, Base and Spin of HammingSums, each of which is a
// slice of length 2n+1 that it keeps. If base is nil, Base is Spin. Kernels have subnormal
// numbers at large distances, which some processors add slowly; they become 0.
func NewHammingTables(loss, base, spin []float32) *HammingTables {
	t := &HammingTables{loss: loss, base: base, spin: spin, pairs: make([]float32, 0, 2*len(loss))}
	for _, table := range [][]float32{loss, base, spin} {
		for h, v := range table {
			if -leastNormal < v && v < leastNormal {
				table[h] = 0
			}
		}
	}
	for h := range loss {
		t.pairs = append(t.pairs, loss[h], spin[h])
		if loss[h] != 0 || spin[h] != 0 || base != nil && base[h] != 0 {
			t.reach = h
		}
	}
	return t
}

const leastNormal = 0x1p-126

// HammingColumns is a list of the columns of HammingSums, in the form in which the kernels read
// them. A column is a pair (first, second) of configurations with a weight of either sign.
// NewHammingColumns makes one; the zero value is not usable.
type HammingColumns struct {
	n, words int
	states   []uint64 // [column][2·words]: first, second
	weights  []float32
	packed   hammingPacked       // the columns as the assembly reads them, up to hammingNarrow spins
	patterns [][tileGroups]uint8 // the columns' first configurations beyond that, see packTile
}

// NewHammingColumns returns an empty list of columns of n spins each with room
// for the given number of columns.
func NewHammingColumns(n, capacity int) *HammingColumns {
	panicIf(n < 1, "columns without spins")
	words := (n + 63) / 64
	c := &HammingColumns{
		n: n, words: words,
		states:  make([]uint64, 0, 2*words*capacity),
		weights: make([]float32, 0, capacity),
	}
	if n <= hammingNarrow {
		c.packed.init(n, capacity)
	} else {
		c.patterns = make([][tileGroups]uint8, (capacity+tileColumns-1)/tileColumns*n)
	}
	return c
}

// Reset empties the list.
func (c *HammingColumns) Reset() {
	c.states, c.weights = c.states[:0], c.weights[:0]
	c.packed.ready = false
}

// Len returns the number of columns.
func (c *HammingColumns) Len() int { return len(c.weights) }

// Append adds a column. It allocates only beyond the list's capacity.
func (c *HammingColumns) Append(first, second []uint64, weight float32) {
	panicIf(len(first) != c.words || len(second) != c.words, "column of the wrong number of words")
	if c.words == 1 {
		c.states = append(c.states, first[0], second[0])
	} else {
		c.states = append(append(c.states, first...), second...)
	}
	c.weights = append(c.weights, weight)
	c.packed.ready = false
}

// Parts returns the number of parts that may be packed concurrently. After the last Append and
// before HammingSums, Parts must be called, and then PackPart for all parts.
func (c *HammingColumns) Parts() int {
	if c.n <= hammingNarrow {
		return 1
	}
	if need := c.tiles() * c.n; cap(c.patterns) < need {
		c.patterns = make([][tileGroups]uint8, need)
	}
	c.patterns = c.patterns[:c.tiles()*c.n]
	return c.tiles()
}

// PackPart prepares one part of the columns.
func (c *HammingColumns) PackPart(i int) {
	if c.n <= hammingNarrow {
		c.packNarrow()
	} else {
		c.packTile(i)
	}
}

// HammingSums computes, for each of HammingRows rows p_r = (a_r, b_r),
//
//	loss[r]                = Σ_c w_c Loss(h_rc)
//	base[r]                = Σ_c w_c Base(h_rc)
//	spin[d*HammingRows+r]  = Σ_c w_c Spin(h_rc) σ_cd,   d = 0 … n−1
//
// over the columns c = (x_c, y_c) of weight w_c, where
// h_rc = |a_r ⊕ x_c| + |b_r ⊕ y_c| and σ_cd = ±1 is spin d of x_c. Rows are
// given word by word: word k of all rows, first a then b, is
// rows[k*HammingRows : (k+1)*HammingRows], k = 0 … 2·ceil(n/64)−1.
//
// The sums are formed in float32, that of the loss in float64 after every few columns. For up
// to 10⁵ columns the error of spin is below 1e-6·w·m, with w = Σ_c |w_c| and m the largest
// |Spin|. The errors of base and loss have the same bound with |Base| and |Loss|.
func HammingSums(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	entries := 2*c.n + 1
	panicIf(len(loss) != HammingRows || len(base) != HammingRows || len(spin) != c.n*HammingRows, "sums of the wrong length")
	panicIf(len(rows) != 2*c.words*HammingRows, "rows of the wrong length")
	panicIf(len(t.loss) != entries || len(t.spin) != entries || t.base != nil && len(t.base) != entries, "tables of the wrong length")
	switch {
	case c.n > hammingNarrow:
		hammingWide(loss, base, spin, rows, c, t)
	case !useAVX2 || !c.packed.ready:
		hammingSumsGeneric(loss, base, spin, rows, c, t)
	case c.n <= 15:
		var buckets [smallBuckets*HammingRows + cacheLine/4]float32
		hammingSumsPacked(loss, base, spin, rows, c, t, aligned(buckets[:]))
	default:
		var buckets [largeBuckets*HammingRows + cacheLine/4]float32
		hammingSumsPacked(loss, base, spin, rows, c, t, aligned(buckets[:]))
	}
}

// HammingGradient turns sums of HammingSums into gradients, row after row: with
// σ = ±1 for spin d of a_r and f = 1 where a_r and b_r differ there, else 0,
//
//	v = base[r] − σ spin[d*HammingRows+r] + own[r][f]
//	grad[r*n+d] = scale·v, or scale·σ·v if signed
//
// for the first len(own) rows, at most HammingRows.
func HammingGradient(grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool) {
	n := len(spin) / HammingRows
	words := (n + 63) / 64
	panicIf(len(own) > HammingRows || len(grad) != len(own)*n, "gradients of the wrong length")
	panicIf(len(base) != HammingRows || len(spin) != n*HammingRows || len(rows) != 2*words*HammingRows, "sums or rows of the wrong length")
	const block = 16 // rows and spins of an assembly step
	done := 0        // spins that the assembly has finished
	if blocks := n / block; useAVX512 && blocks > 0 {
		done = blocks * block
		signs := 0
		if signed {
			signs = -1
		}
		for row := 0; row < len(own); row += block {
			hammingFinishAVX512(&grad[row*n], &base[row], &spin[row], &rows[row], &own[row][0],
				scale, signs, 4*n, words, blocks, len(own)-row)
		}
	}
	hammingFinishGeneric(done, grad, base, spin, rows, own, scale, signed, n)
}

// distance returns the Hamming distance of row r and column i.
func (c *HammingColumns) distance(rows []uint64, r, i int) int {
	h := 0
	for k, x := range c.states[i*2*c.words : (i+1)*2*c.words] {
		h += bits.OnesCount64(rows[k*HammingRows+r] ^ x)
	}
	return h
}

// hammingBlock is the number of columns after which partial sums of the loss
// are widened to float64.
const hammingBlock = 64

func hammingSumsGeneric(loss []float64, base, spin []float32, rows []uint64, c *HammingColumns, t *HammingTables) {
	const groupBits = 4
	groups := (c.n + groupBits - 1) / groupBits // at most 16: n ≤ hammingNarrow
	for r := range HammingRows {
		// Four spins at a time: values are first added up by the pattern of the column's spins,
		// and then signed by σ_cd once for each pattern.
		var total float64
		var lossSum, baseSum float32
		var buckets [hammingNarrow / groupBits][1 << groupBits]float32
		for i, w := range c.weights {
			h := c.distance(rows, r, i)
			v := w * t.spin[h]
			x := c.states[2*i]
			for g := range groups {
				buckets[g][x>>(g*groupBits)&15] += v
			}
			lossSum += w * t.loss[h]
			if t.base != nil {
				baseSum += w * t.base[h]
			} else {
				baseSum += v
			}
			if i%hammingBlock == hammingBlock-1 {
				total += float64(lossSum)
				lossSum = 0
			}
		}
		total += float64(lossSum)
		for d := range c.n {
			spin[d*HammingRows+r] = signedSum(buckets[d/groupBits][:], d%groupBits)
		}
		loss[r], base[r] = total, baseSum
	}
}

// signedSum adds the values whose index has bit k set and subtracts the others.
func signedSum(values []float32, k int) float32 {
	var sum float32
	for p, v := range values {
		if p>>k&1 == 1 {
			sum += v
		} else {
			sum -= v
		}
	}
	return sum
}

// hammingFinishGeneric is HammingGradient for the spins from first on. It takes a block of
// spins of all rows at a time, whose sums stay in the innermost cache.
func hammingFinishGeneric(first int, grad, base, spin []float32, rows []uint64, own [][2]float32, scale float32, signed bool, n int) {
	const block = 16
	words := (n + 63) / 64
	for ; first < n; first += block {
		last := min(first+block, n)
		for r, terms := range own {
			up := rows[first/64*HammingRows+r] >> (first % 64)
			flipped := up ^ rows[(words+first/64)*HammingRows+r]>>(first%64)
			for k := range grad[r*n+first : r*n+last] {
				sigma := float32(2*int(up>>k&1) - 1)
				v := base[r] - sigma*spin[(first+k)*HammingRows+r] + terms[flipped>>k&1]
				if signed {
					v *= sigma
				}
				grad[r*n+first+k] = scale * v
			}
		}
	}
}
