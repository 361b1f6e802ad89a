package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/long"
	wide "github.com/revgen/revgen/internal/number"
)

// scattered returns a model with parameters away from its placement.
func scattered(m *Model, r *rand.Rand) (*Model, []float32) {
	dim, labels, each := m.dim, m.labels, m.each
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

// TestProduct: ln q is the sum of those of a mixture for each coordinate, from which
// states are drawn, and choices follow the weights of each.
func TestProduct(t *testing.T) {
	const d, each, rows = 4, 3, 5
	for _, bent := range []bool{false, true} {
		r := rand.New(rand.NewPCG(9, 2))
		m, params := scattered(NewProduct(d, each, bent), r)
		require.Equal(t, d, m.Factors())
		p, w := m.NewPacked(), m.NewWork(rows)
		p.Set(params)
		var want, got [rows]float64
		x := make([]float32, rows*d)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for i := range d {
			one := New(1, 1, each, bent)
			own, pairs := make([]float32, one.NumParams()), []func(m *Model, params []float32, j int) (a, b []float32){placementOf[float32], learnedOf[float32]}
			if bent {
				pairs = append(pairs, shapesOf[float32])
			}
			for e := range each {
				j := e*d + i
				logitsOf(one, own)[e] = logitsOf(m, params)[j]
				for _, pair := range pairs {
					to, from := [2][]float32{}, [2][]float32{}
					to[0], to[1] = pair(one, own, e)
					from[0], from[1] = pair(m, params, j)
					copy(to[0], from[0])
					copy(to[1], from[1])
				}
			}
			alone := one.NewPacked()
			alone.Set(own)
			for row := range want {
				want[row] += alone.LogDensity64([]float64{float64(x[row*d+i])}, 0)
			}
			for e := range each {
				j := e*d + i
				require.InDelta(t, alone.Weight(e), p.Weight(j), 1e-12)
				require.Equal(t, j, p.Choose(i, p.below[j]))
				require.Equal(t, j, p.Choose(i, p.below[j]+0.999*p.weight[j]))
				var a, b [1]float32
				p.Points(a[:], []float32{0.7}, 1, []int32{int32(j)}, w)
				alone.Points(b[:], []float32{0.7}, 1, []int32{int32(e)}, w)
				require.Equal(t, b, a)
			}
		}
		p.LogDensity(got[:], x, nil, w)
		require.InDeltaSlice(t, want[:], got[:], 1e-12)
		require.InDelta(t, want[0], p.LogDensity64(wide.Widen(x[:d]), 0), 1e-12)
	}
}

// TestScoreIsTheDerivative compares Score and Slope with central differences.
func TestScoreIsTheDerivative(t *testing.T) {
	for _, of := range []*Model{
		New(1, 1, 1, false), New(1, 3, 2, false), New(3, 1, 4, false), New(4, 2, 2, false),
		New(1, 1, 1, true), New(1, 3, 2, true), New(3, 1, 4, true), New(4, 2, 2, true),
		NewProduct(3, 2, false), NewProduct(3, 2, true),
	} {
		r := rand.New(rand.NewPCG(1, 2))
		m, params := scattered(of, r)
		const rows = 21
		width := m.dim * m.Factors()
		x, k, c := make([]float32, rows*width), make([]uint8, rows), make([]float64, rows)
		var total float64
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for i := range k {
			k[i], c[i] = uint8(r.IntN(m.labels)), r.NormFloat64()
			total += c[i]
		}
		if m.product {
			k = nil
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
		p.Score(grad, slope, c, w)
		p.Finish(grad, total)
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
			require.InDelta(t, difference(&params[i]), grad[i], 5e-3*(1+math.Abs(float64(grad[i]))), "%+v %s", *m, m.TensorName(i))
		}
		for i := range x {
			require.InDelta(t, difference(&x[i])/c[i/width], slope[i], 5e-3*(1+math.Abs(float64(slope[i]))))
		}
	}
}

// TestRowsDoNotMatterToEachOther: densities, responsibilities and gradients of rows that are
// evaluated together are those of each alone, however many rows a label has, and one that is
// infinitely far away has no part.
func TestRowsDoNotMatterToEachOther(t *testing.T) {
	for _, of := range []*Model{New(3, 4, 2, false), New(2, 3, 3, true), NewProduct(2, 3, true), New(2, 200, 1, false)} {
		r := rand.New(rand.NewPCG(5, 6))
		m, params := scattered(of, r)
		p := m.NewPacked()
		p.Set(params)
		const most = 40
		all, one := m.NewWork(most), m.NewWork(1)
		width := m.dim * m.Factors()
		for rows := range most + 1 {
			x, k, c := make([]float32, rows*width), make([]uint8, rows), make([]float64, rows)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			for i := range k {
				k[i], c[i] = uint8(r.IntN(m.labels)), r.NormFloat64()
			}
			if rows > 4 {
				x[3*width] = float32(math.Inf(1))
			}
			alone := func(i int) []uint8 { return k[i : i+1] }
			if m.product {
				k, alone = nil, func(int) []uint8 { return nil }
			}
			dst, shares := make([]float64, rows), make([]float64, rows*m.Factors()*m.each)
			grad, want := make([]float32, len(params)), make([]float32, len(params))
			slope := make([]float32, len(x))
			p.LogDensity(dst, x, k, all)
			all.shares(shares)
			p.Score(grad, slope, c, all)
			for i := range rows {
				var log [1]float64
				own, slopes := make([]float64, m.Factors()*m.each), make([]float32, width)
				p.LogDensity(log[:], x[i*width:][:width], alone(i), one)
				one.shares(own)
				p.Score(want, slopes, c[i:i+1], one)
				require.Equal(t, log[0], dst[i])
				require.Equal(t, own, shares[i*len(own):][:len(own)])
				require.Equal(t, slopes, slope[i*width:][:width])
			}
			require.InDeltaSlice(t, want, grad, 1e-3, "%d rows", rows)
			if rows > 4 && m.dim == 1 {
				require.Equal(t, math.Inf(-1), dst[3])
			}
		}
	}
}

// TestLogDensities: of more rows than are evaluated at once, and of none.
func TestLogDensities(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, m := range []*Model{New(3, 1, 4, false), NewProduct(3, 2, true)} {
		m, params := scattered(m, r)
		p := m.NewPacked()
		p.Set(params)
		for _, n := range []int{0, 1, 256, 600} {
			x, want, got := make([]float32, 3*n), make([]float64, n), make([]float64, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			p.LogDensity(want, x, nil, m.NewWork(n))
			p.logDensities(got, x)
			require.Equal(t, want, got)
		}
	}
}

// TestDensityIsThatOfThePoints: the density has the mass 1, a state made of noise z
// by component j has that noise, and choices follow the weights.
func TestDensityIsThatOfThePoints(t *testing.T) {
	long.SkipShort(t)
	for _, bent := range []bool{false, true} {
		r := rand.New(rand.NewPCG(3, 4))
		m, params := scattered(New(2, 1, 3, bent), r)
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
			p.Points(x, z, 2, []int32{int32(j)}, w)
			p.LogDensity(dst[:], x, nil, w)
			for i := range y {
				y[i] = w.ofComponent(w.y, j, m.dim*octet, 0, 1)[i*octet]
			}
			if bent {
				for i := range y {
					y[i], _ = p.shapes[j*m.dim+i].Invert(y[i])
				}
			}
			require.InDeltaSlice(t, []float64{float64(z[0]), float64(z[1])}, y, 1e-5)
			require.Equal(t, j, p.Choose(0, p.below[j]))
			require.Equal(t, j, p.Choose(0, p.below[j]+0.999*p.weight[j]))
			for range 100 {
				z := r.NormFloat64()
				require.Equal(t, p.Choose(0, math.Erfc(-z/math.Sqrt2)/2), p.ChooseNormal(0, z))
			}
		}
	}
}

// TestPointsDoNotDependOnOthers: a row is made of its own noise by its own component, whatever rows
// are beside it and however far apart their noise is.
func TestPointsDoNotDependOnOthers(t *testing.T) {
	for _, m := range []*Model{New(3, 1, 1, false), New(3, 2, 3, true), New(20, 1, 2, true), NewProduct(5, 3, false), NewProduct(5, 3, true)} {
		r := rand.New(rand.NewPCG(5, uint64(m.components)))
		m, params := scattered(m, r)
		p, states, factors := m.NewPacked(), 37, m.Factors()
		p.Set(params)
		dim, w, own := m.dim*factors, m.NewWork(states), make([]int32, states*factors)
		stride := dim + 3
		x, z, alone := make([]float32, states*dim), make([]float32, states*stride), make([]float32, m.dim)
		for i := range z {
			z[i] = float32(r.NormFloat64())
		}
		for i := range own {
			own[i] = int32(r.IntN(m.components/factors)*factors + i%factors)
		}
		p.Points(x, z, stride, own, w)
		for i, j := range own {
			p.Points(alone, z[i/factors*stride+i%factors*m.dim:], stride, []int32{j}, w)
			require.Equal(t, alone, x[i*m.dim:][:m.dim], "row %d", i)
		}
	}
}

// TestVolume: it is the sum of logarithms, also where the product has no number.
func TestVolume(t *testing.T) {
	for _, slopes := range [][]float64{nil, {0.5}, {1e100, 1e120, 1e-3}, {1e-100, 1e-120, 7}, {1e130, 1e130, 1e130, 1e-130, 1e-130, 1e-130, 1e-130}} {
		v, sum := NewVolume(), 0.0
		for range 5 {
			for _, s := range slopes {
				v.Times(s)
				sum += math.Log(s)
			}
		}
		require.InDelta(t, sum, v.Log(), 1e-12*(1+math.Abs(sum)))
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
			back, inverse := s.Invert(y)
			require.InDelta(t, z, back, 1e-12*(1+math.Abs(z)))
			require.InEpsilon(t, 1/slope, inverse, 1e-10)
			up, _ := s.Apply(z + step)
			down, _ := s.Apply(z - step)
			require.InEpsilon(t, (up-down)/(2*step), slope, 1e-6)

			const c = 0.7
			f := func(y, epsilon, tau float64) float64 {
				s := NewShape(epsilon, tau)
				z, slope := s.Invert(y)
				return math.Sin(z) + c*math.Log(slope)
			}
			bends, left := asm.NewBends(octet), asm.NewBent(octet)
			var from, to, cosine, volume, byY, byEpsilon, byTau asm.Octet
			for r := range octet {
				bends.Epsilon[r], bends.Up[r], bends.Delta[r] = at[0], math.Exp(at[0]), math.Exp(at[1])
				from[r], cosine[r], volume[r] = y, math.Cos(z), c
			}
			bends.Invert(to[:], from[:], &left)
			bends.Differentiate(byY[:], byEpsilon[:], byTau[:], from[:], cosine[:], volume[:], &left)
			for i, got := range []float64{byY[0], byEpsilon[0], byTau[0]} {
				var d [3]float64
				d[i] = step
				want := (f(y+d[0], at[0]+d[1], at[1]+d[2]) - f(y-d[0], at[0]-d[1], at[1]-d[2])) / (2 * step)
				require.InDelta(t, want, got, 1e-4*(1+math.Abs(want)), "%v, z = %v, derivative %d", at, z, i)
			}
		}
		for _, y := range []float64{-1e300, 1e300} {
			z, slope := s.Invert(y)
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

// BenchmarkParameters takes parameters and completes a gradient, what a step does of each
// component besides the samples.
func BenchmarkParameters(b *testing.B) {
	for _, d := range []int{2, 8, 32, 256} {
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			m := New(d, 1, 1, false)
			params, grad := make([]float32, m.NumParams()), make([]float32, m.NumParams())
			c := Component{Weight: 1, Mean: make([]float64, d), Factor: make([]float64, m.triangle)}
			for i := range d {
				c.Factor[row(i)+i] = 1
			}
			m.Place(params, [][]Component{{c}})
			p := m.NewPacked()
			for b.Loop() {
				p.Set(params)
				p.Finish(grad, 0)
			}
		})
	}
}

// TestTensorNames counts the parameters of each tensor, in their order.
func TestTensorNames(t *testing.T) {
	m := New(2, 1, 2, true)
	var names []string
	sizes := map[string]int{}
	for i := range m.NumParams() {
		name := m.TensorName(i)
		if sizes[name]++; sizes[name] == 1 {
			names = append(names, name)
		}
	}
	require.Equal(t, []string{
		"component 0: placement", "component 1: placement", "logits", "component 0: mean", "component 0: factor",
		"component 1: mean", "component 1: factor", "component 0: shapes", "component 1: shapes",
	}, names)
	require.Equal(t, map[string]int{
		"component 0: placement": 5, "component 1: placement": 5, "logits": 2, "component 0: mean": 2, "component 0: factor": 3,
		"component 1: mean": 2, "component 1: factor": 3, "component 0: shapes": 4, "component 1: shapes": 4,
	}, sizes)
}

// TestPoints: a state is μ + L h(z), by the definition, in as few coordinates as are shaped one by one and in as
// many as are shaped together.
func TestPoints(t *testing.T) {
	for _, bent := range []bool{false, true} {
		for _, d := range []int{1, 3, 4, 9, InShape + 1} {
			r := rand.New(rand.NewPCG(7, uint64(d)))
			m, params := scattered(New(d, 2, 1, bent), r)
			require.Equal(t, []int{d, 1, 2 * (d + d*(d+1)/2)}, []int{m.Dim(), m.Each(), m.Placement()})
			p, w := m.NewPacked(), m.NewWork(1)
			p.Set(params)
			z, x := make([]float32, d), make([]float32, d)
			for i := range z {
				z[i] = float32(r.NormFloat64())
			}
			for j := range 2 {
				center, spread := placementOf(m, params, j)
				shift, factor := learnedOf(m, params, j)
				want := make([]float64, d)
				for i := range d { // c + S (a + T h(z))
					inner := float64(shift[i])
					for c := range i + 1 {
						h, v := float64(z[c]), float64(factor[row(i)+c])
						if bent {
							epsilon, tau := shapesOf(m, params, j)
							e, delta := float64(epsilon[c]), math.Exp(float64(tau[c]))
							h = (math.Sinh(delta*math.Asinh(h)+e) - math.Sinh(e)) / (delta * math.Cosh(e))
						}
						if c == i {
							v = math.Exp(v)
						}
						inner += v * h
					}
					want[i] += float64(center[i])
					for k := i; k < d; k++ {
						want[k] += float64(spread[row(k)+i]) * inner
					}
				}
				p.Points(x, z, d, []int32{int32(j)}, w)
				for i := range x {
					require.InDelta(t, want[i], x[i], 1e-5*(1+math.Abs(want[i])), "%d of %d, %v", i, d, bent)
				}
				wide := make([]float64, d)
				for i, v := range x {
					wide[i] = float64(v)
				}
				var log [1]float64
				p.LogDensity(log[:], x, []uint8{uint8(j)}, w)
				require.InDelta(t, p.LogDensity64(wide, j), log[0], 1e-9*(1+math.Abs(log[0])))
			}
		}
	}
}
