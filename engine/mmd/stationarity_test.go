package mmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

func TestStationarityAgainstNaive(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	known := map[string]sums{}
	forEachPath(t, func(t *testing.T) {
		for name, k := range testKernels {
			for i, n := range []int{2, 3, 63, 64, 65, 300} {
				for _, stat := range []Statistic{V, U} {
					dim := 1 + i%4
					s, u := moves(rand.New(rand.NewPCG(uint64(n), 7)), n, dim, .3, 1)
					m, err := NewStationarity(n, dim, k, stat, 0, workers)
					require.NoError(t, err)
					grad := make([]float32, n*dim)
					msg := fmt.Sprintf("%s n=%d dim=%d %v", name, n, dim, stat)
					want := once(known, msg, func() sums {
						grad := make([]float64, n*dim)
						loss := StationarityNaive(&k, stat, number.Widen(s), number.Widen(u), n, dim, grad)
						return sums{loss: loss, grad: grad, steepest: steepest(&k)}
					})
					for range 2 { // the second call reuses the buffers
						loss := m.LossGradient(s, u, grad)
						require.InDelta(t, want.loss, loss, 4*lossTolerance*k.Value(0), msg)
						require.InDeltaSlice(t, want.grad, number.Widen(grad), 4*gradTolerance*want.steepest, msg)
					}
				}
			}
		}
	})
}

// TestStationarityNaive checks the oracle: its gradient by central differences,
// and its loss on two states, written out.
func TestStationarityNaive(t *testing.T) {
	k := testKernels["weighted"]
	s, u := []float64{0, 1}, []float64{0.5, -2}
	v := func(d float64) float64 { return k.Value(d * d) }
	require.InDelta(t, (2*v(0)+2*v(1)-2*(v(.5)+v(2)+v(.5)+v(3))+2*v(0)+2*v(2.5))/4, StationarityNaive(&k, V, s, u, 2, 1, nil), 1e-14)
	require.InDelta(t, (2*v(1)-2*(v(2)+v(.5))+2*v(2.5))/2, StationarityNaive(&k, U, s, u, 2, 1, nil), 1e-14)

	r := rand.New(rand.NewPCG(1, 1))
	const n, dim, h = 7, 3, 1e-5
	s32, u32 := moves(r, n, dim, .3, 1)
	s, u = number.Widen(s32), number.Widen(u32)
	for _, stat := range []Statistic{V, U} {
		grad := make([]float64, n*dim)
		StationarityNaive(&k, stat, s, u, n, dim, grad)
		for i, x := range s {
			s[i] = x + h
			up := StationarityNaive(&k, stat, s, u, n, dim, nil)
			s[i] = x - h
			down := StationarityNaive(&k, stat, s, u, n, dim, nil)
			s[i] = x
			require.InDelta(t, (up-down)/(2*h), grad[i], 1e-9, "%v element %d", stat, i)
		}
	}
}

// TestStationarityDensityWeight compares weighted with unweighted gradients.
func TestStationarityDensityWeight(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	k := testKernels["one"]
	const n, dim, epsilon = 130, 2, 0.01
	s, u := moves(rand.New(rand.NewPCG(2, 2)), n, dim, .3, 1)
	plain, err := NewStationarity(n, dim, k, V, 0, workers)
	require.NoError(t, err)
	weighted, err := NewStationarity(n, dim, k, V, epsilon, workers)
	require.NoError(t, err)
	a, b := make([]float32, n*dim), make([]float32, n*dim)
	require.Equal(t, plain.LossGradient(s, u, a), weighted.LossGradient(s, u, b), "the loss has no weights")
	for i := range n {
		var density float64
		for j := range n {
			var xx, xy float64
			for c := range dim {
				xx += square(float64(s[i*dim+c] - s[j*dim+c]))
				xy += square(float64(s[i*dim+c] - u[j*dim+c]))
			}
			density += (k.Value(xx) + k.Value(xy)) / (2 * n * k.Value(0))
		}
		for c := range dim {
			want := float64(a[i*dim+c]) / math.Sqrt(density+epsilon)
			require.InDelta(t, want, float64(b[i*dim+c]), 1e-5*math.Abs(want)+1e-12)
		}
	}
}

func TestStationarityProperties(t *testing.T) {
	k := testKernels["paper"]
	const n, dim = 500, 2
	s, u := moves(rand.New(rand.NewPCG(3, 3)), n, dim, .3, 1)
	var want []float32
	var wantLoss float64
	for _, threads := range []int{1, 2, 3} {
		workers := pool.New(threads)
		m, err := NewStationarity(n, dim, k, U, 0.01, workers)
		require.NoError(t, err)
		grad := make([]float32, n*dim)
		loss := m.LossGradient(s, u, grad)
		if want == nil {
			want, wantLoss = grad, loss
		}
		require.Equal(t, want, grad, "%d threads", threads)
		require.Equal(t, wantLoss, loss)
		require.Zero(t, alloctest.PerRun(5, func() { m.LossGradient(s, u, grad) }))
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			for _, states := range [][]float32{s, u} {
				keep := states[777]
				states[777] = bad
				require.True(t, math.IsNaN(m.LossGradient(s, u, grad)))
				states[777] = keep
			}
		}
		require.Equal(t, wantLoss, m.LossGradient(s, u, grad))
		require.Panics(t, func() { m.LossGradient(s[1:], u, grad) })
		workers.Close()
	}
	_, err := NewStationarity(1, 2, k, U, 0, nil)
	require.ErrorContains(t, err, "batch size 1")
	_, err = NewStationarity(2, 0, k, U, 0, nil)
	require.ErrorContains(t, err, "coordinates: 0")
	_, err = NewStationarity(2, 2, Kernel{}, U, 0, nil)
	require.ErrorContains(t, err, "bandwidths")
}
