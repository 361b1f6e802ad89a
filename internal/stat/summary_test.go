package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// autoregressive draws stationary chains x' = a x + √(1−a²) z of variance 1, whose
// autocorrelation time is (1+a)/(1−a).
func autoregressive(chains, draws int, a float64) []float64 {
	r := rand.New(rand.NewPCG(1, uint64(1000*(a+1))))
	x := make([]float64, chains*draws)
	for i := range x {
		x[i] = r.NormFloat64()
		if i >= chains {
			x[i] = a*x[i-chains] + math.Sqrt(1-a*a)*x[i]
		}
	}
	return x
}

func TestChainsOfKnownTimes(t *testing.T) {
	for _, a := range []float64{0, 0.5, 0.9, 0.97, -0.5} {
		const chains, draws = 64, 4000
		s := Chains(autoregressive(chains, draws, a), chains)
		time := (1 + a) / (1 - a)
		require.InEpsilon(t, time, s.Time, 0.1, "a = %v", a)
		require.InDelta(t, 1, s.Deviation, 0.05)
		require.InDelta(t, 1, s.RHat, 0.03)
		require.InEpsilon(t, chains*draws/s.Time, s.EffectiveSize, 1e-12)
		require.InEpsilon(t, math.Sqrt(time/(chains*draws)), s.StandardError, 0.1)
		require.Less(t, math.Abs(s.Mean), 5*s.StandardError)
	}
}

// TestChainsApart: chains that do not meet are seen, and trends.
func TestChainsApart(t *testing.T) {
	const chains, draws = 8, 1001
	x := autoregressive(chains, draws, 0)
	apart, trend := append([]float64(nil), x...), append([]float64(nil), x...)
	for i := range x {
		apart[i] += float64(i % chains)
		trend[i] += 4 * float64(i/chains) / draws
	}
	require.Less(t, Chains(x, chains).RHat, 1.01)
	s := Chains(apart, chains)
	require.Greater(t, s.RHat, 2.0)
	require.Less(t, s.EffectiveSize, 20.0)
	require.Greater(t, Chains(trend, chains).RHat, 1.2)
}

func TestChainsThatDoNotVary(t *testing.T) {
	x := make([]float64, 40)
	for i := range x {
		x[i] = 0.1
	}
	s := Chains(x, 2)
	require.InDelta(t, 0.1, s.Mean, 1e-15)
	s.Mean = 0
	require.Equal(t, ChainSummary{Time: 1, RHat: 1, EffectiveSize: 40}, s)
	for i := range x {
		x[i] = float64(i % 2)
	}
	require.True(t, math.IsInf(Chains(x, 2).RHat, 1), "each stays where it is")
	require.NotPanics(t, func() { Chains(x[:8], 2) })
	for want, wrong := range map[string][2]int{"stat: 6 draws of 2 chains": {6, 2}, "stat: 9 draws of 2 chains": {9, 2}, "stat: 8 draws of 0 chains": {8, 0}, "stat: 8 draws of -1 chains": {8, -1}, "stat: 3 draws of 1 chains": {3, 1}} {
		require.PanicsWithValue(t, want, func() { Chains(x[:wrong[0]], wrong[1]) })
	}
}

// TestChainsByTheFormulas holds all of a summary against sums over draws as they are defined.
func TestChainsByTheFormulas(t *testing.T) {
	for _, c := range []struct {
		chains, draws int
		a             float64
	}{{1, 4, 0}, {2, 5, 0}, {3, 6, 0.5}, {1, 7, -0.5}, {3, 40, 0.8}, {2, 41, -0.9}, {4, 100, 0.9}} {
		x := autoregressive(c.chains, c.draws, c.a)
		n := c.draws / 2
		var halves [][]float64
		for chain := range c.chains {
			for _, first := range []int{0, c.draws - n} {
				var half []float64
				for i := range n {
					half = append(half, x[(first+i)*c.chains+chain])
				}
				halves = append(halves, half)
			}
		}
		m := float64(len(halves))
		average := func(x []float64) (sum float64) {
			for _, v := range x {
				sum += v
			}
			return sum / float64(len(x))
		}
		var means, within []float64
		covariance := make([]float64, n) // by lag, mean over halves
		for _, half := range halves {
			mean := average(half)
			for lag := range n {
				for i := lag; i < n; i++ {
					covariance[lag] += (half[i] - mean) * (half[i-lag] - mean) / float64(n) / m
				}
			}
			var squares float64
			for _, v := range half {
				squares += (v - mean) * (v - mean)
			}
			means, within = append(means, mean), append(within, squares/float64(n-1))
		}
		mean, w := average(means), average(within)
		variance := float64(n-1) / float64(n) * w
		for _, v := range means {
			variance += (v - mean) * (v - mean) / (m - 1)
		}
		rho := make([]float64, n)
		for lag := range rho {
			rho[lag] = 1 - (w-covariance[lag])/variance
		}
		rho[0] = 1
		var pairs []float64
		for lag := 1; lag < n; lag += 2 {
			if rho[lag-1]+rho[lag] < 0 {
				break
			}
			pairs = append(pairs, rho[lag-1]+rho[lag])
		}
		time := -1.0
		for i := range pairs {
			time += 2 * slices.Min(pairs[:i+1])
		}
		size := m * float64(n)
		time = max(time, 1/math.Log10(max(size, 10)))
		got := Chains(x, c.chains)
		for name, v := range map[string][2]float64{
			"mean": {mean, got.Mean}, "deviation": {math.Sqrt(variance), got.Deviation}, "time": {time, got.Time}, "R̂": {math.Sqrt(variance / w), got.RHat},
			"size": {size / time, got.EffectiveSize}, "error": {math.Sqrt(variance * time / size), got.StandardError},
		} {
			require.InEpsilon(t, v[0], v[1], 1e-10, "%s of %v", name, c)
		}
	}
	for draws, chains := range map[int]int{3: 1, 7: 2, 6: 2, 8: 0, 0: 1} {
		require.PanicsWithValue(t, fmt.Sprintf("stat: %d draws of %d chains", draws, chains), func() { Chains(make([]float64, draws), chains) })
	}
}

// TestColumns: each number of several has the summary that it would have alone, with the R̂ and
// the smaller effective size that its ranks tell.
func TestColumns(t *testing.T) {
	x := autoregressive(6, 50, 0.7) // two chains of three numbers
	for i := range x {
		x[i] = math.Pow(x[i], float64(1+2*(i%3)))
	}
	for j, got := range Columns(x, 2, 3) {
		var one []float64
		for i := j; i < len(x); i += 3 {
			one = append(one, x[i])
		}
		want, ranks := Chains(one, 2), RankChains(one, 2)
		want.RHat, want.EffectiveSize = ranks.RHat, min(want.EffectiveSize, ranks.EffectiveSize)
		require.Equal(t, want, got)
	}
}
