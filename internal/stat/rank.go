package stat

import (
	"math"

	"github.com/revgen/revgen/internal/lists"
)

// ascending returns the indices of x in the order of its numbers, NaN first. It is a radix sort by
// bytes, since chains are long.
func ascending(x []float64) []int {
	type keyed struct {
		key   uint64
		index int
	}
	from, to := make([]keyed, len(x)), make([]keyed, len(x))
	var next [8][256]int // by byte and its value: how many keys have it, then where the next goes
	for i, v := range x {
		var key uint64
		if !math.IsNaN(v) {
			key = math.Float64bits(v)
			key ^= uint64(int64(key)>>63) | 1<<63
		}
		from[i] = keyed{key, i}
		for b := range next {
			next[b][byte(key>>(8*b))]++
		}
	}
	for b := range next {
		first := 0
		for v, count := range next[b] {
			next[b][v], first = first, first+count
		}
		for _, k := range from {
			at := &next[b][byte(k.key>>(8*b))]
			to[*at] = k
			*at++
		}
		from, to = to, from
	}
	order := make([]int, len(x))
	for i, k := range from {
		order[i] = k.index
	}
	return order
}

// normalScores returns the normal scores Φ⁻¹((r − 3/8)/(n + 1/4)) of the numbers' ranks r. Equal
// numbers share their mean rank. order is ascending(x). Scores have a finite variance
// whatever the law of the numbers.
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

// RankChains is Chains of the normal scores of ranks, as in Vehtari et al., Bayesian Analysis 16
// (2021). RHat is the larger of that of the numbers and that of their distances from the median,
// which sees chains that differ in their spread alone. EffectiveSize is the bulk ESS.
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

// Columns summarizes several numbers of chains. Number j of chain c's draw t is at
// x[(t·chains + c)·columns + j]. Means are those of Chains, R̂ is that of RankChains, and the
// effective size is the smaller of the two.
func Columns(x []float64, chains, columns int) []ChainSummary {
	all := make([]ChainSummary, columns)
	for j := range all {
		column := lists.Column(x, j, columns)
		ranks := RankChains(column, chains)
		all[j] = Chains(column, chains)
		all[j].RHat, all[j].EffectiveSize = ranks.RHat, min(all[j].EffectiveSize, ranks.EffectiveSize)
	}
	return all
}
