package mmd

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// A HammingGradient says what Hamming returns as the gradient with respect to a spin.
type HammingGradient string

// Surrogate is the derivative of eq. (3.5) by s_{i,d} as if spins
// were real numbers, for a generator that passes gradients straight through the
// sign. Difference is the exact change of the loss, L(spin d of s_i flipped) −
// L, with s′ and all other samples fixed.
const (
	Surrogate  HammingGradient = "surrogate"
	Difference HammingGradient = "difference"
)

// Hamming computes the reversibility loss and its gradient on packed spins. The
// squared distance of two configurations of ±1 spins is four times their
// Hamming distance, so kernels are tables over h = 0 … 2·spins.
//
// The batch is folded first. The loss and every row of the gradient depend on
// the pairs j only through their signed counts n(a, b) − n(b, a): equal pairs
// are counted once, rejected moves drop out, and so do moves that occur as
// often in one direction as in the other. Rows with equal pairs share one
// gradient.
type Hamming struct {
	n, spins, words int
	stat            Statistic
	pairs           float64 // number of pairs that the statistic averages over
	mode            HammingGradient
	workers         *pool.Pool

	value  []float64 // K by Hamming distance, 0 … 2·spins+1
	slope  []float64 // dK/d(d²) by Hamming distance, 0 … 2·spins
	tables *asm.HammingTables

	fold    fold
	columns *asm.HammingColumns
	rows    []uint64  // by blocks of asm.HammingRows rows, word-major inside
	base    []float32 // by blocks
	spin    []float32 // by blocks, spin-major inside
	loss    []float64 // of each distinct row
	sums    []float32 // gradient of each distinct row, row-major
	scale   float32   // of the gradient

	selfTerms [][2]float32 // see selfTerm, by the number of spins that a move flips

	s, t           []uint64  // arguments of the call in progress
	grad           []float32 // likewise
	packPart       func(int)
	block, scatter func(int)
}

// scatterSamples is the number of samples of a piece that copies gradients.
const scatterSamples = 256

// NewHamming returns the loss for batches of n configurations of the given
// number of spins, for a valid kernel. The U-statistic needs n ≥ 2. The kernel
// and the workers must not change while it is in use. LossGradient must be called
// from one goroutine at a time.
func NewHamming(n, spins int, k Kernel, mode HammingGradient, stat Statistic, workers *pool.Pool) *Hamming {
	k.mustBeValid()
	words := (spins + 63) / 64
	blocks := (n + asm.HammingRows - 1) / asm.HammingRows
	h := &Hamming{
		n: n, spins: spins, words: words,
		stat: stat, pairs: pairs(stat, n), mode: mode, workers: workers,
		columns: asm.NewHammingColumns(spins, 2*n),
		rows:    make([]uint64, blocks*asm.HammingRows*2*words),
		base:    make([]float32, blocks*asm.HammingRows),
		spin:    make([]float32, blocks*asm.HammingRows*spins),
		loss:    make([]float64, blocks*asm.HammingRows),
		sums:    make([]float32, n*spins),
	}
	h.scale = float32(4 / h.pairs)
	if mode == Surrogate {
		h.scale = float32(8 / h.pairs)
	}
	h.value, h.slope, h.tables = hammingTables(&k, spins, mode)
	for moved := range spins + 1 {
		h.selfTerms = append(h.selfTerms, h.selfTerm(moved))
	}
	h.fold.init(n, spins)
	h.packPart, h.block, h.scatter = h.columns.PackPart, h.computeBlock, h.scatterPiece
	return h
}

// hammingTables returns k and its derivative dk/d(d²) by the Hamming distance of two pairs of
// configurations, and the tables of asm.HammingSums. The gradient of row i consists of the sums
//
//	base = Σ_j ± Base(h),  spin_d = Σ_j ± Spin(h) s_{j,d}
//
// over the columns. The surrogate's k′(s_i − s_j) has Base = Spin = k′. In the
// difference, flipping spin d changes h by +1 where s_i and s_j agree in d and
// by −1 where they do not: K(h±1) − K(h) is Base(h) − s_{i,d} s_{j,d} Spin(h),
// where Base is the mean of the two changes and Spin half of their difference. At
// h = 0 and h = 2·spins one of the two changes does not occur, and the other
// replaces it.
func hammingTables(k *Kernel, spins int, mode HammingGradient) (value, slope []float64, t *asm.HammingTables) {
	top := 2 * spins
	value, slope = make([]float64, top+2), make([]float64, top+1)
	for d := range value {
		value[d] = k.Value(4 * float64(d))
	}
	loss, spin := make([]float32, top+1), make([]float32, top+1)
	var base []float32
	if mode == Difference {
		base = make([]float32, top+1)
	}
	for d := range loss {
		slope[d] = k.Derivative(4 * float64(d))
		loss[d] = float32(value[d])
		if mode == Surrogate {
			spin[d] = float32(slope[d])
			continue
		}
		up := value[d+1] - value[d]
		down := up
		if d > 0 {
			down = value[d-1] - value[d]
		}
		if d == top {
			up = down
		}
		base[d] = float32((up + down) / 2)
		spin[d] = float32((down - up) / 2)
	}
	return value, slope, asm.NewHammingTables(loss, base, spin)
}

// LossGradient returns the loss of the pairs (s_i, t_i), packed configurations
// of ceil(spins/64) words each, and writes its gradient in s to grad, row-major
// [n][spins]: for Surrogate ∂L/∂s_{i,d}, for Difference the change of L when
// spin d of s_i is flipped.
func (h *Hamming) LossGradient(s, t []uint64, grad []float32) float64 {
	if len(s) != h.n*h.words || len(t) != h.n*h.words || len(grad) != h.n*h.spins {
		panic("mmd: batch of the wrong size")
	}
	h.s, h.t, h.grad = s, t, grad
	h.fold.foldPairs(s, t)
	h.pack()
	distinct := len(h.fold.sample)
	h.workers.Share((distinct+asm.HammingRows-1)/asm.HammingRows, h.block,
		pool.SpanOf(h.sums, asm.HammingRows*h.spins), pool.SpanOf(h.loss, asm.HammingRows))
	h.workers.Run((h.n+scatterSamples-1)/scatterSamples, h.scatter)
	h.s, h.t, h.grad = nil, nil, nil

	var loss float64
	for id := range distinct {
		loss += float64(h.fold.count[id]) * h.loss[id]
	}
	return 2 / h.pairs * loss
}

// pack lays out the signed columns for the kernels.
func (h *Hamming) pack() {
	w := h.words
	h.columns.Reset()
	for id, i := range h.fold.sample {
		net := h.fold.count[id]
		reverse := h.fold.reverse[id]
		if reverse == id {
			continue // a rejected move
		}
		if reverse >= 0 {
			net -= h.fold.count[reverse]
		}
		if net != 0 {
			a, b := h.s[i*w:(i+1)*w], h.t[i*w:(i+1)*w]
			h.columns.Append(a, b, float32(net))
			if reverse < 0 {
				h.columns.Append(b, a, float32(-net))
			}
		}
	}
	h.workers.Run(h.columns.Parts(), h.packPart)
}

// computeBlock computes the sums and gradients of one block of distinct rows.
func (h *Hamming) computeBlock(piece int) {
	const lanes = asm.HammingRows
	first := piece * lanes
	rows := h.rows[first*2*h.words : (first+lanes)*2*h.words]
	loss, base := h.loss[first:first+lanes], h.base[first:first+lanes]
	spin := h.spin[first*h.spins : (first+lanes)*h.spins]
	distinct := len(h.fold.sample)
	w := h.words
	for lane, i := range h.fold.sample[first:min(first+lanes, distinct)] {
		for k := range w {
			rows[k*lanes+lane] = h.s[i*w+k]
			rows[(w+k)*lanes+lane] = h.t[i*w+k]
		}
	}
	asm.HammingSums(loss, base, spin, rows, h.columns, h.tables)

	var selfTerms [lanes][2]float32
	count := min(lanes, distinct-first)
	for lane := range count {
		moved := h.fold.distance(rows, lane, lanes)
		if moved == 0 {
			loss[lane] = 0 // antisymmetric in the pair: zero but for rounding
		} else if h.stat == U {
			loss[lane] -= h.value[0] - h.value[2*moved]
		}
		selfTerms[lane] = h.selfTerms[moved]
	}
	asm.HammingGradient(h.sums[first*h.spins:(first+count)*h.spins], base, spin, rows, selfTerms[:count], h.scale, h.mode == Surrogate)
}

// selfTerm returns the correction of the term j = i, which the sums over columns contain, of a
// row whose move flipped the given number of spins. Element 0 is for spins d where bit d of
// a ⊕ b is 0, element 1 for the others.
func (h *Hamming) selfTerm(moved int) [2]float32 {
	xy := 2 * moved
	switch {
	case h.mode == Surrogate && h.stat == U:
		// The columns hold −k′(d²_xy,ii)(a_i − b_i), times a_i as in HammingGradient.
		return [2]float32{0, float32(2 * h.slope[xy])}
	case h.mode == Surrogate:
		return [2]float32{}
	}
	// The columns hold the change of K(p_i, p_j) − K(p_i, q_j) at j = i with
	// p_i changed in the first argument alone, and count it twice like every
	// pair. The exact change is that of K(0) − K(p_i, q_i), once, in V only.
	var self [2]float32
	for bit := range self {
		counted := h.value[1] - h.value[0]
		exact := 0.0
		if bit == 0 {
			counted -= h.value[xy+1] - h.value[xy]
			exact -= h.value[min(xy+2, len(h.value)-1)] - h.value[xy]
		} else if moved > 0 {
			counted -= h.value[xy-1] - h.value[xy]
			exact -= h.value[xy-2] - h.value[xy]
		}
		if h.stat == U {
			exact = 0
		}
		self[bit] = float32(exact/2 - counted)
	}
	return self
}

// Witness sets values[i], of the batch of the last LossGradient, to
//
//	F_i = (4/(N−1)) Σ_{j≠i} [K(p_i, p_j) − K(p_i, q_j)],   p = (s, t), q = (t, s),
//
// with N in place of N−1 and j = i included for the V-statistic: the derivative
// of the loss by the share of the pair p_i in the law of pairs. Its mean over the
// batch is twice the loss.
func (h *Hamming) Witness(values []float32) {
	if len(values) != h.n {
		panic("mmd: a witness of the wrong length")
	}
	scale := 4 * float64(h.n) / h.pairs
	for i, id := range h.fold.id {
		values[i] = float32(scale * h.loss[id])
	}
}

// scatterPiece copies the gradients of distinct rows to the samples.
func (h *Hamming) scatterPiece(piece int) {
	from := piece * scatterSamples
	for i := from; i < min(from+scatterSamples, h.n); i++ {
		id := h.fold.id[i]
		copy(h.grad[i*h.spins:(i+1)*h.spins], h.sums[id*h.spins:(id+1)*h.spins])
	}
}
