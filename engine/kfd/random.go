package kfd

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/pool"
	"github.com/revgen/revgen/engine/rng"
)

// Features describes random features of real vectors,
//
//	φ_k(x) = tanh(ω_k·x − |ω_k| b_k),   ω_k ~ e^{0.7 n_k} N(0, I)/Scale,   b_k ~ N(0, Range²),
//
// with n_k ~ N(0, 1): ridges of all directions and of widths about Scale, whose
// middles lie within about Range of the origin.
type Features struct {
	Number int     `json:"number"` // r
	Scale  float64 `json:"scale"`
	Range  float64 `json:"range"`
}

// Validate reports the first value that cannot be used, by its key.
func (f *Features) Validate() error {
	switch {
	case f.Number < 1 || f.Number > maxFeatures:
		return fmt.Errorf("number: %d is not between 1 and %d", f.Number, maxFeatures)
	case !(f.Scale > 0) || math.IsInf(f.Scale, 0):
		return fmt.Errorf("scale: %v is not a positive finite number", f.Scale)
	case !(f.Range >= 0) || math.IsInf(f.Range, 0):
		return fmt.Errorf("range: %v is not a finite number ≥ 0", f.Range)
	}
	return nil
}

const (
	maxFeatures = 4096
	spread      = 0.7 // of the logarithms of the features' widths
)

// Random is the objective for real vectors: the witness in random features and
// its gradient. It is bound to one batch size and reuses its buffers:
// LossGradient allocates nothing and must not be called concurrently. The
// result has the same bits for any number of threads.
type Random struct {
	Witness *Witness

	n, dim, r       int
	omega           []float32 // ω, [dim][r]
	offset          []float32 // −|ω| b, [r]
	packed, packedT []float32
	zero            []float32 // [max(r, dim)]
	workers         *pool.Pool

	features, change []float32      // φ(s) and φ(s) − φ(s′), [n][r]
	slopes           []float32      // ∂g/∂(ω·s), [n][r]
	products         [][]float32    // E[δδᵀ] of each lane
	partial          [][2][]float32 // Σ δ of each piece, by half of the batch
	sums             [2][]float64   // E[δ] over each half of the batch
	coefficients     [2][]float32   // of the witness that drives each half
	finite           []bool         // of each piece

	s, t, grad                               []float32 // of the call in progress
	featurise, multiply, merge, add, descend func(int)
}

const (
	rowsPerPiece = 64
	productLanes = 8  // and so the threads that E[δδᵀ] can use
	sumColumns   = 64 // columns of a piece of the sums
)

// NewRandom prepares the objective of batches of n states of the given
// dimension. The features belong to the seed.
func NewRandom(n, dim int, f Features, c Config, seed uint64, workers *pool.Pool) (*Random, error) {
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("features.%w", err)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if n < 2 || dim < 1 {
		return nil, fmt.Errorf("a batch of %d states of %d coordinates; cross-fitting takes two states, of one coordinate at least", n, dim)
	}
	r := f.Number
	identity := make([]float32, r)
	for i := range identity {
		identity[i] = 1
	}
	m := &Random{
		Witness: New(r, identity, c, workers),
		n:       n, dim: dim, r: r, workers: workers,
		packed: make([]float32, asm.PackedLen(dim, r)), packedT: make([]float32, asm.PackedLen(r, dim)),
		zero:     make([]float32, max(r, dim)),
		features: make([]float32, n*r), change: make([]float32, n*r), slopes: make([]float32, n*r),
		products: make([][]float32, min(productLanes, pieces(n))),
		finite:   make([]bool, pieces(n)),
	}
	m.draw(f, seed)
	m.partial = make([][2][]float32, pieces(n))
	for p := range m.partial {
		m.partial[p] = [2][]float32{make([]float32, r), make([]float32, r)}
	}
	for lane := range m.products {
		m.products[lane] = make([]float32, r*r+r)
	}
	for half := range 2 {
		m.sums[half], m.coefficients[half] = make([]float64, r), make([]float32, r)
	}
	m.featurise, m.multiply, m.merge, m.add, m.descend = m.featurisePiece, m.multiplyLane, m.mergeRow, m.addColumns, m.descendPiece
	return m, nil
}

// pieces returns the number of pieces of n rows.
func pieces(n int) int { return (n + rowsPerPiece - 1) / rowsPerPiece }

// draw makes the features.
func (m *Random) draw(f Features, seed uint64) {
	r, d := m.r, m.dim
	stream := rng.Stream(seed, rng.Features, 0)
	draws := make([]float32, r*(d+2))
	rng.Normals(draws, d+2, &stream, 0)
	m.omega, m.offset = make([]float32, d*r), make([]float32, r)
	transposed := make([]float32, r*d)
	for k := range r {
		row := draws[k*(d+2):][:d+2]
		scale := math.Exp(spread*float64(row[d])) / f.Scale
		var square float64
		for i, v := range row[:d] {
			w := scale * float64(v)
			square += w * w
			m.omega[i*r+k], transposed[k*d+i] = float32(w), float32(w)
		}
		m.offset[k] = float32(-math.Sqrt(square) * f.Range * float64(row[d+1]))
	}
	asm.PackWeights(m.packed, m.omega, d, r)
	asm.PackWeights(m.packedT, transposed, r, d)
}

// LossGradient returns the loss of the batch of moves s → t, the mean change of
// the witness, ½ E[g(s) − g(s′)], and sets grad to ∇g(s_i)/n. Each half of the batch
// is measured by the other's witness. All three are row-major [n][dim]. The loss
// is NaN if a value is not finite or rounding made the second moments
// indefinite.
func (m *Random) LossGradient(s, t, grad []float32) float64 {
	if want := m.n * m.dim; len(s) != want || len(t) != want || len(grad) != want {
		panic(fmt.Sprintf("kfd: slices of length %d, %d and %d; want %d", len(s), len(t), len(grad), want))
	}
	m.s, m.t, m.grad = s, t, grad
	m.workers.Run(pieces(m.n), m.featurise)
	if m.Witness.Stale() {
		m.workers.Run(len(m.products), m.multiply)
		m.workers.Run(m.r, m.merge)
	}
	m.workers.Run((m.r+sumColumns-1)/sumColumns, m.add)
	loss := math.NaN()
	if !slices.Contains(m.finite, false) && m.Witness.Update() {
		for half := range 2 {
			m.Witness.Solve(m.coefficients[1-half], m.sums[half])
		}
		loss = 0
		for half, sums := range m.sums {
			for k, v := range sums {
				loss += v * float64(m.coefficients[half][k]) / 4
			}
		}
	}
	m.workers.Run(pieces(m.n), m.descend)
	m.s, m.t, m.grad = nil, nil, nil
	return loss
}

// half returns which half of the batch sample i is in.
func (m *Random) half(i int) int {
	if 2*i < m.n {
		return 0
	}
	return 1
}

func (m *Random) bounds(piece int) (lo, hi int) {
	return piece * rowsPerPiece, min((piece+1)*rowsPerPiece, m.n)
}

// featurisePiece computes φ(s), φ(s) − φ(s′) and the latter's sums.
func (m *Random) featurisePiece(piece int) {
	lo, hi := m.bounds(piece)
	// tanh would hide an infinity.
	m.finite[piece] = asm.AllFinite(m.s[lo*m.dim:hi*m.dim]) && asm.AllFinite(m.t[lo*m.dim:hi*m.dim])
	for from, states := range [2][]float32{m.s, m.t} {
		phi := [2][]float32{m.features, m.change}[from][lo*m.r : hi*m.r]
		asm.DenseForward(phi, states[lo*m.dim:hi*m.dim], m.packed, m.offset, hi-lo, m.dim, m.r, 1)
		asm.Tanh(phi, phi)
	}
	partial := &m.partial[piece]
	clear(partial[0])
	clear(partial[1])
	for i := lo; i < hi; i++ {
		change := m.change[i*m.r:][:m.r]
		for k, v := range m.features[i*m.r:][:m.r] {
			change[k] = v - change[k]
		}
		asm.Accumulate(partial[m.half(i)], change)
	}
}

// multiplyLane sums δδᵀ over every so manieth piece.
func (m *Random) multiplyLane(lane int) {
	product := m.products[lane]
	clear(product)
	for piece := lane; piece < pieces(m.n); piece += len(m.products) {
		lo, hi := m.bounds(piece)
		delta := m.change[lo*m.r : hi*m.r]
		asm.DenseBackwardWeights(product[:m.r*m.r], product[m.r*m.r:], delta, delta, hi-lo, m.r, m.r)
	}
}

// mergeRow adds one row of the lanes' products.
func (m *Random) mergeRow(k int) {
	row := m.Witness.Batch()[k*m.r:][:m.r]
	copy(row, m.products[0][k*m.r:])
	for _, product := range m.products[1:] {
		asm.Accumulate(row, product[k*m.r:][:m.r])
	}
	scale := 1 / float32(m.n)
	for i := range row {
		row[i] *= scale
	}
}

// addColumns averages some features' changes over each half.
func (m *Random) addColumns(piece int) {
	first := piece * sumColumns
	last := min(first+sumColumns, m.r)
	for half, sums := range m.sums {
		clear(sums[first:last])
		for _, partial := range m.partial {
			for k, v := range partial[half][first:last] {
				sums[first+k] += float64(v)
			}
		}
		count := float64((m.n + 1 - half) / 2)
		for k := first; k < last; k++ {
			sums[k] /= count
		}
	}
}

// descendPiece sets grad to ∇g/n = Σ_k c_k (1 − φ_k²) ω_k / n.
func (m *Random) descendPiece(piece int) {
	lo, hi := m.bounds(piece)
	slopes := m.slopes[lo*m.r : hi*m.r]
	scale := 1 / float32(m.n)
	for i := lo; i < hi; i++ {
		c := m.coefficients[m.half(i)]
		row := slopes[(i-lo)*m.r:][:m.r]
		for k, v := range m.features[i*m.r:][:m.r] {
			row[k] = scale * c[k] * (1 - v*v)
		}
	}
	asm.DenseForward(m.grad[lo*m.dim:hi*m.dim], slopes, m.packedT, m.zero, hi-lo, m.r, m.dim, 1)
}
