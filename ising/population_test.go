package ising

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/number"
)

// TestPopulationOfABatch holds the population limit, applied to the empirical
// law of a batch, against the V-statistic and N times its surrogate gradient.
func TestPopulationOfABatch(t *testing.T) {
	const n, sites = 40, 4
	r := rand.New(rand.NewPCG(1, 2))
	s, next := make([]uint64, n), make([]uint64, n)
	d := make([]float64, 1<<(2*sites))
	for i := range n {
		s[i], next[i] = r.Uint64N(16), r.Uint64N(16)
		d[s[i]<<sites|next[i]] += 1.0 / n
		d[next[i]<<sites|s[i]] -= 1.0 / n
	}
	p := newPopulation(sites, compositeKernel)
	want, gradient := mmd.HammingNaive(s, next, n, sites, compositeKernel, mmd.Surrogate, mmd.V)
	require.InEpsilon(t, want, p.loss(d), 1e-12)
	for site := range sites {
		g := p.gradient(d, site)
		for i := range n {
			require.InDelta(t, n*gradient[i*sites+site], g[s[i]<<sites|next[i]], 1e-13)
		}
	}
}

func TestLossFormAgreesWithTransform(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []mmd.Kernel{verifiedKernel, {Bandwidths: []float64{1, 3}, Weights: []float64{2, 0.5}}} {
		m := mustMatrix(t, mustTarget(t, 2, 1, 0.1, 0.3), "multi-spin")
		q, p := lossForm(m, &k), newPopulation(4, k)
		for range 10 {
			law := make([]float64, m.States)
			var sum float64
			for s := range law {
				law[s] = r.ExpFloat64()
				sum += law[s]
			}
			for s := range law {
				law[s] /= sum
			}
			x := mat.NewVecDense(m.States, law)
			require.InEpsilon(t, p.loss(asymmetry(law, m)), mat.Inner(x, q, x), 1e-10)
		}
	}
}

// TestEigenvaluesOfAGaussian compares with the closed form (1+r)^(n−w) (1−r)^w,
// r = exp(−2/σ²), of a kernel that factorises over bits.
func TestEigenvaluesOfAGaussian(t *testing.T) {
	k := mmd.Kernel{Bandwidths: []float64{1.3}}
	r := k.Value(4)
	for x, lambda := range eigenvalues(18, k.Value) {
		w := bits.OnesCount(uint(x))
		require.InEpsilon(t, math.Pow(1+r, float64(18-w))*math.Pow(1-r, float64(w)), lambda, 1e-9)
	}
}

func TestWalshHadamardIsItsOwnInverse(t *testing.T) {
	x := []float64{1, -2, 3, 0.5, 0, 7, -1, 2}
	y := append([]float64(nil), x...)
	number.WalshHadamard(y)
	require.Equal(t, []float64{10.5, -4.5}, []float64{y[0], y[1]})
	number.WalshHadamard(y)
	for i := range x {
		require.Equal(t, 8*x[i], y[i])
	}
}
