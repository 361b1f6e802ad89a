package gmm

import "github.com/revgen/revgen/asm"

// A density evaluates ln π of batches in float32, one whitening product
// y = L⁻¹(x − μ) per component. It is immutable.
//
// With u the relative rounding 2⁻²⁴ of float32, a term −½|y|² is off by about
// u·|y|·(d + 2)·|L⁻¹|(|x| + |μ|): of the order of what rounding x itself makes.
type density struct {
	dim     int
	packed  [][]float32 // (L⁻¹)ᵀ
	bias    [][]float32 // −L⁻¹μ
	logNorm []float32
}

func newDensity(t *Target) *density {
	d := t.dim
	f := &density{dim: d}
	transposed := make([]float32, d*d)
	for k := range t.components {
		g := &t.components[k]
		bias := make([]float32, d)
		for i := range d {
			var sum float64
			for j, v := range g.inverse[i*d:][:d] {
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

// densityScratch is what the evaluation of a number of rows needs.
type densityScratch struct{ whitened, terms []float32 }

func (f *density) newScratch(rows int) *densityScratch {
	return &densityScratch{make([]float32, rows*f.dim), make([]float32, rows*len(f.logNorm))}
}

// logDensity sets dst[r] = ln π(x_r) for the rows of x, [len(dst)][d].
func (f *density) logDensity(dst, x []float32, s *densityScratch) {
	rows, d, components := len(dst), f.dim, len(f.logNorm)
	y, terms := s.whitened[:rows*d], s.terms[:rows*components]
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
func (f *density) responsibilities(dst, x []float32, s *densityScratch) {
	components := len(f.logNorm)
	rows := len(dst) / components
	total := make([]float32, rows)
	f.logDensity(total, x, s)
	for i, term := range s.terms[:len(dst)] {
		dst[i] = term - total[i/components]
	}
	asm.Exp(dst, dst)
}
