package stat

import (
	"math"
	"math/rand/v2"
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
	require.Panics(t, func() { Chains(x[:6], 2) })
}
