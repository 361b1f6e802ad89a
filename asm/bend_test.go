package asm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// guardedBends are maps of n random numbers of a size.
func guardedBends(r *rand.Rand, n int, size float64) (b Bends, left Bent, x guarded[float64], check func(*testing.T)) {
	var all []guarded[float64]
	next := func() []float64 {
		g := gaussian64(r, n)
		all = append(all, g)
		return g.data
	}
	b, left = Bends{next(), next(), next()}, Bent{next(), next(), next()}
	for i := range n {
		b.Up[i], b.Delta[i] = math.Exp(b.Epsilon[i]), math.Exp(b.Delta[i]/2)
	}
	x = gaussian64(r, n)
	for i := range x.data {
		x.data[i] *= math.Pow(size, r.NormFloat64())
	}
	all = append(all, x)
	return b, left, x, func(t *testing.T) {
		for _, g := range all {
			g.check(t)
		}
	}
}

// TestBends compares the kernels with their twins, bit by bit, and these with the formula.
func TestBends(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(43, 44))
		for n := 0; n <= 200; n += GaussianRows {
			for _, size := range []float64{1, 10, 1e4} {
				b, left, x, check := guardedBends(r, n, size)
				if n > 20 {
					x.data[3], x.data[8], x.data[13] = math.NaN(), 0, math.Inf(-1)
				}
				y, again, twin := gaussian64(r, n), NewBent(n), make([]float64, n)
				same := func() {
					for i, want := range [][]float64{twin, again.Slope, again.W, again.E} {
						sameBits(t, want, [][]float64{y.data, left.Slope, left.W, left.E}[i], "output %d", i)
					}
				}
				b.Invert(y.data, x.data, &left)
				unbendGeneric(twin, again.Slope, again.W, again.E, x.data, b.Epsilon, b.Up, b.Delta)
				same()
				slopes, volume := gaussian64(r, n), gaussian64(r, n)
				derivatives, wanted := [3]guarded[float64]{}, [3][]float64{}
				for i := range derivatives {
					derivatives[i], wanted[i] = gaussian64(r, n), make([]float64, n)
				}
				b.Differentiate(derivatives[0].data, derivatives[1].data, derivatives[2].data, x.data, slopes.data, volume.data, &left)
				unbendSlopesGeneric(wanted[0], wanted[1], wanted[2], x.data, slopes.data, volume.data, left.W, left.E, b.Up, b.Delta)
				for i, want := range wanted {
					sameBits(t, want, derivatives[i].data, "derivative %d", i)
				}
				for i, z := range y.data {
					slopes.data[i], volume.data[i] = -z, 1
				}
				unbendSlopesGeneric(wanted[0], wanted[1], wanted[2], x.data, slopes.data, volume.data, left.W, left.E, b.Up, b.Delta)
				b.DifferentiateNormal(derivatives[0].data, derivatives[1].data, derivatives[2].data, x.data, &left)
				for i, want := range wanted {
					for k, got := range derivatives[i].data {
						if v := x.data[k]; v-v == 0 {
							require.InDelta(t, want[k], got, 1e-12*(1+math.Abs(want[k])), "derivative %d at %g", i, v)
						}
					}
				}
				unbendNormalGeneric(wanted[0], wanted[1], wanted[2], x.data, left.W, left.E, b.Up, b.Delta)
				for i, want := range wanted {
					sameBits(t, want, derivatives[i].data, "derivative %d", i)
					derivatives[i].check(t)
				}
				b.Apply(y.data, x.data, &left)
				bendGeneric(twin, again.Slope, again.W, again.E, x.data, b.Epsilon, b.Up, b.Delta)
				same()
				for i, v := range x.data {
					if v-v != 0 {
						require.Equal(t, math.IsNaN(v), math.IsNaN(y.data[i]), "%g", v)
						require.Equal(t, !math.IsNaN(v), left.Slope[i] == 0, "%g", v)
						continue
					}
					w := math.Asinh(v)
					a := b.Delta[i]*w + b.Epsilon[i]
					require.InDelta(t, w, left.W[i], 1e-15*(1+math.Abs(w)))
					require.InEpsilon(t, math.Exp(w), left.E[i], 1e-14*(1+math.Abs(w)))
					steep := b.Delta[i] * math.Cosh(b.Epsilon[i])
					bound := 1e-14 * (1 + math.Abs(a)) * (math.Cosh(a) + math.Cosh(b.Epsilon[i])) / steep
					require.InDelta(t, (math.Sinh(a)-math.Sinh(b.Epsilon[i]))/steep, y.data[i], bound)
					require.InEpsilon(t, math.Cosh(a)/math.Hypot(1, v)/math.Cosh(b.Epsilon[i]), left.Slope[i], 1e-14*(1+math.Abs(a)))
				}
				slope := append([]float64{}, left.Slope...)
				b.Invert(y.data, y.data, &left)
				for i, v := range x.data {
					if v-v == 0 {
						steep := b.Delta[i] * math.Cosh(b.Epsilon[i])
						require.InDelta(t, v, y.data[i], 1e-13*(1+math.Abs(left.W[i]))*(1+math.Abs(v))*(1+1/steep)*math.Cosh(b.Epsilon[i])*math.Max(1, 1/b.Delta[i]), "%+v", i)
						require.InEpsilon(t, 1, slope[i]*left.Slope[i], 1e-10)
					}
				}
				check(t)
			}
		}
	})
}

// TestRepeatedMaps: maps that are fewer than numbers, and more than one call of the assembly takes,
// are those of as many.
func TestRepeatedMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for _, n := range []struct{ maps, numbers int }{{8, 8}, {8, 40}, {24, 60 * 24}, {1 << 14, 5 << 14}, {mathLimit + 8, mathLimit + 8}, {mathLimit + 8, 2*mathLimit + 16}, {64, 16}} {
		b, _, _, _ := guardedBends(r, n.maps, 1)
		_, left, x, _ := guardedBends(r, n.numbers, 1)
		all, again, y, z := NewBends(n.numbers), NewBent(n.numbers), make([]float64, n.numbers), make([]float64, n.numbers)
		for i := range n.numbers {
			k := i % n.maps
			all.Epsilon[i], all.Up[i], all.Delta[i] = b.Epsilon[k], b.Up[k], b.Delta[k]
		}
		b.Apply(y, x.data, &left)
		all.Apply(z, x.data, &again)
		require.Equal(t, z, y)
		b.Invert(y, x.data, &left)
		all.Invert(z, x.data, &again)
		require.Equal(t, z, y)
		require.Equal(t, again.Slope, slices.Clone(left.Slope))
		var wanted, got [3][]float64
		for i := range wanted {
			wanted[i], got[i] = make([]float64, n.numbers), make([]float64, n.numbers)
		}
		b.DifferentiateNormal(got[0], got[1], got[2], x.data, &left)
		all.DifferentiateNormal(wanted[0], wanted[1], wanted[2], x.data, &again)
		require.Equal(t, wanted, got)
	}
}

// nanBits are ones for NaN, of which there are several.
func nanBits(x float64) uint64 {
	if math.IsNaN(x) {
		return math.MaxUint64
	}
	return 0
}

// TestExpLog compares the twins' functions with those of math.
func TestExpLog(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 46))
	for range 100_000 {
		x := 600*r.Float64() - 300
		require.InEpsilon(t, math.Exp(x), expGeneric64(x), 5e-16, "%g", x)
		e := math.Exp(x)
		require.InDelta(t, math.Log(e), logGeneric64(e), 3e-16*(1e-3+math.Abs(x)), "%g", e)
		near := 1 + (r.Float64()-0.5)/math.Exp(20*r.Float64())
		require.InDelta(t, math.Log(near), logGeneric64(near), 3e-16*math.Abs(near-1), "%g", near)
	}
}

func TestBendsPanic(t *testing.T) {
	b, left, x := NewBends(9), NewBent(9), make([]float64, 16)
	require.Zero(t, alloctest.PerRun(10, func() {
		b.Apply(x, x, &left)
		b.Invert(x, x, &left)
		b.Differentiate(x, x, x, x, x, x, &left)
		b.DifferentiateNormal(x, x, x, x, &left)
	}))
	requireRefusal(t, func() { b.DifferentiateNormal(x, x, x[:8], x, &left) })
	requireRefusal(t, func() { b.DifferentiateNormal(x[:9], x[:9], x[:9], x[:9], &left) })
	requireRefusal(t, func() { b.Differentiate(x, x, x, x[:9], x, x, &left) })
	for i := range 5 {
		short := [5][]float64{x, x, x, x, x}
		short[i] = x[:8]
		requireRefusal(t, func() { b.Differentiate(short[0], short[1], short[2], x, short[3], short[4], &left) })
	}
	requireRefusal(t, func() { b.Apply(x[:8], x, &left) })
	requireRefusal(t, func() { b.Apply(x[:9], x[:9], &left) })
	requireRefusal(t, func() { b.Invert(x, x[:8], &left) })
	for _, short := range []*[]float64{&b.Up, &b.Delta, &left.Slope, &left.W, &left.E} {
		kept := *short
		*short = kept[:8]
		requireRefusal(t, func() { b.Apply(x, x, &left) })
		if short != &left.Slope { // which derivatives do not look at
			requireRefusal(t, func() { b.Differentiate(x, x, x, x, x, x, &left) })
		}
		*short = kept
	}
	b.Epsilon = b.Epsilon[:9]
	requireRefusal(t, func() { b.Apply(x, x, &left) })
	b.Epsilon = nil
	requireRefusal(t, func() { b.Apply(x, x, &left) })
}

func BenchmarkBends(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		const n = 1024
		maps, left, x, _ := guardedBends(rand.New(rand.NewPCG(47, 48)), n, 1)
		y := make([]float64, n)
		for name, f := range map[string]func(y, x []float64, left *Bent){"apply": maps.Apply, "invert": maps.Invert} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					f(y, x.data, &left)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/number")
			})
		}
	})
}
