package gmm

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/vectors"
)

// observedComponents is how many components are measured one by one.
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

// Observe gives the probabilities that the rows of x came from each component.
func (f *density) Observe(dst []float64, stride int, _ []float64, x []float32, _ []uint8) {
	rows, components := len(x)/f.dim, len(f.logNorm)
	all := make([]float32, rows*components)
	f.responsibilities(all, x)
	for r := range rows {
		for k := range min(components, observedComponents) {
			dst[r*stride+k] = float64(all[r*components+k])
		}
	}
}

var (
	_ vectors.Placed   = (*density)(nil)
	_ vectors.Observed = (*density)(nil)
)
