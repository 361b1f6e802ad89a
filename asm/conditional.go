package asm

import (
	"math"
	"math/bits"
)

// These are the kernels of autoregressive generators of spins, whose density is a
// product of the conditional probabilities of each spin given some of those before.
//
// A batch of spins for these kernels is a block of BitSamples samples with one
// word a site: bit b of word i is spin i of sample b, set for +1. A perceptron
// that looks at spins of one sample needs no products then: the weighted sum of
// four ±1 inputs is one of sixteen numbers, and a table of them is as wide as
// the hidden layer.
const (
	// BitSamples is the number of samples of a block.
	BitSamples = 64
	// BitLanes divides the number of hidden units.
	BitLanes = 16
	// BitHidden is the largest number of hidden units.
	BitHidden = 64
	// BitInputs is the largest number of spins that a perceptron looks at.
	BitInputs = 64
	// BitNumber is the largest number of spins that choose from a table.
	BitNumber = 16
)

func checkSites(size int, sites []int32) {
	for _, s := range sites {
		refuse(uint(s) >= uint(size), "a site is not in the state")
	}
}

// sizeOfBlocks returns the length of the state of one of the blocks.
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
// where i_q is the number of four bits that group q's spins make, the first
// spin lowest. K = len(Output) is a multiple of BitLanes and at most BitHidden;
// Tables is [groups][16][K].
type BitPerceptron struct {
	Tables, Output []float32
	Bias           float32
}

// Logits sets dst[i][b] to the logit of sample b of block i, whose spins
// sites[4q] … sites[4q+3] make group q. The blocks' states follow each other in
// states. The error is below 1e-6 (1 + Σ_k |Output[k]|) plus that of the sums of
// table rows in float32.
func (p *BitPerceptron) Logits(dst [][BitSamples]float32, states []uint64, sites []int32) {
	size := sizeOfBlocks("BitPerceptron.Logits", len(dst), len(states))
	var buffer [BitInputs / 4 * BitSamples]uint16
	index := p.index(&buffer, size, sites)
	for i := range dst {
		bitIndices(index, states[i*size:][:size], sites, len(p.Output))
		bitLogits(&dst[i], p.Tables, p.Output, index, p.Bias)
	}
}

// Gradient adds Σ_b scale[b] residual[b] ∂logit_b/∂· to tables and output, which
// have the shapes of Tables and Output. The derivative with respect to a weight of
// the hidden layer is the sum of the table's rows, each with the sign of that
// weight's spin.
func (p *BitPerceptron) Gradient(tables, output []float32, scale, residual *[BitSamples]float32, state []uint64, sites []int32) {
	checkSame("BitPerceptron.Gradient", "tables", len(tables), len(p.Tables))
	checkSame("BitPerceptron.Gradient", "output", len(output), len(p.Output))
	var buffer [BitInputs / 4 * BitSamples]uint16
	index := p.index(&buffer, len(state), sites)
	bitIndices(index, state, sites, len(p.Output))
	bitGradient(tables, output, p.Tables, p.Output, index, scale, residual)
}

// index returns the part of buffer for the numbers i_q of spins of a state of the given
// size, [groups][64], each times K: where its row begins in the group's table.
func (p *BitPerceptron) index(buffer *[BitInputs / 4 * BitSamples]uint16, size int, sites []int32) []uint16 {
	k, groups := len(p.Output), len(sites)/4
	refuse(k == 0 || k%BitLanes != 0 || k > BitHidden || groups == 0 || groups > BitInputs/4 || len(sites) != 4*groups || len(p.Tables) != groups*16*k,
		"BitPerceptron: lengths of tables, output weights and sites do not match")
	checkSites(size, sites)
	return buffer[:groups*BitSamples]
}

// BitTables fills the tables of a perceptron from the weights of its inputs,
// [4·groups][K] with K = len(bias): the row of number i of group q is
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

// BitFold adds the derivatives with respect to the weights that BitTables takes
// to weights, [4·groups][k], given those with respect to the tables:
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

// HeatBath draws a spin for every sample, +1 with probability σ(logits[b]),
// from one random word each, and scores it as BitScore does. With p = σ(−|logits[b]|) ≤ ½,
// rounded to a multiple of 2⁻³¹, the less likely spin is drawn where words[b]>>1 < 2³¹ p.
func HeatBath(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, words *[BitSamples]uint32) (spins uint64) {
	return heatBath(logq, residual, logits, words)
}

// BitDraw draws a spin for every sample from a table of 2ⁿ probabilities, one for each
// state of the spins of n sites: bit b is set where words[b] < thresholds[i] with
//
//	i = Σ_j 2^j (bit b of state[sites[j]]).
//
// n is at most BitNumber. All paths give the same bits.
func BitDraw(thresholds []uint32, state []uint64, sites []int32, words *[BitSamples]uint32) (spins uint64) {
	checkNumber(len(thresholds), len(state), sites)
	return bitDraw(thresholds, state, sites, words)
}

// BitLookup adds scale · table[i] to dst[b], with the numbers i of BitDraw. All paths
// give the same bits but for products that a machine may fuse with sums.
func BitLookup(dst *[BitSamples]float64, table []float64, scale float64, state []uint64, sites []int32) {
	checkNumber(len(table), len(state), sites)
	bitLookup(dst, table, scale, state, sites)
}

// BitSelect sets dst[k][b] to table[i], with the numbers i of BitDraw in block k. The blocks'
// states follow each other in states. All paths give the same bits.
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
// of thresholds, or the last one if that is beyond it. Rows are of 2^L − 1 numbers in ascending
// order, with the least L of q ≤ 2^L; dst[b] is how many of them are at most words[b], or
// q − 1 if that is less. q is at least 2 and at most BitNumber. All paths give the same bits.
func CategoryDraw(dst *[BitSamples]byte, thresholds []uint32, q int, state []byte, sites, strides []int32, words *[BitSamples]uint32) {
	levels := bits.Len(uint(q - 1))
	rows := len(thresholds) / max(1, 1<<levels-1) // of one state, which is refused, there are no thresholds
	refuse(q < 2 || q > BitNumber || rows == 0 || rows*(1<<levels-1) != len(thresholds) || len(sites) != len(strides),
		"CategoryDraw: lengths of thresholds, sites and strides do not match")
	checkSites(len(state)/BitSamples, sites)
	categoryDraw(dst, thresholds, rows, levels, q-1, state, sites, strides, words)
}

func checkNumber(table, size int, sites []int32) {
	refuse(len(sites) > BitNumber || table != 1<<len(sites), "a table does not have a number for each state of the sites")
	checkSites(size, sites)
}

// BitScore adds ln σ(x_b logits[b]), the logarithm of the probability that
// sample b's spin x_b = ±1 is drawn, to logq[b], and sets residual[b], unless
// residual is nil, to its derivative with respect to the logit, x_b σ(−x_b logits[b]).
// Both have an error below 3e-7, relative to the larger of 1 and |logits[b]| for the first.
func BitScore(logq *[BitSamples]float64, residual, logits *[BitSamples]float32, spins uint64) {
	bitScore(logq, residual, logits, spins)
}

// bitActivation returns f(u) and 1/√(1+u²); f′(u) is the cube of that.
func bitActivation(u float32) (f, root float32) {
	r := 1 / math.Sqrt(1+float64(u)*float64(u))
	return float32(float64(u) * r), float32(r)
}
