package mmd

import (
	"fmt"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// HammingStationarity is Stationarity on packed spins: the squared maximum mean
// discrepancy between the laws of s and of s′ and its gradient in s with s′
// fixed,
//
//	L = (1/N²) Σ_ij [K(a_i, a_j) − 2K(a_i, b_j) + K(b_i, b_j)].
//
// Both depend on a configuration only through its count among the a less that
// among the b, so that the batch is folded like Hamming's.
type HammingStationarity struct {
	n, spins, words int
	stat            Statistic
	mode            HammingGradient
	workers         *pool.Pool

	value, slope []float64
	tables       *asm.HammingTables

	fold    fold
	states  []uint64  // a, then b
	zero    []uint64  // the second configuration of all rows and columns
	net     []float32 // of each distinct configuration: count in a less that in b
	columns *asm.HammingColumns
	rows    []uint64 // as in Hamming
	base    []float32
	spin    []float32
	sum     []float64 // Σ_c net_c K(row, c)

	grad            []float32
	packPart        func(int)
	block, scatter  func(int)
	samplesPerPiece int
}

// NewHammingStationarity returns the loss for batches of n configurations of the
// given number of spins, under the conditions of NewHamming.
func NewHammingStationarity(n, spins int, k Kernel, mode HammingGradient, stat Statistic, workers *pool.Pool) (*HammingStationarity, error) {
	switch {
	case n < 1+int(stat):
		return nil, fmt.Errorf("batch size: %d; the %v-statistic needs at least %d", n, stat, 1+int(stat))
	case spins < 1:
		return nil, fmt.Errorf("spins: %d is not positive", spins)
	}
	if err := k.Validate(); err != nil {
		return nil, err
	}
	words := (spins + 63) / 64
	padded := (2*n + asm.HammingRows - 1) / asm.HammingRows * asm.HammingRows
	h := &HammingStationarity{
		n: n, spins: spins, words: words, stat: stat, mode: mode, workers: workers,
		states:  make([]uint64, 2*n*words),
		zero:    make([]uint64, 2*n*words),
		net:     make([]float32, 2*n),
		columns: asm.NewHammingColumns(spins, 2*n),
		rows:    make([]uint64, padded*2*words),
		base:    make([]float32, padded),
		spin:    make([]float32, padded*spins),
		sum:     make([]float64, padded),

		samplesPerPiece: 256,
	}
	h.value, h.slope, h.tables = hammingTables(&k, spins, mode)
	h.fold.init(2*n, spins)
	h.packPart, h.block, h.scatter = h.columns.PackPart, h.runBlock, h.runScatter
	return h, nil
}

// LossGradient is Hamming's, of this loss.
func (h *HammingStationarity) LossGradient(s, t []uint64, grad []float32) float64 {
	if len(s) != h.n*h.words || len(t) != h.n*h.words || len(grad) != h.n*h.spins {
		panic("mmd: batch of the wrong size")
	}
	copy(h.states, s)
	copy(h.states[len(s):], t)
	h.fold.run(h.states, h.zero)
	h.pack()
	h.grad = grad
	distinct := len(h.fold.sample)
	const lanes = asm.HammingRows
	h.workers.Share((distinct+lanes-1)/lanes, h.block, pool.SpanOf(h.sum, lanes), pool.SpanOf(h.base, lanes), pool.SpanOf(h.spin, lanes*h.spins))
	h.workers.Run((h.n+h.samplesPerPiece-1)/h.samplesPerPiece, h.scatter)
	h.grad = nil

	var loss float64
	for id := range distinct {
		loss += float64(h.net[id]) * h.sum[id]
	}
	if h.stat == U {
		for i := range h.n {
			loss -= 2 * (h.value[0] - h.value[h.moved(i)])
		}
	}
	return pairNorm(h.stat, h.n) * loss
}

// moved returns the Hamming distance of a_i and b_i.
func (h *HammingStationarity) moved(i int) (flips int) {
	for k := range h.words {
		flips += bits.OnesCount64(h.states[i*h.words+k] ^ h.states[(h.n+i)*h.words+k])
	}
	return flips
}

// pack counts the distinct configurations and lays them out as rows and columns.
func (h *HammingStationarity) pack() {
	w, distinct := h.words, len(h.fold.sample)
	clear(h.net[:distinct])
	for i, id := range h.fold.id {
		if i < h.n {
			h.net[id]++
		} else {
			h.net[id]--
		}
	}
	h.columns.Reset()
	clear(h.rows)
	for id, i := range h.fold.sample {
		state := h.states[i*w : (i+1)*w]
		lane := id%asm.HammingRows + id/asm.HammingRows*asm.HammingRows*2*w
		for k, word := range state {
			h.rows[lane+k*asm.HammingRows] = word
		}
		if h.net[id] != 0 {
			h.columns.Append(state, h.zero[:w], h.net[id])
		}
	}
	h.workers.Run(h.columns.Parts(), h.packPart)
}

func (h *HammingStationarity) runBlock(piece int) {
	const lanes = asm.HammingRows
	first, w := piece*lanes, 2*h.words
	asm.HammingSums(h.sum[first:first+lanes], h.base[first:first+lanes], h.spin[first*h.spins:(first+lanes)*h.spins],
		h.rows[first*w:(first+lanes)*w], h.columns, h.tables)
}

// runScatter writes the gradients of some samples. The sums over columns hold
// the pairs of a_i with itself, which flipping a spin of a_i in truth leaves at
// distance 0, and with b_i, which the U-statistic leaves out.
func (h *HammingStationarity) runScatter(piece int) {
	const lanes = asm.HammingRows
	from := piece * h.samplesPerPiece
	for i := from; i < min(from+h.samplesPerPiece, h.n); i++ {
		id := h.fold.id[i]
		moved := h.moved(i)
		base, spin := h.base[id], h.spin[id/lanes*lanes*h.spins+id%lanes:]
		own := h.ownTerms(moved)
		for d := range h.spins {
			up := h.states[i*h.words+d>>6] >> (d & 63) & 1
			flipped := up ^ h.states[(h.n+i)*h.words+d>>6]>>(d&63)&1
			sigma := float32(2*int(up) - 1)
			v := base - sigma*spin[d*lanes] + own[flipped]
			if h.mode == Surrogate {
				v *= 2 * sigma
			}
			h.grad[i*h.spins+d] = float32(2*pairNorm(h.stat, h.n)) * v
		}
	}
}

// ownTerms returns what to add to the sums of a sample whose move flipped the
// given number of spins: for a spin that it did not flip, and for one it did.
func (h *HammingStationarity) ownTerms(moved int) (own [2]float32) {
	if h.mode == Surrogate {
		if h.stat == U {
			own[1] = float32(2 * h.slope[moved])
		}
		return own
	}
	itself := h.value[1] - h.value[0]
	own[0], own[1] = float32(-itself), float32(-itself)
	if h.stat == U {
		own[0] += float32(h.value[moved+1] - h.value[moved])
		if moved > 0 {
			own[1] += float32(h.value[moved-1] - h.value[moved])
		}
	}
	return own
}

// Witness sets values[i], of the batch of the last LossGradient, to the
// derivative of the loss by the share of a_i in the law of s,
//
//	F_i = (2/(N−1)) Σ_{j≠i} [K(a_i, a_j) − K(a_i, b_j)],
//
// with N in place of N−1 and j = i included for the V-statistic.
func (h *HammingStationarity) Witness(values []float32) {
	if len(values) != h.n {
		panic("mmd: a witness of the wrong length")
	}
	scale := 2 * float64(h.n) * pairNorm(h.stat, h.n)
	for i := range values {
		sum := h.sum[h.fold.id[i]]
		if h.stat == U {
			sum -= h.value[0] - h.value[h.moved(i)]
		}
		values[i] = float32(scale * sum)
	}
}
