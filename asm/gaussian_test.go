package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// gaussian64 returns a guarded buffer of random numbers.
func gaussian64(r *rand.Rand, n int) guarded[float64] {
	b := newGuarded[float64](n)
	for i := range b.data {
		b.data[i] = r.NormFloat64()
	}
	return b
}

// sameBits compares numbers bit by bit, but for which NaN is which.
func sameBits(t *testing.T, want, got []float64, what string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		if math.Float64bits(w)|nanBits(w) != math.Float64bits(got[i])|nanBits(got[i]) {
			require.Fail(t, fmt.Sprintf(what, args...), "%d: %v is not %v", i, got[i], w)
		}
	}
}

// TestGaussian compares the kernels with their twins, bit by bit, and these with sums in the
// order of their definition.
func TestGaussian(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(41, 42))
		for d := 1; d < 40; d++ {
			n := GaussianRows * (1 + d%3)
			triangle := d * (d + 1) / 2
			at := func(row, i int) int { return (row/GaussianRows*d+i)*GaussianRows + row%GaussianRows }
			x, y, mean, inverse := gaussian64(r, d*n), gaussian64(r, d*n), gaussian64(r, d), gaussian64(r, triangle)
			Whiten(y.data, x.data, mean.data, inverse.data)
			again := make([]float64, d*n)
			whitenGeneric(again, x.data, mean.data, inverse.data)
			sameBits(t, again, y.data, "%d coordinates", d)

			log, volume := gaussian64(r, n), gaussian64(r, d*n)
			for i, v := range volume.data {
				volume.data[i] = math.Exp(100 * v) // whose product may be no number
			}
			volume.data[at(4, 0)] = 0
			for _, of := range [][]float64{nil, volume.data} {
				LogNormals(log.data, y.data, of, 3)
				logNormalsGeneric(again[:n], y.data, of, 3, d)
				sameBits(t, again[:n], log.data, "%d coordinates", d)
				for row := range n {
					want, size := 3.0, 4.0
					for i := range d {
						var sum float64
						for c := range i + 1 {
							sum += inverse.data[i*(i+1)/2+c] * (x.data[at(row, c)] - mean.data[c])
						}
						require.InDelta(t, sum, y.data[at(row, i)], 1e-12*float64(d))
						want, size = want-sum*sum/2, size+sum*sum/2
						if of != nil {
							want, size = want+math.Log(of[at(row, i)]), size+math.Abs(math.Log(of[at(row, i)]))
						}
					}
					if row == 4 && of != nil {
						require.Equal(t, math.Inf(-1), log.data[row])
						continue
					}
					require.InDelta(t, want, log.data[row], 1e-12*size)
				}
			}

			share, c, v := gaussian64(r, n), gaussian64(r, n), gaussian64(r, d*n)
			share.data[0], share.data[1], share.data[2] = 0.5, 1e-9, 0.9e-9 // of which the last does not count
			v.data[at(2, 0)], y.data[at(2, d-1)] = math.NaN(), math.Inf(1)
			if n > 8 {
				for i := range GaussianRows {
					share.data[8+i] = -1
				}
			}
			takes := func(row int) bool { return share.data[row] >= 1e-9 }
			u, w := gaussian64(r, (1+d)*n), gaussian64(r, (1+d)*n)
			kept := Gather(u.data, w.data, share.data, c.data, v.data, y.data) * GaussianRows
			twin := [2][]float64{make([]float64, (1+d)*n), make([]float64, (1+d)*n)}
			require.Equal(t, kept, GaussianRows*gatherGeneric(twin[0], twin[1], share.data, c.data, v.data, y.data, d))
			sameBits(t, twin[0][:kept*(1+d)], u.data[:kept*(1+d)], "%d coordinates", d)
			sameBits(t, twin[1][:kept*(1+d)], w.data[:kept*(1+d)], "%d coordinates", d)
			of := func(row, i int) int { return (row/GaussianRows*(1+d)+i)*GaussianRows + row%GaussianRows }
			k := 0
			for row := range n {
				if row/GaussianRows == 1 { // of which no row counts
					continue
				}
				for i := range 1 + d {
					f, x := 0.0, [2]float64{}
					if takes(row) {
						if f, x = share.data[row]*c.data[row], [2]float64{1, 1}; i > 0 {
							x = [2]float64{v.data[at(row, i-1)], y.data[at(row, i-1)]}
						}
					}
					require.Equal(t, [2]float64{f * x[0], x[1]}, [2]float64{u.data[of(k, i)], w.data[of(k, i)]})
				}
				k++
			}
			require.Equal(t, k, kept)

			for _, columns := range []int{1, 2, d, d + 1, d + 2} {
				size := 0
				for i := range 1 + d {
					size += min(i+1, columns)
				}
				sums := gaussian64(r, size)
				was, twin := slices.Clone(sums.data), slices.Clone(sums.data)
				AddProducts(sums.data, u.data[:kept*(1+d)], w.data[:kept*(1+d)], 1+d, columns)
				addProductsGeneric(twin, u.data[:kept*(1+d)], w.data[:kept*(1+d)], 1+d, min(columns, 1+d))
				sameBits(t, twin, sums.data, "%d coordinates, %d columns", d, columns)
				k := 0
				for i := range 1 + d {
					for c := range min(i+1, columns) {
						want := was[k]
						for row := range kept {
							want += u.data[of(row, i)] * w.data[of(row, c)]
						}
						require.InDelta(t, want, sums.data[k], 1e-11, "%d coordinates", d)
						k++
					}
				}
				sums.check(t)
			}

			slope := gaussian64(r, d*n)
			was := slices.Clone(slope.data)
			AddSlopes(slope.data, share.data, v.data, inverse.data)
			for c := range d {
				for row := range n {
					var sum float64
					for i := c; i < d && takes(row); i++ {
						sum += share.data[row] * v.data[at(row, i)] * inverse.data[i*(i+1)/2+c]
					}
					require.InDelta(t, was[at(row, c)]+sum, slope.data[at(row, c)], 1e-12*float64(d))
				}
			}
			addSlopesGeneric(was, share.data, v.data, inverse.data, d)
			sameBits(t, was, slope.data, "%d coordinates", d)
			share.data[n-1] = math.NaN() // counts
			AddSlopes(slope.data, share.data, v.data, inverse.data)
			require.True(t, math.IsNaN(slope.data[at(n-1, d-1)]))
			for _, b := range []guarded[float64]{x, y, log, volume, mean, inverse, share, c, v, u, w, slope} {
				b.check(t)
			}
		}
	})
}

// TestManyGroups: what takes several calls of the assembly is what one group after another gives.
func TestManyGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	const d, groups = 300, 3
	const n = groups * GaussianRows
	x, mean, inverse := gaussian64(r, d*n).data, gaussian64(r, d).data, gaussian64(r, d*(d+1)/2).data
	share, positive := gaussian64(r, n).data, make([]float64, d*n)
	for i, v := range x {
		positive[i] = math.Exp(v)
	}
	for i := range GaussianRows {
		share[8+i] = 0
	}
	outputs := func(each int) (all [][]float64) {
		y, log, slope, u, w := make([]float64, d*n), make([]float64, n), make([]float64, d*n), make([]float64, (1+d)*n), make([]float64, (1+d)*n)
		kept := 0
		for lo := 0; lo < n; lo += each {
			hi := lo + each
			Whiten(y[lo*d:hi*d], x[lo*d:hi*d], mean, inverse)
			LogNormals(log[lo:hi], y[lo*d:hi*d], positive[lo*d:hi*d], 0)
			AddSlopes(slope[lo*d:hi*d], share[lo:hi], x[lo*d:hi*d], inverse)
			at := kept * (1 + d) * GaussianRows
			kept += Gather(u[at:], w[at:], share[lo:hi], x[lo:hi], x[lo*d:hi*d], y[lo*d:hi*d])
		}
		require.Equal(t, 2, kept)
		return [][]float64{y, log, slope, u, w}
	}
	require.Equal(t, outputs(GaussianRows), outputs(n))
	all := outputs(n)
	size := (1 + d) * (2 + d) / 2
	once, twice := make([]float64, size), make([]float64, size)
	half := (1 + d) * GaussianRows
	AddProducts(once, all[3][:2*half], all[4][:2*half], 1+d, 1+d)
	AddProducts(twice, all[3][:half], all[4][:half], 1+d, 1+d)
	AddProducts(twice, all[3][half:2*half], all[4][half:2*half], 1+d, 1+d)
	require.Equal(t, twice, once)
}

func TestGaussianPanics(t *testing.T) {
	x, triangle := make([]float64, 2*GaussianRows), make([]float64, 3)
	one, three, sums := x[:8], make([]float64, 3*GaussianRows), make([]float64, 6)
	require.Zero(t, alloctest.PerRun(10, func() {
		Whiten(x, x, triangle[:2], triangle)
		LogNormals(one, x, x, 0)
		Gather(three, three, one, one, x, x)
		AddProducts(sums, three, three, 3, 9)
		AddProducts(sums[:3], three, three, 3, 1)
		AddSlopes(x, one, x, triangle)
	}))
	requireRefusal(t, func() { Whiten(x[:8], x, triangle[:2], triangle) })
	requireRefusal(t, func() { Whiten(x, x[:8], triangle[:2], triangle) })
	requireRefusal(t, func() { Whiten(x, x, triangle[:2], triangle[:2]) })
	requireRefusal(t, func() { Whiten(nil, nil, nil, nil) })
	requireRefusal(t, func() { LogNormals(x[:7], x[:14], nil, 0) })
	requireRefusal(t, func() { LogNormals(one, x[:9], nil, 0) })
	requireRefusal(t, func() { LogNormals(one, x, one, 0) })
	requireRefusal(t, func() { LogNormals(nil, nil, nil, 0) })
	requireRefusal(t, func() { Gather(x, three, one, one, x, x) })
	requireRefusal(t, func() { Gather(three, x, one, one, x, x) })
	requireRefusal(t, func() { Gather(three, three, one, x, x, x) })
	requireRefusal(t, func() { Gather(three, three, one, one, x, one) })
	requireRefusal(t, func() { Gather(three, three, x[:9], x[:9], x[:9], x[:9]) })
	requireRefusal(t, func() { AddProducts(sums[:5], three, three, 3, 3) })
	requireRefusal(t, func() { AddProducts(sums, three, x, 3, 3) })
	requireRefusal(t, func() { AddProducts(sums, three[:9], three[:9], 3, 3) })
	requireRefusal(t, func() { AddProducts(sums[:0], three, three, 3, 0) })
	requireRefusal(t, func() { AddProducts(sums[:0], three, three, 0, 3) })
	requireRefusal(t, func() { AddSlopes(one, one, x, triangle) })
	requireRefusal(t, func() { AddSlopes(x, one, x, triangle[:2]) })
	requireRefusal(t, func() { AddSlopes(x[:9], x[:9], x[:9], triangle[:1]) })
}

func BenchmarkGaussian(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		const d, groups = 10, 16
		const n = groups * GaussianRows
		r := rand.New(rand.NewPCG(45, 46))
		x, y, log := slices.Clone(gaussian64(r, d*n).data), make([]float64, d*n), make([]float64, n)
		mean, inverse, f := make([]float64, d), make([]float64, d*(d+1)/2), slices.Repeat([]float64{0.5}, n)
		u, w, sums := make([]float64, (1+d)*n), make([]float64, (1+d)*n), make([]float64, (1+d)*(2+d)/2)
		for _, k := range []struct {
			name string
			run  func()
		}{
			{"whiten", func() { Whiten(y, x, mean, inverse) }},
			{"log", func() { LogNormals(log, x, nil, 0) }},
			{"gather", func() { Gather(u, w, f, f, x, x) }},
			{"products", func() { AddProducts(sums, u, w, 1+d, 1+d) }},
			{"slopes", func() { AddSlopes(y, f, x, inverse) }},
			{"shares", func() { LogSumExp64(log, x) }},
		} {
			b.Run(k.name, func(b *testing.B) {
				for b.Loop() {
					k.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/groups, "ns/group")
			})
		}
	})
}
