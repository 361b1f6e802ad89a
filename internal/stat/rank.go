package stat

import "math"

// ascending returns the places of the numbers, from the smallest number to the largest, NaN
// first: a radix sort by bytes, since chains are long.
func ascending(x []float64) []int {
	type keyed struct {
		key   uint64
		place int
	}
	from, to := make([]keyed, len(x)), make([]keyed, len(x))
	var ends [8][256]int // by byte and its value, how many keys have it
	for i, v := range x {
		var key uint64
		if !math.IsNaN(v) {
			key = math.Float64bits(v)
			key ^= uint64(int64(key)>>63) | 1<<63
		}
		from[i] = keyed{key, i}
		for b := range ends {
			ends[b][byte(key>>(8*b))]++
		}
	}
	for b := range ends {
		next := 0
		for v, count := range ends[b] {
			ends[b][v], next = next, next+count
		}
		for _, k := range from {
			at := &ends[b][byte(k.key>>(8*b))]
			to[*at] = k
			*at++
		}
		from, to = to, from
	}
	places := make([]int, len(x))
	for i, k := range from {
		places[i] = k.place
	}
	return places
}

// normalScores replaces the numbers, in an order that is ascending, by the normal scores
// Φ⁻¹((r − 3/8)/(n + 1/4)) of their ranks r, equal numbers by that of their mean rank. What
// chains tell by these does not need a variance.
func normalScores(x []float64, order []int) []float64 {
	n := len(x)
	z := make([]float64, n)
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && x[order[hi]] == x[order[lo]] {
			hi++
		}
		rank := float64(lo+1+hi) / 2
		score := NormalQuantile((rank - 0.375) / (float64(n) + 0.25))
		for _, i := range order[lo:hi] {
			z[i] = score
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
	order, n := ascending(x), len(x)
	s := Chains(normalScores(x, order), chains)
	median := (x[order[(n-1)/2]] + x[order[n/2]]) / 2
	folded := make([]float64, n)
	for i, v := range x {
		folded[i] = math.Abs(v - median)
	}
	s.RHat = max(s.RHat, Chains(normalScores(folded, ascending(folded)), chains).RHat)
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
