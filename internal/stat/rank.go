package stat

import (
	"cmp"
	"math"
	"slices"
)

// RankNormal replaces the numbers by the normal scores Φ⁻¹((r − 3/8)/(n + 1/4)) of
// their ranks r, equal numbers by that of their mean rank. What chains tell by these
// does not need a variance.
func RankNormal(x []float64) []float64 {
	type ranked struct {
		x float64
		i int
	}
	n := len(x)
	order, z := make([]ranked, n), make([]float64, n)
	for i, v := range x {
		order[i] = ranked{v, i}
	}
	slices.SortFunc(order, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.x, b.x), a.i-b.i) })
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && order[hi].x == order[lo].x {
			hi++
		}
		rank := float64(lo+1+hi) / 2
		score := NormalQuantile((rank - 0.375) / (float64(n) + 0.25))
		for _, r := range order[lo:hi] {
			z[r.i] = score
		}
		lo = hi
	}
	return z
}

// NormalQuantile returns Φ⁻¹(u).
func NormalQuantile(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }

// RankChains is Chains of the normal scores of ranks. Its RHat is the larger of that
// and of the scores of distances from the median, which sees chains that differ in
// their spread alone (Vehtari et al., Bayesian Analysis 16 (2021)); its EffectiveSize
// is their bulk ESS.
func RankChains(x []float64, chains int) ChainSummary {
	s := Chains(RankNormal(x), chains)
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	folded := make([]float64, n)
	for i, v := range x {
		folded[i] = math.Abs(v - median)
	}
	s.RHat = max(s.RHat, Chains(RankNormal(folded), chains).RHat)
	return s
}

// Columns summarizes chains of several numbers each, number j of chain c's draw t at
// x[(t·chains + c)·columns + j]: means as Chains, with the R̂ of RankChains and the
// smaller of the two effective sizes.
func Columns(x []float64, chains, columns int) []ChainSummary {
	all, one := make([]ChainSummary, columns), make([]float64, len(x)/columns)
	for j := range all {
		for i := range one {
			one[i] = x[i*columns+j]
		}
		ranks := RankChains(one, chains)
		all[j] = Chains(one, chains)
		all[j].RHat, all[j].EffectiveSize = ranks.RHat, min(all[j].EffectiveSize, ranks.EffectiveSize)
	}
	return all
}
