package kfd

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A Witness is the objective for real vectors: it turns the changes of random features
// over a batch of moves into two witnesses, that of each half of the batch for the
// samples of the other, and into their gradient. It is bound to one batch size and
// reuses its buffers: LossGradient allocates nothing and must not be called
// concurrently. The result has the same bits for any number of threads.
//
// Work is cut into pieces of rowsPerPiece samples, of which each rank takes those of its
// lanes; but of a batch that goes into E[δδᵀ] it takes all, as that needs every δ, and
// shares the matrix by rows.
type Witness struct {
	*moments
	solutions [2][]float32 // coefficients of the witnesses that drive the halves of the last batch

	n, dim          int
	lanes           *nn.Lanes // of the batch
	omega           []float32 // ω, [dim][r]
	offset          []float32 // −|ω| b, [r]
	packed, packedT []float32
	zero            []float32 // [dim]

	features []float32    // φ(s), [n][r]
	change   []float32    // δ = φ(s) − φ(s′), [n][r]
	slopes   []float32    // ∂g/∂(ω·s), [n][r]
	products [][]float32  // E[δδᵀ] of each lane
	columns  [][]float32  // of each lane, δ of a piece in those features whose rows of E[δδᵀ] are this rank's
	partial  [2][]float32 // Σ δ of each piece, by half of the batch, [pieces][r]
	finite   []bool       // of each piece
	results  []pool.Span  // of pieces: partial and finite
	sums     [2][]float64 // E[δ] over each half of the batch

	s, t, grad                                 []float32 // of the call in progress
	featurise, multiply, gather, mean, descend func(int)
}

const (
	rowsPerPiece = 64
	productLanes = 8  // and so the threads that E[δδᵀ] can use
	sumColumns   = 64 // columns of a piece of the sums
)

// New prepares the objective of batches of n states of the given dimension. The
// features belong to the seed.
func New(n, dim int, c Config, seed uint64, workers *pool.Pool) (*Witness, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if n < 2 || dim < 1 {
		return nil, fmt.Errorf("a batch of %d states of %d coordinates; cross-fitting takes two states, of one coordinate at least", n, dim)
	}
	r := c.Features.Number
	w := &Witness{
		moments: newMoments(r, &c, workers),
		n:       n, dim: dim, lanes: nn.NewLanes(n, 0, workers),
		packed: make([]float32, asm.PackedLen(dim, r)), packedT: make([]float32, asm.PackedLen(r, dim)),
		zero:     make([]float32, dim),
		features: make([]float32, n*r), change: make([]float32, n*r), slopes: make([]float32, n*r),
		products: make([][]float32, min(productLanes, pieces(n))),
		columns:  make([][]float32, min(productLanes, pieces(n))),
		finite:   make([]bool, pieces(n)),
	}
	w.omega, w.offset = c.Features.draw(dim, seed)
	transposed := make([]float32, r*dim)
	for k := range r {
		for i := range dim {
			transposed[k*dim+i] = w.omega[i*r+k]
		}
	}
	asm.PackWeights(w.packed, w.omega, dim, r)
	asm.PackWeights(w.packedT, transposed, r, dim)
	for lane := range w.products {
		w.products[lane] = make([]float32, r*r+r)
		if lo, hi := w.rows(); hi-lo < r {
			w.columns[lane] = make([]float32, rowsPerPiece*(hi-lo))
		}
	}
	w.results = []pool.Span{nn.PieceSpan(w.lanes, w.finite, rowsPerPiece, 1)}
	for half := range 2 {
		w.sums[half], w.solutions[half] = make([]float64, r), make([]float32, r)
		w.partial[half] = make([]float32, pieces(n)*r)
		// Pieces without a sample of the half are zero on every rank.
		w.results = append(w.results, nn.PieceSpan(w.lanes, w.partial[half], rowsPerPiece, r).
			Between(4*r*half*(stat.Middle(n)/rowsPerPiece), 4*r*[2]int{pieces(stat.Middle(n)), pieces(n)}[half]))
	}
	w.featurise, w.multiply, w.gather, w.mean, w.descend = w.featurisePiece, w.multiplyLane, w.gatherRow, w.meanColumns, w.descendPiece
	return w, nil
}

// pieces returns the number of pieces of n rows.
func pieces(n int) int { return (n + rowsPerPiece - 1) / rowsPerPiece }

// bounds returns which of n rows lo … hi−1 are a piece's.
func bounds(piece, n int) (lo, hi int) {
	return piece * rowsPerPiece, min((piece+1)*rowsPerPiece, n)
}

// half returns which half of the batch sample i is in.
func (w *Witness) half(i int) int { return stat.Half(i, w.n) }

// own returns the pieces lo … hi−1 of the rank's own lanes.
func (w *Witness) own() (lo, hi int) {
	lo, hi = w.lanes.OwnRows()
	return lo / rowsPerPiece, pieces(hi)
}

// rows returns which rows lo … hi−1 of E[δδᵀ] are this rank's.
func (w *Witness) rows() (lo, hi int) {
	return pool.Stretch(w.r, w.workers.Rank(), w.workers.Size())
}

// LossGradient returns the loss of the batch of moves s → t, the mean change of
// the witness, ½ E[g(s) − g(s′)], and sets grad to ∇g(s_i)/n. Each half of the batch
// is measured by the other's witness. All three are row-major [n][dim]. The loss
// is NaN if a value is not finite or rounding made the second moments
// indefinite.
func (w *Witness) LossGradient(s, t, grad []float32) float64 {
	if want := w.n * w.dim; len(s) != want || len(t) != want || len(grad) != want {
		panic(fmt.Sprintf("kfd: slices of length %d, %d and %d; want %d", len(s), len(t), len(grad), want))
	}
	w.s, w.t, w.grad = s, t, grad
	lo, hi := w.own()
	if w.stale() {
		w.workers.Run(pieces(w.n), w.featurise)
	} else {
		w.workers.RunFrom(lo, hi-lo, w.featurise)
		w.lanes.Gather(w.results...)
	}
	loss := math.NaN()
	if !slices.Contains(w.finite, false) {
		loss = w.fit()
	}
	w.workers.RunFrom(lo, hi-lo, w.descend)
	w.s, w.t, w.grad = nil, nil, nil
	return loss
}

// phi sets values, [rows][r], to the features of the rows of x, [rows][dim].
func (w *Witness) phi(values, x []float32) {
	asm.DenseForward(values, x, w.packed, w.offset, len(x)/w.dim, w.dim, w.r, 1)
	asm.Tanh(values, values)
}

// featurisePiece computes φ(s), φ(s) − φ(s′) and the latter's sums by half of the batch.
func (w *Witness) featurisePiece(piece int) {
	lo, hi := bounds(piece, w.n)
	s, t := w.s[lo*w.dim:hi*w.dim], w.t[lo*w.dim:hi*w.dim]
	w.finite[piece] = asm.AllFinite(s) && asm.AllFinite(t) // tanh would hide an infinity
	features, change := w.features[lo*w.r:hi*w.r], w.change[lo*w.r:hi*w.r]
	w.phi(features, s)
	w.phi(change, t)
	asm.SubtractFrom(change, features)
	partial := [2][]float32{w.partial[0][piece*w.r:][:w.r], w.partial[1][piece*w.r:][:w.r]}
	clear(partial[0])
	clear(partial[1])
	for i := lo; i < hi; i++ {
		asm.Accumulate(partial[w.half(i)], w.change[i*w.r:][:w.r])
	}
}

// fit finds both witnesses, given the changes and every piece's sums, and returns the
// loss.
func (w *Witness) fit() float64 {
	if w.stale() {
		w.workers.Run(len(w.products), w.multiply)
		w.workers.Share(w.r, w.gather, pool.SpanOf(w.batch, w.r))
	}
	w.workers.Run((w.r+sumColumns-1)/sumColumns, w.mean)
	if !w.update() {
		return math.NaN()
	}
	w.solve(&w.solutions, &w.sums)
	var loss float64
	for half, sums := range w.sums {
		for k, v := range sums {
			loss += v * float64(w.solutions[half][k]) / 4
		}
	}
	return loss
}

// multiplyLane sums δδᵀ over every so manieth piece, of the rank's rows.
func (w *Witness) multiplyLane(lane int) {
	from, to := w.rows()
	width := to - from
	product := w.products[lane]
	clear(product[from*w.r : to*w.r])
	bias := product[w.r*w.r:]
	clear(bias)
	for piece := lane; piece < pieces(w.n); piece += len(w.products) {
		lo, hi := bounds(piece, w.n)
		delta := w.change[lo*w.r : hi*w.r]
		x := delta
		if width < w.r {
			x = w.columns[lane]
			for i := range hi - lo {
				copy(x[i*width:][:width], delta[i*w.r+from:])
			}
		}
		asm.DenseBackwardWeights(product[from*w.r:to*w.r], bias, x, delta, hi-lo, width, w.r)
	}
}

// gatherRow adds one row of the lanes' products.
func (w *Witness) gatherRow(k int) {
	row := w.batch[k*w.r:][:w.r]
	copy(row, w.products[0][k*w.r:])
	for _, product := range w.products[1:] {
		asm.Accumulate(row, product[k*w.r:][:w.r])
	}
	scale := 1 / float32(w.n)
	for i := range row {
		row[i] *= scale
	}
}

// meanColumns averages some features' changes over each half.
func (w *Witness) meanColumns(piece int) {
	first := piece * sumColumns
	last := min(first+sumColumns, w.r)
	for half, sums := range w.sums {
		clear(sums[first:last])
		for piece := range pieces(w.n) {
			for k, v := range w.partial[half][piece*w.r:][first:last] {
				sums[first+k] += float64(v)
			}
		}
		count := float64(stat.HalfSize(half, w.n))
		for k := first; k < last; k++ {
			sums[k] /= count
		}
	}
}

// descendPiece sets grad to ∇g/n = Σ_k c_k (1 − φ_k²) ω_k / n.
func (w *Witness) descendPiece(piece int) {
	lo, hi := bounds(piece, w.n)
	slopes := w.slopes[lo*w.r : hi*w.r]
	scale := 1 / float32(w.n)
	for i := lo; i < hi; i++ {
		asm.TanhSlopes(slopes[(i-lo)*w.r:][:w.r], w.solutions[w.half(i)], w.features[i*w.r:][:w.r], scale)
	}
	asm.DenseForward(w.grad[lo*w.dim:hi*w.dim], slopes, w.packedT, w.zero, hi-lo, w.r, w.dim, 1)
}

// Coefficients adds the mean of the last batch's two witnesses' to c, nil for zeros, and
// returns it.
func (w *Witness) Coefficients(c []float64) []float64 {
	if c == nil {
		c = make([]float64, w.r)
	}
	for k := range c {
		c[k] += float64(w.solutions[0][k]+w.solutions[1][k]) / 2
	}
	return c
}

// Halves returns the coefficients of the last batch's two witnesses.
func (w *Witness) Halves() [2][]float64 {
	return [2][]float64{number.Widen(w.solutions[0]), number.Widen(w.solutions[1])}
}

// At sets values to the function with the given coefficients at states x, row-major
// [len(values)][dim].
func (w *Witness) At(values, c []float64, x []float32) {
	w.workers.Run(pieces(len(values)), func(piece int) {
		lo, hi := bounds(piece, len(values))
		phi := make([]float32, (hi-lo)*w.r)
		w.phi(phi, x[lo*w.dim:hi*w.dim])
		for i := range hi - lo {
			var sum float64
			for k, v := range phi[i*w.r:][:w.r] {
				sum += c[k] * float64(v)
			}
			values[lo+i] = sum
		}
	})
}

// Bytes bounds what an objective for batches of n moves allocates in r features.
func Bytes(n, r int) float64 {
	matrices := float64(6 + min(productLanes, pieces(n))) // second moments, factor and its scratch, products
	return 4 * (float64(r)*float64(n)*3.25 + matrices*float64(r)*float64(r+256))
}
