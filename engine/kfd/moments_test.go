package kfd

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// TestSolveInverts compares the solution of random systems of all sizes around
// the blocks with the matrix they came from.
func TestSolveInverts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 7, 8, 9, 63, 64, 65, 130, 200} {
		f := newFactorisation(n, pool.New(1))
		a := make([]float64, n*n)
		b := make([]float64, 2*n*n)
		for i := range b {
			b[i] = r.NormFloat64()
		}
		for i := range n {
			for j := range n {
				for k := range 2 * n {
					a[i*n+j] += b[i*2*n+k] * b[j*2*n+k] / float64(2*n)
				}
				f.u[i*n+j] = float32(a[i*n+j])
			}
		}
		require.True(t, f.factor())
		var want, rhs [2][]float64
		var x [2][]float32
		for k := range 2 {
			want[k], rhs[k], x[k] = make([]float64, n), make([]float64, n), make([]float32, n)
			for i := range n {
				want[k][i] = r.NormFloat64()
			}
			for i := range n {
				for j := range n {
					rhs[k][i] += a[i*n+j] * want[k][j]
				}
			}
		}
		f.solve(x[0], x[1], rhs[0], rhs[1])
		for k := range 2 {
			for i := range n {
				require.InDelta(t, want[k][i], x[k][i], 2e-4, "order %d", n)
			}
		}
	}
	f := newFactorisation(2, pool.New(1))
	copy(f.u, []float32{1, 2, 2, 1})
	require.False(t, f.factor(), "an indefinite matrix is refused")
}

func BenchmarkFactor512(b *testing.B) {
	const n = 512
	f := newFactorisation(n, pool.New(1))
	a := make([]float32, n*n)
	for i := range n {
		a[i*n+i] = 2 + float32(i)/n
		for j := range i {
			a[i*n+j], a[j*n+i] = 0.01, 0.01
		}
	}
	for b.Loop() {
		copy(f.u, a)
		if !f.factor() {
			b.Fatal("not positive definite")
		}
	}
}

func TestUpdateAverages(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	m := newMoments(2, &Config{Ridge: 1e-6, Memory: 0.9, Every: 2}, workers)
	for step := range 4 {
		copy(m.batch, []float32{1 + float32(step), 0, 0, 1})
		require.Equal(t, step%2 == 0, m.stale())
		require.True(t, m.update())
	}
	// The first batch counts fully, the third by 1 − 1/6.
	require.InDelta(t, 1+2*5.0/6, m.second[0], 1e-6)
	require.Equal(t, []float64{4}, m.taken)
	c := [2][]float32{make([]float32, 2), make([]float32, 2)}
	m.solve(&c, &[2][]float64{{1, 1}, {0, 3}})
	require.InDelta(t, 2/(1+2*5.0/6), c[1][0], 1e-5, "the other half's")
	require.InDelta(t, 2, c[1][1], 1e-5)
	require.InDelta(t, 0, c[0][0], 1e-5)
	require.InDelta(t, 6, c[0][1], 1e-5)
}

// TestWeightFallsToTheMemory: a batch counts fully at first, and in the end by
// 1 − memory, by factorisations rather than by steps.
func TestWeightFallsToTheMemory(t *testing.T) {
	m := newMoments(1, &Config{Ridge: 1, Memory: 0.9, Every: 10}, pool.New(1))
	require.EqualValues(t, 1, m.weight())
	for taken, want := range map[float64]float64{10: 5.0 / 6, 450: 0.1, 1000: 0.1, 1e9: 0.1} {
		m.taken[0] = taken
		require.InDelta(t, want, m.weight(), 1e-7)
	}
}
