package stat

import (
	"fmt"
	"math"
)

// A ChainSummary is the mean of one number over several Markov chains of equal length, and how
// well they determine it.
type ChainSummary struct {
	Mean          float64 `json:"mean"`
	StandardError float64 `json:"standard_error"` // of the mean, with the draws' correlations
	Deviation     float64 `json:"deviation"`      // of single draws
	// Time is the integrated autocorrelation time 1 + 2 Σ ρ_t in draws: 1 for
	// independent ones.
	Time float64 `json:"autocorrelation_time"`
	// RHat is the potential scale reduction of halves of chains: near 1 where all halves of all
	// chains have the same law.
	RHat          float64 `json:"r_hat"`
	EffectiveSize float64 `json:"effective_size"` // draws of all chains, divided by Time
}

// Interleaved returns the draws of chains of equal length as Chains takes them.
func Interleaved(chains [][]float64) []float64 {
	var x []float64
	for t := range chains[0] {
		for _, draws := range chains {
			x = append(x, draws[t])
		}
	}
	return x
}

// Chains summarizes chains whose draw t of chain c is x[t·chains + c]. Each must have at least
// four draws.
//
// Chains are cut into halves, N draws of each of M. With W the mean variance
// within them, B/N the variance of their means and V = (N−1)/N·W + B/N,
//
//	R̂ = √(V/W),  ρ_t = 1 − (W − mean autocovariance at lag t)/V,
//
// and the sum of ρ_t ends, in pairs made decreasing, where a pair turns negative
// (Geyer's initial monotone sequence), as in Vehtari et al., Bayesian Analysis
// 16 (2021).
func Chains(x []float64, chains int) ChainSummary {
	if chains < 1 || len(x)%chains != 0 || len(x)/chains < 4 {
		panic(fmt.Sprintf("stat: %d draws of %d chains", len(x), chains))
	}
	n := len(x) / chains / 2 // draws of a half; an odd one in the middle is left out
	second := len(x)/chains - n
	halves := make([][]float64, 2*chains)
	means := make([]float64, len(halves))
	var mean Mean
	var within float64
	for h := range halves {
		half := make([]float64, n)
		for t := range half {
			half[t] = x[(t+h/chains*second)*chains+h%chains]
			means[h] += half[t]
		}
		means[h] /= float64(n)
		var squares float64
		for t, v := range half {
			half[t] = v - means[h]
			squares += half[t] * half[t]
		}
		within += squares / float64(max(1, n-1)) / float64(len(halves))
		halves[h] = half
		mean.Add(means[h])
	}
	between := mean.Deviation() * mean.Deviation()
	variance := float64(n-1)/float64(n)*within + between
	draws := float64(n * len(halves))
	s := ChainSummary{Mean: mean.Value(), Deviation: math.Sqrt(variance), Time: 1, RHat: 1, EffectiveSize: draws}
	if variance <= 1e-28*s.Mean*s.Mean || variance == 0 {
		s.Deviation = 0 // all variation is rounding
		return s
	}
	s.RHat = math.Sqrt(variance / within)
	correlation := func(lag int) float64 {
		var sum float64
		for _, half := range halves {
			for t, v := range half[lag:] {
				sum += v * half[t]
			}
		}
		return 1 - (within-sum/draws)/variance
	}
	time, last := -1.0, math.Inf(1)
	for lag := 0; lag+1 < n; lag += 2 {
		first := 1.0
		if lag > 0 {
			first = correlation(lag)
		}
		pair := first + correlation(lag+1)
		if pair < 0 {
			break
		}
		last = min(last, pair)
		time += 2 * last
	}
	// Antithetic draws may do better than independent ones, within reason.
	s.Time = max(time, 1/math.Log10(max(draws, 10)))
	s.EffectiveSize = draws / s.Time
	s.StandardError = s.Deviation / math.Sqrt(s.EffectiveSize)
	return s
}
