package mixture

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/rng"
)

// TestPart: a field's sites are divided like a checkerboard, and where coordinates have
// nothing to do with each other, or as much with any, nothing is gained.
func TestPart(t *testing.T) {
	for _, side := range []int{4, 6} {
		d := side * side
		found := &Found{X: make([]float32, 24*d)}
		c := rng.Stream(5, rng.Scouting, 0)
		rng.Normals(found.X, d, &c, 0)
		density := func(value func(x []float32) float64) Density {
			return func(dst []float64, x []float32) {
				for r := range dst {
					dst[r] = float64(float32(value(x[r*d : (r+1)*d])))
				}
			}
		}
		field := density(func(x []float32) (v float64) {
			for i, s := range x {
				a, b := i/side, i%side
				v += float64(s)*float64(x[(a+1)%side*side+b]+x[a*side+(b+1)%side])/8 - math.Pow(float64(s), 4)
			}
			return v
		})
		var want []int
		for i := range d {
			if (i/side+i%side)%2 == 1 {
				want = append(want, i)
			}
		}
		require.Equal(t, want, found.Part(d, field))
		require.Nil(t, found.Part(d, density(func(x []float32) (v float64) {
			for _, s := range x {
				v -= math.Pow(float64(s), 4)
			}
			return v
		})))
		// The first coordinate sets the width of all others.
		star := found.Part(d, density(func(x []float32) (v float64) {
			for _, s := range x[1:] {
				v -= float64(s*s) * math.Exp(float64(x[0]))
			}
			return v
		}))
		require.Len(t, star, d-1)
		require.Nil(t, found.Part(d, density(func([]float32) float64 { return math.Inf(-1) })))
	}
}
