package asm

import (
	"math"
	"math/bits"
)

// These are the kernels of autoregressive generators of spins. Their density is the product of
// the conditional probabilities of each spin, given some of the spins before it.
//
// A block is BitSamples samples, with one word for each site: bit b of word i is spin i of
// sample b, set for +1. The first layer of a perceptron of such spins needs no products. The
// weighted sum of four inputs of ±1 is one of sixteen numbers, so a table has sixteen rows, as
// wide as the hidden layer, for every four inputs.
const (
	// BitSamples is the number of samples of a block.
	BitSamples = 64
	// BitLanes divides the number of hidden units.
	BitLanes = 16
	// BitHidden is the largest number of hidden units.
	BitHidden = 64
	// BitInputs is the largest number of spins that a perceptron looks at.
	BitInputs = 64
	// BitNumber is the largest number of spins that index a table.
	BitNumber = 16
)

func checkSites(size int, sites []int32) {
	for _, s := range sites {
		panicIf(uint(s) >= uint(size), "a site is not in the state")
	}
}

// sizeOfBlocks returns the length of one block's state.
func sizeOfBlocks(name string, blocks, states int) int {
	if blocks == 0 || states%blocks != 0 {
		panic("asm: " + name + ": not as many states as blocks")
	}
	return states / blocks
}

// A BitPerceptron has one hidden layer of K units over groups of four spins,
// with the activation f(u) = u/√(1+u²):
//
//	logit = Bias + Σ_k Output[k] f(Σ_q Tables[q][i_q][k]),
//
// where i_q is the number whose bits are the four spins of group q, the first spin lowest.
// K = len(Output) is a multiple of BitLanes and at most BitHidden. Tables is [groups][16][K].
type BitPerceptron struct {
	Tables, Output []float32
	Bias           float32
}

// Logits sets dst[i][b] to the logit of sample b of block i. Group q is the spins at
// sites[4q] … sites[4q+3]. The blocks' states follow each other in states. The error is below
// 1e-6 (1 + Σ_k |Output[k]|) plus that of the sums of table rows in float32.
func (p *BitPerceptron) Logits(dst [][BitSamples]float32, states []uint64, sites []int32) {
	size := sizeOfBlocks("BitPerceptron.Logits", len(dst), len(states))
	var buffer [BitInputs / 4 * BitSamples]uint16
	index := p.index(&buffer, size, sites)
	for i := range dst {
		bitIndices(index, states[i*size:][:size], sites, len(p.Output))
		bitLogits(&dst[i], p.Tables, p.Output, index, p.Bias)
	}
}

// Gradient adds Σ_b scale[b] residual[b] ∂logit_b/∂· to tables and output, which have the
// shapes of Tables and Output. BitFold turns derivatives with respect to the tables into those
// with respect to the weights.
func (p *BitPerceptron) Gradient(tables, output []float32, scale, residual *[BitSamples]float32, state []uint64, sites []int32) {
	checkSame("BitPerceptron.Gradient", "tables", len(tables), len(p.Tables))
	checkSame("BitPerceptron.Gradient", "output", len(output), len(p.Output))
	var buffer [BitInputs / 4 * BitSamples]uint16
	index := p.index(&buffer, len(state), sites)
	bitIndices(index, state, sites, len(p.Output))
	bitGradient(tables, output, p.Tables, p.Output, index, scale, residual)
}

// index returns the part of buffer for K·i_q, [groups][BitSamples], the offsets of rows in the
// groups' tables. It checks that the sites are in a state of the given size.
func (p *BitPerceptron) index(buffer *[BitInputs / 4 * BitSamples]uint16, size int, sites []int32) []uint16 {
	k, groups := len(p.Output), len(sites)/4
	panicIf(k == 0 || k%BitLanes != 0 || k > BitHidden || groups == 0 || groups > BitInputs/4 || len(sites) != 4*groups || len(p.Tables) != groups*16*k,
		"BitPerceptron: lengths of tables, output weights and sites do not match")
	checkSites(size, sites)
	return buffer[:groups*BitSamples]
}

// BitTables fills the tables of a perceptron from its weights, [4·groups][K] with
// K = len(bias). Row i of group q is
//
//	(q = 0 ? bias : 0) + Σ_j (bit j of i ? 1 : −1) weights[4q+j]
//
// added up in the order (bias ± w_0 ± w_1) + (± w_2 ± w_3). All paths give the
// same bits.
func BitTables(tables, weights, bias []float32) {
	checkTables("BitTables", len(tables), len(weights), len(bias))
	if len(weights) > 0 {
		bitTables(tables, weights, bias)
	}
}

// BitFold adds to weights, [4·groups][k], the derivatives with respect to BitTables's weights,
// given those with respect to its tables:
//
//	weights[4q+j] += Σ_i (bit j of i ? 1 : −1) tables[q][i]
//
// All paths give the same bits.
func BitFold(weights, tables []float32, k int) {
	checkTables("BitFold", len(tables), len(weights), k)
	if len(weights) > 0 {
		bitFold(weights, tables, k)
	}
}

func checkTables(name string, tables, weights, k int) {
	if k <= 0 || k%BitLanes != 0 || weights%(4*k) != 0 || tables != 4*weights {
		panic("asm: " + name + ": lengths of tables and weights do not match")
	}
}

// HeatBath draws a spin for every sample, +1 with probability σ(logits[b]), from one random
// word, and scores it as BitScore does. The less likely spin has the probability
// p = σ(−|logits[b]|) ≤ ½, rounded to a multiple of 2⁻³¹, and is drawn if words[b]>>1 < 2³¹ p.
func HeatBath(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, words *[BitSamples]uint32) (spins uint64) {
	return heatBath(logq, residual, logits, words)
}

// BitDraw draws a spin for every sample. A table of 2ⁿ thresholds has one for each state of the
// spins of n sites. Bit b of the result is set if words[b] < thresholds[i] with
//
//	i = Σ_j 2^j (bit b of state[sites[j]]).
//
// n is at most BitNumber. All paths give the same bits.
func BitDraw(thresholds []uint32, state []uint64, sites []int32, words *[BitSamples]uint32) (spins uint64) {
	checkNumber(len(thresholds), len(state), sites)
	return bitDraw(thresholds, state, sites, words)
}

// BitLookup adds scale · table[i] to dst[b], with BitDraw's i. All paths give the same bits,
// except where a machine fuses products with sums.
func BitLookup(dst *[BitSamples]float64, table []float64, scale float64, state []uint64, sites []int32) {
	checkNumber(len(table), len(state), sites)
	bitLookup(dst, table, scale, state, sites)
}

// BitSelect sets dst[k][b] to table[i], with BitDraw's i in block k. The blocks' states follow
// each other in states. All paths give the same bits.
func BitSelect(dst [][BitSamples]float32, table []float32, states []uint64, sites []int32) {
	size := sizeOfBlocks("BitSelect", len(dst), len(states))
	checkNumber(len(table), size, sites)
	for k := range dst {
		bitSelect(&dst[k], table, states[k*size:][:size], sites)
	}
}

// CategoryDraw draws one of q states for every sample, from tables of thresholds. state is
// [sites][BitSamples]; sample b reads row
//
//	i = Σ_j strides[j] state[sites[j]][b]
//
// of thresholds, or the last row if i is beyond it. A row is 2^L − 1 numbers in ascending order,
// with the least L for which q ≤ 2^L. dst[b] is the number of them that are at most words[b],
// or q − 1 if that is less. q is at least 2 and at most BitNumber. All paths give the same bits.
func CategoryDraw(dst *[BitSamples]byte, thresholds []uint32, q int, state []byte, sites, strides []int32, words *[BitSamples]uint32) {
	levels := bits.Len(uint(q - 1))
	rows := len(thresholds) / max(1, 1<<levels-1) // q = 1, which panics below, would divide by 0
	panicIf(q < 2 || q > BitNumber || rows == 0 || rows*(1<<levels-1) != len(thresholds) || len(sites) != len(strides),
		"CategoryDraw: lengths of thresholds, sites and strides do not match")
	checkSites(len(state)/BitSamples, sites)
	categoryDraw(dst, thresholds, rows, levels, q-1, state, sites, strides, words)
}

func checkNumber(table, size int, sites []int32) {
	panicIf(len(sites) > BitNumber || table != 1<<len(sites), "a table does not have a number for each state of the sites")
	checkSites(size, sites)
}

// BitScore adds to logq[b] the logarithm of the probability of sample b's spin x_b = ±1,
// ln σ(x_b logits[b]). Unless residual is nil, it sets residual[b] to the derivative with
// respect to the logit, x_b σ(−x_b logits[b]). The error of the logarithm is below
// 3e-7 max(1, |logits[b]|), that of the derivative below 3e-7.
func BitScore(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, spins uint64) {
	bitScore(logq, residual, logits, spins)
}

// bitActivation returns f(u) = u·root and root = 1/√(1+u²), whose cube is f′(u).
func bitActivation(u float32) (f, root float32) {
	r := 1 / math.Sqrt(1+float64(u)*float64(u))
	return float32(float64(u) * r), float32(r)
}

// bitIndicesGeneric sets dst[q·64+b] to scale times the number whose bits are the spins of
// sample b at sites 4q … 4q+3, the first lowest.
func bitIndicesGeneric(dst []uint16, state []uint64, sites []int32, scale int) {
	for ; len(sites) > 0; dst, sites = dst[BitSamples:], sites[4:] {
		w0, w1, w2, w3 := state[sites[0]], state[sites[1]], state[sites[2]], state[sites[3]]
		for b := range BitSamples {
			n := w0>>b&1 | w1>>b&1<<1 | w2>>b&1<<2 | w3>>b&1<<3
			dst[b] = uint16(scale * int(n))
		}
	}
}

// bitHiddenSums sets u to the hidden layer's inputs of sample b.
func bitHiddenSums(u, tables []float32, index []uint16, b int) {
	clear(u)
	for q := range len(index) / BitSamples {
		row := tables[q*16*len(u)+int(index[q*BitSamples+b]):]
		for k := range u {
			u[k] += row[k]
		}
	}
}

func bitLogitsGeneric(dst *[BitSamples]float32, tables, output []float32, index []uint16, bias float32) {
	var hidden [BitHidden]float32
	u := hidden[:len(output)]
	for b := range dst {
		bitHiddenSums(u, tables, index, b)
		var sum float64
		for k, v := range output {
			f, _ := bitActivation(u[k])
			sum += float64(v) * float64(f)
		}
		dst[b] = bias + float32(sum)
	}
}

func bitGradientGeneric(dTables, dOutput, tables, output []float32, index []uint16, scale, residual *[BitSamples]float32) {
	var hidden [BitHidden]float32
	u := hidden[:len(output)]
	for b, e := range residual {
		e *= scale[b]
		bitHiddenSums(u, tables, index, b)
		for k, v := range output {
			f, r := bitActivation(u[k])
			dOutput[k] += e * f
			u[k] = e * v * r * r * r
		}
		for q := range len(index) / BitSamples {
			row := dTables[q*16*len(u)+int(index[q*BitSamples+b]):]
			for k, d := range u {
				row[k] += d
			}
		}
	}
}

func heatBathGeneric(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, words *[BitSamples]uint32) (spins uint64) {
	for b, l := range logits {
		z := math.Exp(-math.Abs(float64(l)))
		if less := words[b]>>1 < uint32(0x1p31*float32(z/(1+z))); less == math.Signbit(float64(l)) {
			spins |= 1 << b
		}
	}
	bitScoreGeneric(logq, residual, logits, spins)
	return spins
}

func bitScoreGeneric(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, spins uint64) {
	for b, l := range logits {
		x := float64(int(spins>>b&1)*2 - 1)
		t := -x * float64(l)
		z := math.Exp(-math.Abs(t))
		logq[b] -= float64(float32(max(t, 0) + math.Log1p(z)))
		switch {
		case residual == nil:
		case t >= 0:
			residual[b] = float32(x / (1 + z))
		default:
			residual[b] = float32(x * z / (1 + z))
		}
	}
}

func bitTablesGeneric(tables, weights, bias []float32) {
	k := len(bias)
	for q := range len(weights) / (4 * k) {
		for lane := range k {
			w := func(j int) float32 { return weights[(4*q+j)*k+lane] }
			var base float32
			if q == 0 {
				base = bias[lane]
			}
			low := [4]float32{base - w(0) - w(1), base + w(0) - w(1), base - w(0) + w(1), base + w(0) + w(1)}
			high := [4]float32{-w(2) - w(3), w(2) - w(3), -w(2) + w(3), w(2) + w(3)}
			for i := range 16 {
				tables[(16*q+i)*k+lane] = low[i&3] + high[i>>2]
			}
		}
	}
}

func bitFoldGeneric(weights, tables []float32, k int) {
	for q := range len(weights) / (4 * k) {
		for lane := range k {
			var low, high [4]float32
			for i := range 16 {
				x := tables[(16*q+i)*k+lane]
				low[i&3] += x
				high[i>>2] += x
			}
			for j, x := range [4]float32{
				(low[1] + low[3]) - (low[0] + low[2]), (low[2] + low[3]) - (low[0] + low[1]),
				(high[1] + high[3]) - (high[0] + high[2]), (high[2] + high[3]) - (high[0] + high[1]),
			} {
				weights[(4*q+j)*k+lane] += x
			}
		}
	}
}

// bitNumber returns the number whose bits are sample b's spins at the sites, the first lowest.
func bitNumber(state []uint64, sites []int32, b int) (i int) {
	for j, s := range sites {
		i |= int(state[s]>>b&1) << j
	}
	return i
}

func bitDrawGeneric(thresholds []uint32, state []uint64, sites []int32, words *[BitSamples]uint32) (spins uint64) {
	for b, w := range words {
		if w < thresholds[bitNumber(state, sites, b)] {
			spins |= 1 << b
		}
	}
	return spins
}

func bitLookupGeneric(dst *[BitSamples]float64, table []float64, scale float64, state []uint64, sites []int32) {
	for b := range dst {
		dst[b] += scale * table[bitNumber(state, sites, b)]
	}
}

func bitSelectGeneric(dst *[BitSamples]float32, table []float32, state []uint64, sites []int32) {
	for b := range dst {
		dst[b] = table[bitNumber(state, sites, b)]
	}
}

func categoryDrawGeneric(dst *[BitSamples]byte, thresholds []uint32, rows, levels, last int, state []byte, sites, strides []int32, words *[BitSamples]uint32) {
	for b, w := range words {
		i := 0
		for j, s := range sites {
			i += int(strides[j]) * int(state[int(s)*BitSamples+b])
		}
		row := thresholds[min(i, rows-1)*(1<<levels-1):][:1<<levels-1]
		x := 0
		for half := 1 << levels / 2; half > 0; half /= 2 {
			if row[x+half-1] <= w {
				x += half
			}
		}
		dst[b] = byte(min(x, last))
	}
}
