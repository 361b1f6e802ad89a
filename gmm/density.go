package gmm

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/vectors"
)

// A density is the vectors.Target of a mixture. It evaluates ln π of batches in float32, with one
// whitening product y = L⁻¹(x − μ) for each component.
//
// With u the relative rounding 2⁻²⁴ of float32, a term −½|y|² is off by about
// u·|y|·(d + 2)·|L⁻¹|(|x| + |μ|), about as much as by rounding x.
type density struct {
	dim     int
	target  *Target
	packed  [][]float32 // (L⁻¹)ᵀ
	bias    [][]float32 // −L⁻¹μ
	logNorm []float32

	whitened, terms []float32 // buffers for a block's rows
}

// blockRows is the number of rows that are evaluated together.
const blockRows = 256

func newDensity(t *Target) *density {
	d := t.dim
	f := &density{dim: d, target: t, whitened: make([]float32, blockRows*d), terms: make([]float32, blockRows*len(t.components))}
	transposed := make([]float32, d*d)
	for k := range t.components {
		g := &t.components[k]
		bias := make([]float32, d)
		for i := range d {
			var sum float64
			for j, v := range mixture.Row(g.inverse, i) {
				transposed[j*d+i] = float32(v)
				sum -= v * g.Mean[j]
			}
			bias[i] = float32(sum)
		}
		packed := make([]float32, asm.PackedLen(d, d))
		asm.PackWeights(packed, transposed, d, d)
		f.packed, f.bias, f.logNorm = append(f.packed, packed), append(f.bias, bias), append(f.logNorm, float32(g.logNorm))
	}
	return f
}

// Dim returns the number of coordinates of a state.
func (f *density) Dim() int { return f.dim }

// Clone returns a density with buffers of its own.
func (f *density) Clone() vectors.Target {
	g := *f
	g.whitened, g.terms = make([]float32, len(f.whitened)), make([]float32, len(f.terms))
	return &g
}

// LogDensity sets dst[r] = ln π(x_r) for the rows of x, [len(dst)][d].
func (f *density) LogDensity(dst, x []float32, _ []uint8) {
	for lo := 0; lo < len(dst); lo += blockRows {
		hi := min(lo+blockRows, len(dst))
		f.evaluate(dst[lo:hi], x[lo*f.dim:hi*f.dim])
	}
}

// evaluate is LogDensity of up to a block's rows. It leaves ln w_k N(x_r | μ_k, Σ_k)
// in terms, [len(dst)][components].
func (f *density) evaluate(dst, x []float32) {
	rows, d, components := len(dst), f.dim, len(f.logNorm)
	y, terms := f.whitened[:rows*d], f.terms[:rows*components]
	for k, norm := range f.logNorm {
		asm.DenseForward(y, x, f.packed[k], f.bias[k], rows, d, d, 1)
		for r := range rows {
			var square float32
			for _, v := range y[r*d : (r+1)*d] {
				square += v * v
			}
			terms[r*components+k] = norm - square/2
		}
	}
	asm.LogSumExp(dst, terms, components)
}

// responsibilities sets dst, [rows][components], to the probabilities that the
// rows of x came from each component.
func (f *density) responsibilities(dst, x []float32) {
	components := len(f.logNorm)
	total := make([]float32, blockRows)
	for rows := len(dst) / components; rows > 0; {
		n := min(rows, blockRows)
		f.evaluate(total[:n], x[:n*f.dim])
		for i, term := range f.terms[:n*components] {
			dst[i] = term - total[i/components]
		}
		asm.Exp(dst[:n*components], dst[:n*components])
		dst, x, rows = dst[n*components:], x[n*f.dim:], rows-n
	}
}

// observedComponents is the largest number of components whose weights are observables.
const observedComponents = 16

// Place returns the mean of the components' means, and a scale that reaches all of
// them with their standard deviations.
func (f *density) Place(int) (center []float64, scale float64) {
	center = make([]float64, f.dim)
	for _, g := range f.target.components {
		for i, m := range g.Mean {
			center[i] += m / float64(len(f.target.components))
		}
	}
	for _, g := range f.target.components {
		for i, m := range g.Mean {
			scale = max(scale, math.Abs(m-center[i])+math.Sqrt(g.Covariance[i][i]))
		}
	}
	return center, scale
}

// Observables names the components' weights.
func (f *density) Observables() (names []string) {
	for k := range min(len(f.logNorm), observedComponents) {
		names = append(names, fmt.Sprintf("mode_weight_%d", k))
	}
	return names
}

// Observe sets dst to the probabilities that the rows of x came from each component.
func (f *density) Observe(dst []float64, stride int, _ []float64, x []float32, _ []uint8) {
	rows, components := len(x)/f.dim, len(f.logNorm)
	p := make([]float32, rows*components)
	f.responsibilities(p, x)
	for r := range rows {
		for k := range min(components, observedComponents) {
			dst[r*stride+k] = float64(p[r*components+k])
		}
	}
}

var (
	_ vectors.Placed   = (*density)(nil)
	_ vectors.Observed = (*density)(nil)
)
