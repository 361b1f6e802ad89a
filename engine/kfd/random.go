package kfd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// Features describes random features of real vectors,
//
//	φ_k(x) = tanh(ω_k·x − |ω_k| b_k),   ω_k ~ e^{0.7 n_k} N(0, I)/Scale,   b_k ~ N(0, Range²),
//
// with n_k ~ N(0, 1): ridges of all directions and of widths about Scale, whose
// middles lie within about Range of the origin.
type Features struct {
	Number int     `json:"number"` // r
	Scale  float64 `json:"scale"`  // width of the ridges
	Range  float64 `json:"range"`  // standard deviation of their middles b
}

// WitnessConfig describes a witness in random features.
type WitnessConfig struct {
	Config
	Features Features `json:"features"`
}

// Validate reports the first value that cannot be used, by its key.
func (w *WitnessConfig) Validate() error {
	return conf.First(w.Config.Validate(), conf.Under("features", w.Features.Validate()))
}

// Validate reports the first value that cannot be used, by its key.
func (f *Features) Validate() error {
	if err := conf.First(
		conf.Between("number", f.Number, 1, maxFeatures),
		conf.Positive("scale", f.Scale),
		conf.NotNegative("range", f.Range)); err != nil {
		return err
	}
	const steepest = 1e15 // leaves room for the widths' scatter and for sums
	if !(1/f.Scale <= steepest && f.Range/f.Scale <= steepest) {
		return fmt.Errorf("scale: %v with range %v makes the features too steep for single precision", f.Scale, f.Range)
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
	*crossFit

	dim             int
	omega           []float32 // ω, [dim][r]
	offset          []float32 // −|ω| b, [r]
	packed, packedT []float32
	zero            []float32 // [max(r, dim)]

	features []float32 // φ(s), [n][r]
	slopes   []float32 // ∂g/∂(ω·s), [n][r]

	s, t, grad         []float32 // of the call in progress
	featurise, descend func(int)
}

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
	m := &Random{
		crossFit: newCrossFit(n, r, c, workers),
		dim:      dim,
		packed:   make([]float32, asm.PackedLen(dim, r)), packedT: make([]float32, asm.PackedLen(r, dim)),
		zero:     make([]float32, max(r, dim)),
		features: make([]float32, n*r), slopes: make([]float32, n*r),
	}
	m.omega, m.offset = f.draw(dim, seed)
	transposed := make([]float32, r*dim)
	for k := range r {
		for i := range dim {
			transposed[k*dim+i] = m.omega[i*r+k]
		}
	}
	asm.PackWeights(m.packed, m.omega, dim, r)
	asm.PackWeights(m.packedT, transposed, r, dim)
	m.featurise, m.descend = m.featurisePiece, m.descendPiece
	return m, nil
}

// draw makes the features of real vectors of the given dimension: ω, [dim][r],
// and −|ω| b, [r].
func (f *Features) draw(dim int, seed uint64) (omega, offset []float32) {
	r := f.Number
	stream := rng.Stream(seed, rng.Features, 0)
	draws := make([]float32, r*(dim+2))
	rng.Normals(draws, dim+2, &stream, 0)
	omega, offset = make([]float32, dim*r), make([]float32, r)
	for k := range r {
		row := draws[k*(dim+2):][:dim+2]
		scale := math.Exp(spread*float64(row[dim])) / f.Scale
		var square float64
		for i, v := range row[:dim] {
			w := scale * float64(v)
			square += w * w
			omega[i*r+k] = float32(w)
		}
		offset[k] = float32(-math.Sqrt(square) * f.Range * float64(row[dim+1]))
	}
	return omega, offset
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
	loss := math.NaN()
	if m.each(m.featurise) {
		loss = m.solve()
	}
	lo, hi := m.own()
	m.workers.RunFrom(lo, hi-lo, m.descend)
	m.s, m.t, m.grad = nil, nil, nil
	return loss
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
	asm.SubtractFrom(m.change[lo*m.r:hi*m.r], m.features[lo*m.r:hi*m.r])
	m.sumPiece(piece)
}

// descendPiece sets grad to ∇g/n = Σ_k c_k (1 − φ_k²) ω_k / n.
func (m *Random) descendPiece(piece int) {
	lo, hi := m.bounds(piece)
	slopes := m.slopes[lo*m.r : hi*m.r]
	scale := 1 / float32(m.n)
	for i := lo; i < hi; i++ {
		asm.TanhSlopes(slopes[(i-lo)*m.r:][:m.r], m.Solutions[m.half(i)], m.features[i*m.r:][:m.r], scale)
	}
	asm.DenseForward(m.grad[lo*m.dim:hi*m.dim], slopes, m.packedT, m.zero, hi-lo, m.r, m.dim, 1)
}

// At sets values to the function with the given coefficients at states x, row-major
// [len(values)][dim].
func (m *Random) At(values []float64, c []float64, x []float32) {
	m.inRows(len(values), func(lo, hi int) {
		phi := make([]float32, (hi-lo)*m.r)
		asm.DenseForward(phi, x[lo*m.dim:hi*m.dim], m.packed, m.offset, hi-lo, m.dim, m.r, 1)
		asm.Tanh(phi, phi)
		for i := range hi - lo {
			values[lo+i] = dot(c, phi[i*m.r:][:m.r])
		}
	})
}
