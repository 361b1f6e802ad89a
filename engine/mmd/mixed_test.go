package mmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// mixedMoves returns a batch of states and of moves from them, of which the
// given share is rejected and about half change the mode.
func mixedMoves(r *rand.Rand, n, dim, modes int, rejected float64) (x, y []float32, k, l []uint8) {
	x, y, k, l = make([]float32, n*dim), make([]float32, n*dim), make([]uint8, n), make([]uint8, n)
	for i := range n {
		from, to := x[i*dim:(i+1)*dim], y[i*dim:(i+1)*dim]
		for c := range from {
			from[c] = float32(r.NormFloat64() * 1.5)
		}
		k[i] = uint8(r.IntN(modes))
		copy(to, from)
		l[i] = k[i]
		if r.Float64() < rejected {
			continue
		}
		to[dim-1] += float32(r.NormFloat64() * .3)
		if r.IntN(2) == 0 {
			l[i] = uint8(r.IntN(modes))
		}
	}
	return x, y, k, l
}

// oneHot returns unit vectors, row-major [n][modes].
func oneHot(k []uint8, modes int) []float64 {
	e := make([]float64, len(k)*modes)
	for i, c := range k {
		e[i*modes+int(c)] = 1
	}
	return e
}

func requireClose(t *testing.T, want []float64, got []float32, tolerance float64, msg string) {
	t.Helper()
	worst := 0.0
	for i := range want {
		if d := math.Abs(want[i] - float64(got[i])); !(d <= worst) {
			worst = d
		}
	}
	require.LessOrEqual(t, worst, tolerance, msg)
}

// TestMixedAgainstNaive compares loss and gradients with the plain sums. The
// tolerances are in units of the sums without their cancelling signs.
func TestMixedAgainstNaive(t *testing.T) {
	long.SkipShort(t)
	known := map[string]sums{}
	forEachPath(t, func(t *testing.T) {
		for name, k := range testKernels {
			workers := pool.New(2)
			defer workers.Close()
			r := rand.New(rand.NewPCG(1, 2))
			for _, c := range [][2]int{{1, 1}, {1, 3}, {1, 7}, {3, 1}, {2, 3}, {5, 2}} {
				dim, modes := c[0], c[1]
				for _, n := range []int{1, 2, 15, 65, 150} {
					for _, rejected := range []float64{0, .4, 1} {
						for _, stat := range []Statistic{V, U} {
							if stat == U && n == 1 || n > 65 && (modes == 7 || dim == 5 || rejected != .4 || name != "paper") {
								continue
							}
							msg := fmt.Sprintf("%s n=%d dim=%d modes=%d %v rejected=%v", name, n, dim, modes, stat, rejected)
							m := NewMixed(n, dim, modes, k, stat, workers)
							x, y, a, b := mixedMoves(r, n, dim, modes, rejected)
							want := once(known, msg, func() sums {
								wantX, wantK := make([]float64, n*dim), make([]float64, n*modes)
								loss := MixedNaive(&k, stat, number.Widen(x), number.Widen(y), oneHot(a, modes), oneHot(b, modes), dim, modes, wantX, wantK)
								return sums{loss, wantX, wantK, steepest(&k)}
							})
							gradX, gradK := make([]float32, n*dim), make([]float32, n*modes)
							loss := m.LossGradient(x, y, a, b, gradX, gradK)
							share := pairNorm(stat, n) * float64(n)
							require.InDelta(t, want.loss, loss, lossTolerance*2*k.Value(0), msg)
							requireClose(t, want.grad, gradX, gradTolerance*8*share*want.steepest, msg)
							requireClose(t, want.byMode, gradK, lossTolerance*4*share*k.Value(0), msg)
						}
					}
				}
			}
		}
	})
}

// TestMixedNaiveGradient differentiates the multilinear extension of the loss,
// by every coordinate and at modes that are no unit vectors.
func TestMixedNaiveGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, dim, modes, h = 7, 2, 3, 1e-5
	vector := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	for name, k := range testKernels {
		for _, stat := range []Statistic{V, U} {
			x, y, e, f := vector(n*dim), vector(n*dim), vector(n*modes), vector(n*modes)
			gradX, gradE := make([]float64, n*dim), make([]float64, n*modes)
			MixedNaive(&k, stat, x, y, e, f, dim, modes, gradX, gradE)
			for _, c := range []struct {
				at, grad []float64
			}{{x, gradX}, {e, gradE}} {
				for i, v := range c.at {
					c.at[i] = v + h
					up := MixedNaive(&k, stat, x, y, e, f, dim, modes, nil, nil)
					c.at[i] = v - h
					down := MixedNaive(&k, stat, x, y, e, f, dim, modes, nil, nil)
					c.at[i] = v
					require.InDelta(t, (up-down)/(2*h), c.grad[i], 1e-7*(1+k.Value(0)), "%s %v", name, stat)
				}
			}
		}
	}
}

// TestMixedOfOneModeIsGram reduces to the loss of real states where all modes
// are the same.
func TestMixedOfOneModeIsGram(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	r := rand.New(rand.NewPCG(5, 6))
	const n, dim = 700, 2 // more columns than are summed in float32
	k := paperKernel()
	for _, stat := range []Statistic{V, U} {
		g := NewGram(n, dim, k, stat, workers)
		m := NewMixed(n, dim, 1, k, stat, workers)
		x, y, a, b := mixedMoves(r, n, dim, 1, .3)
		want, got, witness := make([]float32, n*dim), make([]float32, n*dim), make([]float32, n)
		require.InDelta(t, g.LossGradient(x, y, want), m.LossGradient(x, y, a, b, got, witness), 1e-6)
		require.InDeltaSlice(t, want, got, 1e-5)
	}
}

// TestMixedSameBitsForAnyThreads also asserts that a step allocates nothing.
func TestMixedSameBitsForAnyThreads(t *testing.T) {
	const n, dim, modes = 700, 3, 3
	r := rand.New(rand.NewPCG(7, 8))
	x, y, a, b := mixedMoves(r, n, dim, modes, .3)
	var loss float64
	var gradX, gradK []float32
	for _, threads := range []int{1, 2, 3, 8} {
		workers := pool.New(threads)
		m := NewMixed(n, dim, modes, paperKernel(), U, workers)
		gx, gk := make([]float32, n*dim), make([]float32, n*modes)
		l := m.LossGradient(x, y, a, b, gx, gk)
		if gradX == nil {
			loss, gradX, gradK = l, gx, gk
		}
		require.Equal(t, loss, l)
		require.Equal(t, gradX, gx)
		require.Equal(t, gradK, gk)
		require.Zero(t, alloctest.PerRun(3, func() { m.LossGradient(x, y, a, b, gx, gk) }))
		workers.Close()
	}
}

func TestMixedReportsNonFinite(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	m := NewMixed(3, 1, 2, paperKernel(), V, workers)
	grad := make([]float32, 3)
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		// A rejected move, which is no column.
		x := []float32{0, bad, 1}
		require.True(t, math.IsNaN(m.LossGradient(x, x, []uint8{0, 1, 0}, []uint8{0, 1, 1}, grad, make([]float32, 6))))
	}
}

func TestMixedWantsSlicesOfItsSize(t *testing.T) {
	k := paperKernel()
	m := NewMixed(2, 1, 2, k, V, pool.New(1))
	require.Panics(t, func() {
		m.LossGradient(make([]float32, 2), make([]float32, 2), make([]uint8, 2), make([]uint8, 1), make([]float32, 2), make([]float32, 4))
	})
}

func BenchmarkMixed(b *testing.B) {
	const n, modes = 2048, 3
	x, y, k, l := mixedMoves(rand.New(rand.NewPCG(1, 2)), n, 1, modes, .2)
	for name, kernel := range map[string]Kernel{
		"rbf": {Bandwidths: []float64{1}},
		"imq": {IMQ: []IMQ{{C: .1, Beta: .5, Weight: 1}}},
	} {
		workers := pool.New(1)
		defer workers.Close()
		m := NewMixed(n, 1, modes, kernel, U, workers)
		gradX, gradK := make([]float32, n), make([]float32, n*modes)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.LossGradient(x, y, k, l, gradX, gradK)
			}
		})
	}
}
