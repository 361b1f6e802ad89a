package kfd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Mixed is the objective for states (x, k) of a real vector and a mode: the
// witness in the products of functions of x with the indicators of the modes,
//
//	φ_{c,j}(x, k) = 1(k = c) φ_j(x),
//
// where one φ_j is 1 and the others are random features of x: a function of x of
// its own for each mode. The difference of two modes' functions is what the
// gradient by k needs.
//
// A Mixed is bound to one batch size and reuses its buffers. Its methods
// allocate nothing; only Evaluate may be called concurrently. The results have
// the same bits for any number of threads.
type Mixed struct {
	*crossFit

	dim, modes, q int       // q functions of x, the constant last
	omega, offset []float32 // of φ, [dim][q] and [q]
	packedOmega   []float32
	zero          []float32    // [modes·dim]
	values        [2][]float32 // of each half's witness: c, [q][modes], packed
	slopes        [2][]float32 // c_{c,j} ω_j, [q][modes·dim], likewise
	unpacked      [2][2][]float32
	states        [][2][]float32 // φ(x) and φ(x′) of each piece

	x, y      []float32 // of the call in progress
	k, l      []uint8
	featurise func(int)
}

// NewMixed prepares the objective of batches of n states of dim coordinates in the
// given number of modes, 1 to 256, with f.Number random features for each mode. The features
// belong to the seed.
func NewMixed(n, dim, modes int, f Features, c Config, seed uint64, workers *pool.Pool) (*Mixed, error) {
	if err := f.ValidateModes(modes); err != nil {
		return nil, fmt.Errorf("features.%w", err)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if n < 2 || dim < 1 || modes < 1 || modes > 256 {
		return nil, fmt.Errorf("a batch of %d states of %d coordinates in %d modes; cross-fitting takes two states, of one coordinate at least, and modes are 1 to 256", n, dim, modes)
	}
	q := f.Number + 1
	m := &Mixed{
		crossFit: newCrossFit(n, q*modes, c, workers),
		dim:      dim, modes: modes, q: q,
		zero:   make([]float32, modes*dim),
		omega:  make([]float32, dim*q),
		states: make([][2][]float32, pieces(n)),
	}
	omega, offset := f.draw(dim, seed)
	m.offset = append(offset, 0)
	for i := range dim {
		copy(m.omega[i*q:], omega[i*f.Number:][:f.Number])
	}
	m.packedOmega = make([]float32, asm.PackedLen(dim, q))
	asm.PackWeights(m.packedOmega, m.omega, dim, q)
	for half := range 2 {
		m.values[half], m.slopes[half] = make([]float32, asm.PackedLen(q, modes)), make([]float32, asm.PackedLen(q, modes*dim))
		m.unpacked[half] = [2][]float32{make([]float32, q*modes), make([]float32, q*modes*dim)}
	}
	for p := range m.states {
		m.states[p] = [2][]float32{make([]float32, rowsPerPiece*q), make([]float32, rowsPerPiece*q)}
	}
	m.featurise = m.featurisePiece
	return m, nil
}

// ValidateModes is Validate for features of which each mode has its own.
func (f *Features) ValidateModes(modes int) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if (f.Number+1)*modes > maxFeatures {
		return fmt.Errorf("number: %d and a constant for each of %d modes are more than %d", f.Number, modes, maxFeatures)
	}
	return nil
}

// ValidateModes reports the first value that cannot be used for states with one of a
// number of modes, 0 for none, by its key.
func (w *WitnessConfig) ValidateModes(modes int) error {
	features := w.Features.Validate
	if modes > 0 {
		features = func() error { return w.Features.ValidateModes(modes) }
	}
	return conf.First(w.Config.Validate(), conf.Under("features", features()))
}

// functions sets phi, [rows][q], to φ of the rows of x, [rows][dim].
func (m *Mixed) functions(phi, x []float32) {
	asm.DenseForward(phi, x, m.packedOmega, m.offset, len(x)/m.dim, m.dim, m.q, 1)
	asm.Tanh(phi, phi)
	for i := m.q - 1; i < len(phi); i += m.q {
		phi[i] = 1
	}
}

// Fit finds the witness of the moves (x, k) → (y, l), x and y row-major [n][dim], and returns the loss, the
// mean change of the witness, ½ E[g(s) − g(s′)]. It is NaN if a coordinate is
// not finite or rounding made the second moments indefinite.
func (m *Mixed) Fit(x, y []float32, k, l []uint8) float64 {
	if n := m.n; len(x) != n*m.dim || len(y) != n*m.dim || len(k) != n || len(l) != n {
		panic(fmt.Sprintf("kfd: slices of length %d, %d, %d and %d for %d states of %d coordinates", len(x), len(y), len(k), len(l), n, m.dim))
	}
	m.x, m.y, m.k, m.l = x, y, k, l
	finite := m.each(m.featurise)
	m.x, m.y, m.k, m.l = nil, nil, nil, nil
	if !finite {
		return math.NaN()
	}
	loss := m.solve()
	for half, coefficients := range m.Solutions {
		value, slope := m.unpacked[half][0], m.unpacked[half][1]
		for c := range m.modes {
			for j, v := range coefficients[c*m.q:][:m.q] {
				value[j*m.modes+c] = v
				for i := range m.dim {
					slope[(j*m.modes+c)*m.dim+i] = v * m.omega[i*m.q+j]
				}
			}
		}
		asm.PackWeights(m.values[half], value, m.q, m.modes)
		asm.PackWeights(m.slopes[half], slope, m.q, m.modes*m.dim)
	}
	return loss
}

// featurisePiece computes φ(s) − φ(s′) and its sums.
func (m *Mixed) featurisePiece(piece int) {
	lo, hi := m.bounds(piece)
	// tanh would hide an infinity.
	x, y := m.x[lo*m.dim:hi*m.dim], m.y[lo*m.dim:hi*m.dim]
	m.finite[piece] = asm.AllFinite(x) && asm.AllFinite(y)
	from, to := m.states[piece][0][:(hi-lo)*m.q], m.states[piece][1][:(hi-lo)*m.q]
	m.functions(from, x)
	m.functions(to, y)
	clear(m.change[lo*m.r : hi*m.r])
	for i := lo; i < hi; i++ {
		row := m.change[i*m.r:][:m.r]
		copy(row[int(m.k[i])*m.q:], from[(i-lo)*m.q:][:m.q])
		there := row[int(m.l[i])*m.q:][:m.q]
		for j, v := range to[(i-lo)*m.q:][:m.q] {
			there[j] -= v
		}
	}
	m.sumPiece(piece)
}

// ScratchLen returns the length of the scratch that Evaluate takes for so many
// points in all.
func (m *Mixed) ScratchLen(points int) int { return points * m.q }

// Evaluate sets value to g and slope to ∂g/∂x, with the witness g that drives
// samples lo … hi−1 of the batch of the last Fit, at some points of each sample
// and in every mode. x is row-major [hi−lo][points][dim], value [hi−lo][points][modes]
// and slope [hi−lo][points][modes][dim], and scratch has ScratchLen((hi−lo)·points) elements.
func (m *Mixed) Evaluate(value, slope, x, scratch []float32, lo, hi, points int) {
	if n := (hi - lo) * points; len(x) != n*m.dim || len(value) != n*m.modes || len(slope) != n*m.modes*m.dim || len(scratch) != n*m.q {
		panic(fmt.Sprintf("kfd: slices of length %d, %d, %d and %d for %d points of %d states", len(value), len(slope), len(x), len(scratch), points, hi-lo))
	}
	m.functions(scratch, x)
	for lo < hi {
		half, end := m.half(lo), hi
		if half == 0 {
			end = min(hi, stat.Middle(m.n))
		}
		rows := (end - lo) * points
		phi := scratch[:rows*m.q]
		asm.DenseForward(value, phi, m.values[half], m.zero[:m.modes], rows, m.q, m.modes, 1)
		for i, v := range phi {
			phi[i] = 1 - v*v
		}
		asm.DenseForward(slope, phi, m.slopes[half], m.zero, rows, m.q, m.modes*m.dim, 1)
		value, slope, scratch, lo = value[rows*m.modes:], slope[rows*m.modes*m.dim:], scratch[rows*m.q:], end
	}
}

// Value returns g(x, k) in float64, with the witness that drives sample i of the
// last Fit's batch: what Evaluate is verified against.
func (m *Mixed) Value(i int, x []float64, k int) (g float64) {
	for j, c := range m.Solutions[m.half(i)][k*m.q:][:m.q] {
		g += float64(c) * m.function(j, x)
	}
	return g
}

// function returns φ_j(x).
func (m *Mixed) function(j int, x []float64) float64 {
	if j == m.q-1 {
		return 1
	}
	sum := float64(m.offset[j])
	for i, v := range x {
		sum += float64(m.omega[i*m.q+j]) * v
	}
	return math.Tanh(sum)
}

// At sets values to the function with the given coefficients at states (x, k), x
// row-major [len(values)][dim].
func (m *Mixed) At(values []float64, c []float64, x []float32, k []uint8) {
	m.inRows(len(values), func(lo, hi int) {
		phi := make([]float32, (hi-lo)*m.q)
		m.functions(phi, x[lo*m.dim:hi*m.dim])
		for i := range hi - lo {
			values[lo+i] = dot(c[int(k[lo+i])*m.q:][:m.q], phi[i*m.q:][:m.q])
		}
	})
}
