package kfd

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/state"
)

// A crossFit turns the features' changes over a batch of moves into two
// witnesses, that of each half of the batch for the samples of the other. Work
// is cut into pieces of rowsPerPiece samples, of which each rank takes those of its
// lanes; but of a batch that goes into E[δδᵀ] it takes all, as that needs every δ, and
// shares the matrix by rows.
type crossFit struct {
	Witness   *Witness
	Solutions // of the last batch

	n, r    int
	workers *pool.Pool
	lanes   *nn.Lanes // of the batch

	change   []float32    // δ = φ(s) − φ(s′), [n][r]
	products [][]float32  // E[δδᵀ] of each lane
	columns  [][]float32  // of each lane, δ of a piece in those features whose rows of E[δδᵀ] are this rank's
	partial  [2][]float32 // Σ δ of each piece, by half of the batch, [pieces][r]
	finite   []bool       // of each piece
	results  []pool.Span  // of pieces: partial and finite
	sums     [2][]float64 // E[δ] over each half of the batch

	multiply, merge, add func(int)
}

const (
	rowsPerPiece = 64
	productLanes = 8  // and so the threads that E[δδᵀ] can use
	sumColumns   = 64 // columns of a piece of the sums
)

// newCrossFit prepares batches of n moves and r features.
func newCrossFit(n, r int, c Config, workers *pool.Pool) *crossFit {
	identity := make([]float32, r)
	for i := range identity {
		identity[i] = 1
	}
	f := &crossFit{
		Witness: New(r, identity, c, workers),
		n:       n, r: r, workers: workers,
		change:   make([]float32, n*r),
		lanes:    nn.NewLanes(n, 0, workers),
		products: make([][]float32, min(productLanes, pieces(n))),
		columns:  make([][]float32, min(productLanes, pieces(n))),
		finite:   make([]bool, pieces(n)),
	}
	for lane := range f.products {
		f.products[lane] = make([]float32, r*r+r)
		if lo, hi := f.rows(); hi-lo < r {
			f.columns[lane] = make([]float32, rowsPerPiece*(hi-lo))
		}
	}
	f.results = []pool.Span{nn.PieceSpan(f.lanes, f.finite, rowsPerPiece, 1)}
	for half := range 2 {
		f.sums[half], f.Solutions[half] = make([]float64, r), make([]float32, r)
		f.partial[half] = make([]float32, pieces(n)*r)
		// Pieces without a sample of the half are zero on every rank.
		f.results = append(f.results, nn.PieceSpan(f.lanes, f.partial[half], rowsPerPiece, r).
			Between(4*r*half*(stat.Middle(n)/rowsPerPiece), 4*r*[2]int{pieces(stat.Middle(n)), pieces(n)}[half]))
	}
	f.multiply, f.merge, f.add = f.multiplyLane, f.mergeRow, f.addColumns
	return f
}

// pieces returns the number of pieces of n rows.
func pieces(n int) int { return (n + rowsPerPiece - 1) / rowsPerPiece }

// half returns which half of the batch sample i is in.
func (f *crossFit) half(i int) int { return stat.Half(i, f.n) }

func (f *crossFit) bounds(piece int) (lo, hi int) {
	return piece * rowsPerPiece, min((piece+1)*rowsPerPiece, f.n)
}

// sumPiece adds the changes of a piece by half of the batch.
func (f *crossFit) sumPiece(piece int) {
	lo, hi := f.bounds(piece)
	partial := [2][]float32{f.partial[0][piece*f.r:][:f.r], f.partial[1][piece*f.r:][:f.r]}
	clear(partial[0])
	clear(partial[1])
	for i := lo; i < hi; i++ {
		asm.Accumulate(partial[f.half(i)], f.change[i*f.r:][:f.r])
	}
}

// own returns the pieces lo … hi−1 of the rank's own lanes.
func (f *crossFit) own() (lo, hi int) {
	lo, hi = f.lanes.OwnRows()
	return lo / rowsPerPiece, pieces(hi)
}

// each runs the loop over pieces that makes the changes, their sums and whether they are
// finite, which it reports of all.
func (f *crossFit) each(body func(piece int)) bool {
	if f.Witness.Stale() {
		f.workers.Run(pieces(f.n), body)
	} else {
		lo, hi := f.own()
		f.workers.RunFrom(lo, hi-lo, body)
		f.lanes.Gather(f.results...)
	}
	return !slices.Contains(f.finite, false)
}

// rows returns which rows lo … hi−1 of E[δδᵀ] are this rank's.
func (f *crossFit) rows() (lo, hi int) {
	return pool.Stretch(f.r, f.workers.Rank(), f.workers.Size())
}

// State lists what a checkpoint must hold of the witness.
func (f *crossFit) State() []state.Section { return f.Witness.State() }

// solve finds both witnesses, given the changes and every piece's sums, and
// returns the loss: the mean change of the witness, ½ E[g(s) − g(s′)], of each
// half under the other's. It is NaN if rounding made the second moments
// indefinite.
func (f *crossFit) solve() float64 {
	if f.Witness.Stale() {
		f.workers.Run(len(f.products), f.multiply)
		f.workers.Share(f.r, f.merge, pool.SpanOf(f.Witness.Batch(), f.r))
	}
	f.workers.Run((f.r+sumColumns-1)/sumColumns, f.add)
	if !f.Witness.Update() {
		return math.NaN()
	}
	f.Witness.SolveHalves(&f.Solutions, &f.sums)
	var loss float64
	for half, sums := range f.sums {
		for k, v := range sums {
			loss += v * float64(f.Solutions[half][k]) / 4
		}
	}
	return loss
}

// multiplyLane sums δδᵀ over every so manieth piece, of the rank's rows.
func (f *crossFit) multiplyLane(lane int) {
	from, to := f.rows()
	width := to - from
	product := f.products[lane]
	clear(product[from*f.r : to*f.r])
	bias := product[f.r*f.r:]
	clear(bias)
	for piece := lane; piece < pieces(f.n); piece += len(f.products) {
		lo, hi := f.bounds(piece)
		delta := f.change[lo*f.r : hi*f.r]
		x := delta
		if width < f.r {
			x = f.columns[lane]
			for i := range hi - lo {
				copy(x[i*width:][:width], delta[i*f.r+from:])
			}
		}
		asm.DenseBackwardWeights(product[from*f.r:to*f.r], bias, x, delta, hi-lo, width, f.r)
	}
}

// mergeRow adds one row of the lanes' products.
func (f *crossFit) mergeRow(k int) {
	row := f.Witness.Batch()[k*f.r:][:f.r]
	copy(row, f.products[0][k*f.r:])
	for _, product := range f.products[1:] {
		asm.Accumulate(row, product[k*f.r:][:f.r])
	}
	scale := 1 / float32(f.n)
	for i := range row {
		row[i] *= scale
	}
}

// addColumns averages some features' changes over each half.
func (f *crossFit) addColumns(piece int) {
	first := piece * sumColumns
	last := min(first+sumColumns, f.r)
	for half, sums := range f.sums {
		clear(sums[first:last])
		for piece := range pieces(f.n) {
			for k, v := range f.partial[half][piece*f.r:][first:last] {
				sums[first+k] += float64(v)
			}
		}
		count := float64(stat.HalfSize(half, f.n))
		for k := first; k < last; k++ {
			sums[k] /= count
		}
	}
}

// Bytes bounds what an objective of this package allocates for batches of n
// moves and r features.
func Bytes(n, r int) float64 {
	matrices := float64(6 + min(productLanes, pieces(n))) // second moments, factor and its scratch, products
	return 4 * (float64(r)*float64(n)*3.25 + matrices*float64(r)*float64(r+256))
}

// pointRows are states that a witness is evaluated at together.
const pointRows = 64

// inRows calls body for stretches of n states.
func (f *crossFit) inRows(n int, body func(lo, hi int)) {
	f.workers.Run((n+pointRows-1)/pointRows, func(piece int) { body(piece*pointRows, min(n, (piece+1)*pointRows)) })
}

// dot returns c·φ.
func dot(c []float64, phi []float32) (sum float64) {
	for k, v := range phi {
		sum += c[k] * float64(v)
	}
	return sum
}
