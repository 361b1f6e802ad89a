package mmd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// Stationarity computes the squared maximum mean discrepancy between the laws
// of s and of s′ and its gradient in s with s′ fixed,
//
//	L = (1/N²) Σ_ij [k(|a_i−a_j|²) − 2k(|a_i−b_j|²) + k(|b_i−b_j|²)],
//
//	∂L/∂a_i = (4/N²) Σ_j [k′(|a_i−a_j|²)(a_i−a_j) − k′(|a_i−b_j|²)(a_i−b_j)].
//
// It vanishes if the moves leave the law of s invariant, whether they are
// reversible or not, and is another loss than the package's: its kernel is one
// of states rather than of pairs.
//
// A Stationarity is bound to one batch size and reuses its buffers:
// LossGradient allocates nothing and must not be called concurrently. The
// result has the same bits for any number of threads.
type Stationarity struct {
	n, dim  int
	stat    Statistic
	kernel  *asm.Radial
	atZero  float64 // k(0)
	weight  float64
	workers *pool.Pool

	planes    [2][]float32 // of a and of b, [dim][n]
	grad      []float32    // of the call in progress
	pieces    []stationaryPiece
	losses    []float64 // of each
	runPiece  func(int)
	transpose func(int)
	s, t      []float32
}

const (
	stationaryRows    = 64  // of a piece
	stationaryColumns = 256 // between two additions to the float64 sums
)

// stationaryPiece holds the sums of one piece's rows over all columns.
type stationaryPiece struct {
	value    [3][stationaryRows]float64 // of k between a and a, a and b, b and b
	slope    []float64                  // of the gradient, [dim][rows]
	part     [stationaryRows]float32    // sums over stationaryColumns
	gradient []float32
	scratch  []float32
}

// NewStationarity prepares the loss of batches of n states of the given
// dimension. With densityWeight ε > 0, the gradient of each sample, not the
// loss, is multiplied by (ρ_i + ε)^−½, where ρ_i is the mean over j of
// ½[k(|a_i−a_j|²) + k(|a_i−b_j|²)]/k(0), so that samples in regions of low density
// count for more.
func NewStationarity(n, dim int, k Kernel, stat Statistic, densityWeight float64, workers *pool.Pool) (*Stationarity, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	if dim < 1 {
		return nil, fmt.Errorf("dimension %d: a state has at least one coordinate", dim)
	}
	if least := 1 + int(stat); n < least || n > math.MaxInt32 {
		return nil, fmt.Errorf("batch size %d: the %v-statistic needs at least %d", n, stat, least)
	}
	m := &Stationarity{
		n: n, dim: dim, stat: stat, weight: densityWeight, workers: workers,
		kernel: k.radial(), atZero: k.Value(0),
		pieces: make([]stationaryPiece, (n+stationaryRows-1)/stationaryRows),
	}
	m.losses = make([]float64, len(m.pieces))
	for i := range m.planes {
		m.planes[i] = make([]float32, dim*n)
	}
	for i := range m.pieces {
		p := &m.pieces[i]
		p.slope = make([]float64, dim*stationaryRows)
		p.gradient = make([]float32, dim*stationaryRows)
		p.scratch = make([]float32, asm.GramScratch(dim))
	}
	m.runPiece, m.transpose = m.piece, m.toPlanes
	return m, nil
}

// LossGradient returns the loss of the batch of moves s → t and sets grad to its
// gradient in s with t held fixed, weighted if so configured. All three are
// row-major [n][dim]. A NaN or an infinity anywhere in s or t makes the loss NaN.
func (m *Stationarity) LossGradient(s, t, grad []float32) float64 {
	if want := m.n * m.dim; len(s) != want || len(t) != want || len(grad) != want {
		panic(fmt.Sprintf("mmd: slices of length %d, %d and %d; want %d", len(s), len(t), len(grad), want))
	}
	m.s, m.t, m.grad = s, t, grad
	m.workers.Run(len(m.pieces), m.transpose)
	m.workers.Share(len(m.pieces), m.runPiece, pool.SpanOf(grad, stationaryRows*m.dim), pool.SpanOf(m.losses, 1))
	m.s, m.t, m.grad = nil, nil, nil
	var loss float64
	for _, l := range m.losses {
		loss += l
	}
	return pairNorm(m.stat, m.n) * loss
}

func (m *Stationarity) bounds(piece int) (lo, hi int) {
	return piece * stationaryRows, min((piece+1)*stationaryRows, m.n)
}

// toPlanes copies the states of one piece to the planes. A value that is not
// finite poisons the piece's loss.
func (m *Stationarity) toPlanes(piece int) {
	lo, hi := m.bounds(piece)
	var poison float64
	for from, rows := range [2][]float32{m.s, m.t} {
		for i := lo; i < hi; i++ {
			for c, v := range rows[i*m.dim : (i+1)*m.dim] {
				m.planes[from][c*m.n+i] = v
				poison += 0 * float64(v)
			}
		}
	}
	m.losses[piece] = poison
}

// piece sums the rows of one piece over all columns.
func (m *Stationarity) piece(piece int) {
	lo, hi := m.bounds(piece)
	p := &m.pieces[piece]
	clear(p.slope)
	a, b := m.planes[0], m.planes[1]
	m.sum(p, 0, a, a, lo, hi, 1)
	m.sum(p, 1, a, b, lo, hi, -1)
	m.sum(p, 2, b, b, lo, hi, 0)
	if m.stat == U {
		m.dropOwn(p, lo, hi)
	}
	scale := 4 * pairNorm(m.stat, m.n)
	for i := lo; i < hi; i++ {
		xx, xy := p.value[0][i-lo], p.value[1][i-lo]
		m.losses[piece] += xx - 2*xy + p.value[2][i-lo]
		weight := scale
		if m.weight > 0 {
			density := (xx + xy) / (2 * m.atZero * float64(m.n))
			weight /= math.Sqrt(density + m.weight)
		}
		for c := range m.dim {
			m.grad[i*m.dim+c] = float32(weight * p.slope[c*stationaryRows+i-lo])
		}
	}
}

// sum sets one of the piece's values to the sums of k over all columns of y and
// adds sign times those of its gradient to the slope.
func (m *Stationarity) sum(p *stationaryPiece, which int, x, y []float32, lo, hi int, sign float64) {
	rows, n := hi-lo, m.n
	value := p.value[which][:rows]
	clear(value)
	gradDim := m.dim
	if sign == 0 {
		gradDim = 0
	}
	for first := 0; first < n; first += stationaryColumns {
		clear(p.part[:])
		clear(p.gradient)
		asm.KernelSums(m.kernel, p.part[:], p.gradient, stationaryRows, x[lo:], n, rows,
			y[first:], n, min(stationaryColumns, n-first), m.dim, gradDim, p.scratch)
		for i := range value {
			value[i] += float64(p.part[i])
		}
		if sign == 0 {
			continue
		}
		for i, v := range p.gradient {
			p.slope[i] += sign * float64(v)
		}
	}
}

// dropOwn takes the terms i = j out of the sums.
func (m *Stationarity) dropOwn(p *stationaryPiece, lo, hi int) {
	rows := hi - lo
	d2, value, slope := p.part[:rows], p.gradient[:rows], p.scratch[:rows]
	clear(d2)
	for c := range m.dim {
		for i := range d2 {
			d := m.planes[0][c*m.n+lo+i] - m.planes[1][c*m.n+lo+i]
			d2[i] += d * d
		}
	}
	asm.RadialValues(m.kernel, value, slope, d2)
	for i := range d2 {
		p.value[0][i] -= m.atZero
		p.value[1][i] -= float64(value[i])
		p.value[2][i] -= m.atZero
		for c := range m.dim {
			d := m.planes[0][c*m.n+lo+i] - m.planes[1][c*m.n+lo+i]
			p.slope[c*stationaryRows+i] += float64(slope[i] * d)
		}
	}
}
