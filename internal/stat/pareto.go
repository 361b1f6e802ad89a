package stat

import (
	"fmt"
	"math"
	"slices"
)

// ParetoK returns the shape k̂ of the generalized Pareto law that fits the largest of
// the importance weights whose logarithms are given: their moments of order 1/k̂ and
// above do not exist. Below 0.7 means by the weights can be used; above, they need
// more samples than anybody has (Vehtari et al., Pareto smoothed importance sampling,
// JMLR 25 (2024)). It is −Inf where the largest do not vary, as the exact density's,
// and NaN where fewer than 5 are above the others. share is what those largest have
// above the next one, of the sum of all weights.
func ParetoK(logWeights []float64) (k, share float64) {
	sorted := slices.Sorted(slices.Values(logWeights))
	n := len(sorted)
	tail := TailSize(n)
	if tail < 5 {
		return math.NaN(), math.NaN()
	}
	// Weights relative to the largest, so that none overflows.
	top := sorted[n-1]
	cutoff := max(sorted[n-tail-1]-top, math.Log(math.SmallestNonzeroFloat64))
	var excess []float64
	for _, l := range sorted[n-tail:] {
		if e := math.Exp(l-top) - math.Exp(cutoff); e > 0 {
			excess = append(excess, e)
		}
	}
	sum := 0.0
	for _, l := range sorted {
		sum += math.Exp(l - top)
	}
	for _, e := range excess {
		share += e / sum
	}
	switch {
	case len(excess) == 0 || excess[len(excess)-1] < 1e-12:
		return math.Inf(-1), share
	case len(excess) < 5:
		return math.NaN(), share
	}
	return paretoShape(excess), share
}

// TailSize returns how many of n weights are the largest, whose law tells of the tail.
func TailSize(n int) int {
	return int(math.Ceil(min(0.2*float64(n), 3*math.Sqrt(float64(n)))))
}

// ShapeText writes a shape for people: weights that do not vary have no tail.
func ShapeText(k float64) string {
	switch {
	case math.IsNaN(k):
		return "unknown"
	case math.IsInf(k, -1):
		return "none (equal weights)"
	}
	return fmt.Sprintf("%.2f", k)
}

// paretoShape fits the generalized Pareto law to sorted positive numbers by the
// profile posterior mean of Zhang and Stephens, Technometrics 51 (2009), drawn towards
// ½ by ten observations' worth as in the paper above.
func paretoShape(x []float64) float64 {
	const priorScale, priorWeight = 3, 10
	n := float64(len(x))
	quartile := x[int(n/4+0.5)-1]
	m := 30 + int(math.Sqrt(n))
	theta, profile := make([]float64, m), make([]float64, m)
	shape := func(theta float64) (k float64) {
		for _, v := range x {
			k += math.Log1p(-theta*v) / n
		}
		return k
	}
	highest := math.Inf(-1)
	for i := range theta {
		theta[i] = 1/x[len(x)-1] + (1-math.Sqrt(float64(m)/(float64(i)+0.5)))/(priorScale*quartile)
		k := shape(theta[i])
		profile[i] = n * (math.Log(-theta[i]/k) - k - 1)
		highest = max(highest, profile[i])
	}
	var sum, mean float64
	for i, l := range profile {
		w := math.Exp(l - highest)
		sum += w
		mean += w * theta[i]
	}
	return (n*shape(mean/sum) + priorWeight*0.5) / (n + priorWeight)
}
