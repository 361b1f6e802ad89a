package gmm

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// A TargetConfig names the mixture π(x) = Σ_k w_k N(x | μ_k, Σ_k).
type TargetConfig struct {
	Components []Component `json:"components"` // weight, mean and covariance of each Gaussian
}

// A Component is one Gaussian of a mixture of dimension d.
type Component struct {
	Weight     float64     `json:"weight"`     // w > 0
	Mean       []float64   `json:"mean"`       // μ, [d]
	Covariance [][]float64 `json:"covariance"` // Σ, [d][d], symmetric and positive definite
}

// A Target is a Gaussian mixture. It is immutable.
type Target struct {
	dim        int
	components []gaussian
}

// A gaussian is a component prepared for evaluation. With the Cholesky factor
// Σ = L Lᵀ, the vector y = L⁻¹(x − μ) is standard normal and
//
//	ln w N(x | μ, Σ) = logNorm − ½|y|².
type gaussian struct {
	Component
	factor  []float64 // lower triangle of L, row after row
	inverse []float64 // L⁻¹, likewise
	logNorm float64   // ln w − Σ_i ln L_ii − (d/2) ln 2π
}

// Limits of a mixture.
const (
	maxDim        = 1024
	maxComponents = 1024
	minVariance   = 1e-24
	maxVariance   = 1e24
	maxMean       = 1e12
	weightSlack   = 1e-5 // of the weights' sum, so that 0.333333 may stand for a third
)

// NewTarget returns the mixture of the given components. Errors begin with the
// key of the value that cannot be used.
func NewTarget(c TargetConfig) (*Target, error) {
	if n := len(c.Components); n < 1 || n > maxComponents {
		return nil, fmt.Errorf("components: %d of them are not between 1 and %d", n, maxComponents)
	}
	t := &Target{dim: len(c.Components[0].Mean)}
	if t.dim < 1 || t.dim > maxDim {
		return nil, fmt.Errorf("components[0].mean: %d coordinates are not between 1 and %d", t.dim, maxDim)
	}
	var sum float64
	for k, component := range c.Components {
		g, err := t.newGaussian(component)
		if err != nil {
			return nil, fmt.Errorf("components[%d].%w", k, err)
		}
		t.components = append(t.components, g)
		sum += component.Weight
	}
	if math.Abs(sum-1) > weightSlack {
		return nil, fmt.Errorf("components: the weights sum to %v instead of 1", sum)
	}
	for k := range t.components {
		t.components[k].Weight /= sum
		t.components[k].logNorm -= math.Log(sum)
	}
	return t, nil
}

func (t *Target) newGaussian(c Component) (gaussian, error) {
	d := t.dim
	if !(c.Weight > 0 && c.Weight <= 1+weightSlack) {
		return gaussian{}, fmt.Errorf("weight: %v is not in (0, 1]", c.Weight)
	}
	if len(c.Mean) != d {
		return gaussian{}, fmt.Errorf("mean: %d coordinates where the first component has %d", len(c.Mean), d)
	}
	for i, m := range c.Mean {
		if !number.Finite(m) {
			return gaussian{}, fmt.Errorf("mean[%d]: %v is not finite", i, m)
		}
	}
	if len(c.Covariance) != d {
		return gaussian{}, fmt.Errorf("covariance: %d rows for %d coordinates", len(c.Covariance), d)
	}
	for i, row := range c.Covariance {
		if len(row) != d {
			return gaussian{}, fmt.Errorf("covariance[%d]: %d values for %d coordinates", i, len(row), d)
		}
		for j, v := range row {
			if !number.Finite(v) {
				return gaussian{}, fmt.Errorf("covariance[%d][%d]: %v is not finite", i, j, v)
			}
			if j < i && v != c.Covariance[j][i] {
				return gaussian{}, fmt.Errorf("covariance: not symmetric: [%d][%d] is %v and [%d][%d] is %v", i, j, v, j, i, c.Covariance[j][i])
			}
		}
	}
	const rounding = 1e-14
	g := gaussian{Component: c}
	for i, row := range c.Covariance {
		g.factor = append(g.factor, row[:i+1]...)
	}
	if row := mixture.Factorise(g.factor, d, rounding, 0); row >= 0 {
		return gaussian{}, fmt.Errorf("covariance: not positive definite: its leading %d×%d block is not", row+1, row+1)
	}
	g.inverse = make([]float64, len(g.factor))
	mixture.Invert(g.inverse, g.factor, d)
	for i := range d {
		if v := c.Covariance[i][i]; v < minVariance || v > maxVariance {
			return gaussian{}, fmt.Errorf("covariance[%d][%d]: %v is not between %v and %v; rescale the coordinate", i, i, v, minVariance, maxVariance)
		}
		var y float64
		for j, l := range mixture.Row(g.inverse, i) {
			y += l * c.Mean[j]
		}
		if !(math.Abs(y) <= maxMean) {
			return gaussian{}, fmt.Errorf("mean[%d]: %v is more than %v of the component's standard deviations from the origin, out of single precision's reach; move the mixture", i, c.Mean[i], maxMean)
		}
	}
	g.logNorm = math.Log(c.Weight) - float64(d)/2*math.Log(2*math.Pi)
	for i := range d {
		g.logNorm -= math.Log(mixture.Row(g.factor, i)[i])
	}
	return g, nil
}

// Dim returns d.
func (t *Target) Dim() int { return t.dim }

// Components returns the number of components.
func (t *Target) Components() int { return len(t.components) }

// logTerm returns ln w N(x | μ, Σ).
func (g *gaussian) logTerm(x []float64) float64 {
	var square float64
	for i := range x {
		var y float64
		for j, l := range mixture.Row(g.inverse, i) {
			y += l * (x[j] - g.Mean[j])
		}
		square += y * y
	}
	return g.logNorm - square/2
}

// logTerms returns ln w N(x | μ, Σ) of each component.
func (t *Target) logTerms(x []float64) []float64 {
	return lists.Map(t.components, func(g gaussian) float64 { return g.logTerm(x) })
}

// LogDensity returns ln π(x) for a state of d coordinates, −Inf where no
// component has a weight that float64 can hold.
func (t *Target) LogDensity(x []float64) float64 { return floats.LogSumExp(t.logTerms(x)) }

// Density returns π(x).
func (t *Target) Density(x []float64) float64 { return math.Exp(t.LogDensity(x)) }

// Responsibilities sets dst[k] to the probability that x came from component
// k, w_k N(x | μ_k, Σ_k) / π(x). Their means over the target are the weights.
func (t *Target) Responsibilities(dst, x []float64) {
	terms := t.logTerms(x)
	highest := floats.Max(terms)
	for k, v := range terms {
		dst[k] = math.Exp(v - highest)
	}
	floats.Scale(1/floats.Sum(dst), dst)
}
