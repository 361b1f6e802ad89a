package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// random returns a model with parameters away from its placement.
func random(dim, labels, each int, bent bool, r *rand.Rand) (*Model, []float32) {
	m := New(dim, labels, each, bent)
	params := make([]float32, m.NumParams())
	all := make([][]Component, labels)
	for k := range all {
		for range each {
			c := Component{Weight: 1 / float64(m.components)}
			for i := range dim {
				c.Mean = append(c.Mean, r.NormFloat64())
				for range i {
					c.Factor = append(c.Factor, 0.5*r.NormFloat64())
				}
				c.Factor = append(c.Factor, 0.5+r.Float64())
			}
			all[k] = append(all[k], c)
		}
	}
	m.Place(params, all)
	for i := m.components * (m.dim + m.triangle); i < len(params); i++ {
		params[i] += float32(0.3 * r.NormFloat64())
	}
	return m, params
}

// TestScoreIsTheDerivative compares Score and Slope with central differences.
func TestScoreIsTheDerivative(t *testing.T) {
	for i, shape := range [][3]int{{1, 1, 1}, {1, 3, 2}, {3, 1, 4}, {4, 2, 2}, {1, 1, 1}, {1, 3, 2}, {3, 1, 4}, {4, 2, 2}} {
		r := rand.New(rand.NewPCG(1, 2))
		m, params := random(shape[0], shape[1], shape[2], i > 3, r)
		const rows = 5
		x, k, c := make([]float32, rows*m.dim), make([]uint8, rows), make([]float64, rows)
		var total float64
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for i := range k {
			k[i], c[i] = uint8(r.IntN(m.labels)), r.NormFloat64()
			total += c[i]
		}
		p, w := m.NewPacked(), m.NewWork(rows)
		dst := make([]float64, rows)
		value := func() (sum float64) {
			p.Set(params)
			p.LogDensity(dst, x, k, w)
			for i, v := range dst {
				sum += c[i] * v
			}
			return sum
		}
		value()
		grad, slope := make([]float32, len(params)), make([]float32, len(x))
		p.Score(grad, c, w)
		p.Finish(grad, total)
		p.Slope(slope, w)
		const h = 1.0 / 256
		difference := func(at *float32) float64 {
			old := *at
			var sides [2]float64
			for i, s := range []float32{h, -h} {
				*at = old + s
				sides[i] = value()
			}
			*at = old
			return (sides[0] - sides[1]) / (2 * h)
		}
		fixed := m.components * (m.dim + m.triangle)
		for i := range params {
			if i < fixed {
				require.Zero(t, grad[i], m.TensorName(i))
				continue
			}
			require.InDelta(t, difference(&params[i]), grad[i], 5e-3*(1+math.Abs(float64(grad[i]))), "%v %s", shape, m.TensorName(i))
		}
		for i := range x {
			require.InDelta(t, difference(&x[i])/c[i/m.dim], slope[i], 5e-3*(1+math.Abs(float64(slope[i]))))
		}
	}
}

// TestDensityIsThatOfThePoints: the density has the mass 1, a state made of noise z
// by component j has that noise, and choices follow the weights.
func TestDensityIsThatOfThePoints(t *testing.T) {
	for _, bent := range []bool{false, true} {
		r := rand.New(rand.NewPCG(3, 4))
		m, params := random(2, 1, 3, bent, r)
		p := m.NewPacked()
		p.Set(params)
		w := m.NewWork(1)
		var mass, dst [1]float64
		for x := -12.0; x < 12; x += 0.05 {
			for y := -12.0; y < 12; y += 0.05 {
				p.LogDensity(dst[:], []float32{float32(x), float32(y)}, nil, w)
				mass[0] += math.Exp(dst[0]) * 0.05 * 0.05
			}
		}
		require.InDelta(t, 1, mass[0], 1e-4)
		p.LogDensity(dst[:], []float32{0.25, -1.5}, nil, w)
		require.InDelta(t, p.LogDensity64([]float64{0.25, -1.5}, 0), dst[0], 1e-12)
		z, x, y := []float32{0.3, -1.1}, make([]float32, 2), make([]float64, 2)
		for j := range m.components {
			p.Point(x, z, j, w)
			p.whiten(y, x, j)
			if bent {
				for i := range y {
					y[i], _, _ = p.shapes[j*m.dim+i].Invert(y[i])
				}
			}
			require.InDeltaSlice(t, []float64{float64(z[0]), float64(z[1])}, y, 1e-5)
			require.Equal(t, j, p.Choose(p.below[j]))
			require.Equal(t, j, p.Choose(p.below[j]+0.999*p.weight[j]))
		}
	}
}

// TestShape: the inverse undoes the map, slopes and derivatives are those of central
// differences, and far out nothing overflows.
func TestShape(t *testing.T) {
	const step = 1e-5
	for _, at := range [][2]float64{{0, 0}, {0.4, -0.7}, {-1.2, 0.5}, {0.1, 0.01}} {
		s := NewShape(at[0], at[1])
		y, slope := s.Apply(0)
		require.InDelta(t, 0, y, 1e-15)
		require.InDelta(t, 1, slope, 1e-15)
		for _, z := range []float64{-8, -1.5, -1e-9, 0, 0.3, 2, 40} {
			y, slope := s.Apply(z)
			back, inverse, bent := s.Invert(y)
			require.InDelta(t, z, back, 1e-12*(1+math.Abs(z)))
			require.InEpsilon(t, 1/slope, inverse, 1e-10)
			up, _ := s.Apply(z + step)
			down, _ := s.Apply(z - step)
			require.InEpsilon(t, (up-down)/(2*step), slope, 1e-6)

			const c = 0.7
			f := func(y, epsilon, tau float64) float64 {
				s := NewShape(epsilon, tau)
				z, slope, _ := s.Invert(y)
				return math.Sin(z) + c*math.Log(slope)
			}
			byY, byEpsilon, byTau := s.Differentiate(y, bent, math.Cos(z), c)
			for i, got := range []float64{byY, byEpsilon, byTau} {
				var d [3]float64
				d[i] = step
				want := (f(y+d[0], at[0]+d[1], at[1]+d[2]) - f(y-d[0], at[0]-d[1], at[1]-d[2])) / (2 * step)
				require.InDelta(t, want, got, 1e-4*(1+math.Abs(want)), "%v, z = %v, derivative %d", at, z, i)
			}
		}
		for _, y := range []float64{-1e300, 1e300} {
			z, slope, _ := s.Invert(y)
			require.False(t, math.IsNaN(z) || math.IsNaN(slope) || math.IsInf(z, 0) || math.IsInf(slope, 0))
		}
	}
	s := NewShape(0, 0)
	for _, z := range []float64{-3, 0.1, 5} {
		y, slope := s.Apply(z)
		require.InDelta(t, z, y, 1e-14)
		require.InDelta(t, 1, slope, 1e-14)
	}
}
