package stat

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// congruential returns numbers in (0, 1) that any program can make: those of
// x′ = 1103515245 x + 12345 modulo 2³¹.
func congruential(n int, seed uint64) []float64 {
	x := make([]float64, n)
	for i := range x {
		seed = (seed*1103515245 + 12345) % (1 << 31)
		x[i] = (float64(seed) + 0.5) / (1 << 31)
	}
	return x
}

// TestAscending: the order is that of a sort by comparison, but for ties.
func TestAscending(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), -math.SmallestNonzeroFloat64, math.MaxFloat64, 1, 1, -1}
	for i, u := range congruential(1000, 7) {
		x = append(x, (u-0.5)*math.Pow(10, float64(i%40-20)), math.Floor(5*u))
	}
	got := make([]float64, len(x))
	for i, at := range ascending(x) {
		got[i] = x[at]
	}
	places := slices.Sorted(slices.Values(ascending(x)))
	require.Equal(t, len(x)-1, places[len(places)-1])
	require.Len(t, slices.Compact(places), len(x))
	want := slices.Sorted(slices.Values(x))
	for i, v := range want {
		require.True(t, v == got[i] || math.IsNaN(v) && math.IsNaN(got[i]), "%d: %v, not %v", i, got[i], v)
	}
	require.Empty(t, ascending(nil))
}

func TestNormalScores(t *testing.T) {
	x := []float64{7, -1, 7, math.Inf(-1), 100}
	z := normalScores(x, ascending(x))
	q := func(rank float64) float64 { return NormalQuantile((rank - 0.375) / 5.25) }
	require.InDeltaSlice(t, []float64{q(3.5), q(2), q(3.5), q(1), q(5)}, z, 1e-15)
	require.InDelta(t, 1.959963984540054, NormalQuantile(0.975), 1e-12)
}

// TestRankChains holds R̂ against values by the formulas of Vehtari et al. (2021) as
// ArviZ has them, computed by another program: of four chains of 50 draws, alike,
// displaced, of different spread, without a variance, and with ties.
func TestRankChains(t *testing.T) {
	u := congruential(200, 3)
	for name, c := range map[string]struct {
		of   func(u float64, chain int) float64
		want float64
	}{
		"alike":     {func(u float64, _ int) float64 { return u }, 1.0091075954371742},
		"displaced": {func(u float64, c int) float64 { return u + 0.3*float64(c) }, 1.6595057601351364},
		"spread":    {func(u float64, c int) float64 { return (u - 0.5) * float64(1+c) }, 1.1637139712928233},
		"Cauchy":    {func(u float64, _ int) float64 { return math.Tan(math.Pi * (u - 0.5)) }, 1.0091075954371742},
		"ties":      {func(u float64, c int) float64 { return math.Floor(4*u) + float64(c%2) }, 1.1592067618731388},
	} {
		x := make([]float64, len(u))
		for i, v := range u {
			x[i] = c.of(v, i%4)
		}
		require.InDelta(t, c.want, RankChains(x, 4).RHat, 1e-10, name)
	}
}

// TestParetoK holds k̂ against values by the formulas of PSIS, computed by another
// program, and against the shape of laws that are Pareto's.
func TestParetoK(t *testing.T) {
	logs := func(n int, seed uint64, k float64) []float64 {
		x := congruential(n, seed)
		for i, u := range x {
			x[i] = 3 - k*math.Log(u) // a constant factor of weights changes nothing
		}
		return x
	}
	for k, want := range map[float64]float64{0.3: 0.17359821341324605, 0.7: 0.545236111993564, 1.2: 1.016036212050045} {
		got, _ := ParetoK(logs(1000, 7, k))
		require.InDelta(t, want, got, 1e-9)
		// The fit's error is about (1+k)/√m of m = 3√n weights; more than 5 of these
		// have a probability below 1e-6.
		const n = 200_000
		got, _ = ParetoK(logs(n, 11, k))
		require.InDelta(t, k, got, 5.5*(1+k)/math.Sqrt(3*math.Sqrt(n)))
	}
	k, share := ParetoK(make([]float64, 1000))
	require.True(t, math.IsInf(k, -1) && share == 0, "equal weights")
	require.Equal(t, "none (equal weights)", ShapeText(k))
	require.Equal(t, "0.50", ShapeText(0.5))
	k, _ = ParetoK(make([]float64, 20))
	require.True(t, math.IsNaN(k), "too few")
	few := congruential(1000, 1)
	for i := range few {
		few[i] = math.Inf(-1)
	}
	few[3], few[4] = 1, 2
	k, share = ParetoK(few)
	require.True(t, math.IsNaN(k), "two weights of a thousand")
	require.InDelta(t, 1, share, 1e-12)
	// The 95 largest of 1, 2, …, 1000 exceed the next by 1 to 95.
	for i := range few {
		few[i] = math.Log(float64(i + 1))
	}
	_, share = ParetoK(few)
	require.InDelta(t, 95*96./(1000*1001), share, 1e-12)
}

// TestTailsOfWeights: the tail is a fifth of few weights and 3√n of many, and what is no more
// than the next weight, or than it by rounding, is not in it.
func TestTailsOfWeights(t *testing.T) {
	for n, tail := range map[int]float64{21: 5, 100: 20, 220: 44, 224: 45, 225: 45, 230: 46, 1000: 95} {
		x := make([]float64, n)
		for i := range x {
			x[i] = 700 + math.Log(float64(i+1))
		}
		k, share := ParetoK(x)
		require.False(t, math.IsNaN(k), n)
		require.InDelta(t, tail*(tail+1)/float64(n*(n+1)), share, 1e-12, n)
	}
	for n := range 21 {
		k, share := ParetoK(congruential(n, 1))
		require.True(t, math.IsNaN(k) && math.IsNaN(share), n)
	}
	for larger, known := range map[int]bool{0: true, 4: false, 5: true, 30: true} {
		x := make([]float64, 1000)
		for i := range larger {
			x[i] = 1 + float64(i)
		}
		k, _ := ParetoK(x)
		require.Equal(t, known, !math.IsNaN(k), larger)
	}
	for by, varies := range map[float64]bool{9e-13: false, 1.2e-12: true} {
		x := make([]float64, 1000)
		for i := range 10 {
			x[i] = by
		}
		k, _ := ParetoK(x)
		require.Equal(t, varies, !math.IsInf(k, -1), by)
	}
	require.Equal(t, "unknown", ShapeText(math.NaN()))
}

// TestParetoShape holds the fit against the formulas of Zhang and Stephens, written anew.
func TestParetoShape(t *testing.T) {
	for _, n := range []int{5, 6, 9, 30, 121} {
		x := slices.Sorted(slices.Values(congruential(n, uint64(n))))
		quartile := x[(n+2)/4-1]
		m := 30 + math.Floor(math.Sqrt(float64(n)))
		shape := func(theta float64) (sum float64) {
			for _, v := range x {
				sum += math.Log(1-theta*v) / float64(n)
			}
			return sum
		}
		var thetas, weights []float64
		for j := 1.0; j <= m; j++ {
			thetas = append(thetas, 1/x[n-1]+(1-math.Sqrt(m/(j-0.5)))/3/quartile)
		}
		like := func(theta float64) float64 {
			k := shape(theta)
			return float64(n) * (math.Log(-theta/k) - k - 1)
		}
		var mean float64
		for _, a := range thetas {
			var inverse float64
			for _, b := range thetas {
				inverse += math.Exp(like(b) - like(a))
			}
			weights = append(weights, 1/inverse)
		}
		for i, w := range weights {
			mean += w * thetas[i]
		}
		require.InDelta(t, (float64(n)*shape(mean)+5)/(float64(n)+10), paretoShape(x), 1e-10, n)
	}
}
