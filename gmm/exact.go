package gmm

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/stat"
)

// Mean returns ⟨x⟩.
func (t *Target) Mean() []float64 {
	mean := make([]float64, t.dim)
	for _, g := range t.components {
		for i, m := range g.Mean {
			mean[i] += g.Weight * m
		}
	}
	return mean
}

// Covariance returns ⟨(x−⟨x⟩)(x−⟨x⟩)ᵀ⟩, row-major [d][d].
func (t *Target) Covariance() []float64 {
	mean := t.Mean()
	c := make([]float64, t.dim*t.dim)
	for _, g := range t.components {
		for i, row := range g.Covariance {
			for j, v := range row {
				c[i*t.dim+j] += g.Weight * (v + (g.Mean[i]-mean[i])*(g.Mean[j]-mean[j]))
			}
		}
	}
	return c
}

// SquaredNorm returns ∫ π², a double sum over components of
// w_k w_l N(μ_k | μ_l, Σ_k + Σ_l).
func (t *Target) SquaredNorm() float64 {
	var total float64
	for _, g := range t.components {
		for _, h := range t.components {
			var sum mat.SymDense
			sum.AddSym(g.symmetric(), h.symmetric())
			var factor mat.Cholesky
			factor.Factorize(&sum) // which succeeds, since both matrices are positive definite
			var difference, solved mat.VecDense
			difference.SubVec(mat.NewVecDense(t.dim, g.Mean), mat.NewVecDense(t.dim, h.Mean))
			_ = factor.SolveVecTo(&solved, &difference) // an error only says that the matrix is ill-conditioned
			log := float64(t.dim)*math.Log(2*math.Pi) + factor.LogDet() + mat.Dot(&difference, &solved)
			total += g.Weight * h.Weight * math.Exp(-log/2)
		}
	}
	return total
}

// symmetric returns Σ.
func (c *Component) symmetric() *mat.SymDense {
	return mat.NewSymDense(len(c.Mean), slices.Concat(c.Covariance...))
}

// componentDraws is the first block of the half of a stream that chooses components.
const componentDraws = 1 << 63

// Sample fills x, [rows][d], with the independent exact samples first, first+1, … of the stream c. A
// sample is x = μ + L y: one block of its own chooses the component, and d normals are y.
func (t *Target) Sample(x []float32, c *rng.Counter, first uint64) {
	const strip = 64
	d := t.dim
	var words [4 * strip]uint32
	y := make([]float32, strip*d)
	for len(x) > 0 {
		rows := min(strip, len(x)/d)
		asm.PhiloxBlocks(words[:4*rows], c, componentDraws|first)
		rng.Normals(y[:rows*d], d, c, first)
		for r := range rows {
			g := t.choose((float64(words[4*r]) + 0.5) * 0x1p-32)
			for i := range d {
				v := g.Mean[i]
				for j, l := range mixture.Row(g.factor, i) {
					v += l * float64(y[r*d+j])
				}
				x[r*d+i] = float32(v)
			}
		}
		x, first = x[rows*d:], first+uint64(rows)
	}
}

// choose returns the component that the uniform number u selects.
func (t *Target) choose(u float64) *gaussian {
	for k := range t.components {
		if u -= t.components[k].Weight; u < 0 {
			return &t.components[k]
		}
	}
	return &t.components[len(t.components)-1]
}

// A Marginal is the law of one coordinate, a mixture of normal laws on the
// line. It implements stat.Law.
type Marginal struct{ weight, mean, deviation []float64 }

// Marginal returns the law of coordinate i.
func (t *Target) Marginal(i int) *Marginal {
	m := &Marginal{}
	for _, g := range t.components {
		m.weight = append(m.weight, g.Weight)
		m.mean = append(m.mean, g.Mean[i])
		m.deviation = append(m.deviation, math.Sqrt(g.Covariance[i][i]))
	}
	return m
}

// sum returns Σ_k w_k f(σ_k, (x − μ_k)/σ_k).
func (m *Marginal) sum(x float64, f func(deviation, z float64) float64) (total float64) {
	for k, w := range m.weight {
		total += w * f(m.deviation[k], (x-m.mean[k])/m.deviation[k])
	}
	return total
}

func normalDensity(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
func normalCDF(z float64) float64     { return math.Erfc(-z/math.Sqrt2) / 2 }

// Density returns the density at x.
func (m *Marginal) Density(x float64) float64 {
	return m.sum(x, func(deviation, z float64) float64 { return normalDensity(z) / deviation })
}

// CDF returns the probability of a coordinate at most x.
func (m *Marginal) CDF(x float64) float64 {
	return m.sum(x, func(_, z float64) float64 { return normalCDF(z) })
}

// CDFIntegral returns the integral of the CDF from −∞ to x.
func (m *Marginal) CDFIntegral(x float64) float64 {
	return m.sum(x, func(deviation, z float64) float64 { return deviation * (z*normalCDF(z) + normalDensity(z)) })
}

// Mean returns the mean of the coordinate.
func (m *Marginal) Mean() (mean float64) {
	for k, w := range m.weight {
		mean += w * m.mean[k]
	}
	return mean
}

// Quantile returns the x with CDF(x) = u, 0 < u < 1, to rounding.
func (m *Marginal) Quantile(u float64) float64 {
	// The quantile lies between those of the components.
	z := math.Sqrt2 * math.Erfinv(2*u-1)
	low, high := math.Inf(1), math.Inf(-1)
	for k, mean := range m.mean {
		x := mean + m.deviation[k]*z
		low, high = min(low, x), max(high, x)
	}
	return stat.Root(m, u, low, high, (low+high)/2)
}
