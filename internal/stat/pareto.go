package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// ParetoK is ParetoTail of the importance weights whose logarithms are given. Below 0.7 means by
// the weights can be used; above, they need more samples than anybody has (Vehtari et al., Pareto
// smoothed importance sampling, JMLR 25 (2024)).
func ParetoK(logWeights []float64) (k, share float64) {
	top := math.Inf(-1)
	for _, l := range logWeights {
		if l > top { // unlike max, which keeps NaN
			top = l
		}
	}
	weights := make([]float64, len(logWeights))
	for i, l := range logWeights {
		weights[i] = math.Exp(l - top) // so that none overflows
	}
	return ParetoTail(weights)
}

// ParetoTail returns the shape k̂ of the generalized Pareto law that fits the largest of some
// numbers ≥ 0: their moments of order 1/k̂ and above do not exist. It is −Inf where the largest do
// not vary, and NaN where fewer than 5 stand above the others. share is the sum of how far the
// largest are above the next one, divided by the sum of all numbers.
func ParetoTail(values []float64) (k, share float64) {
	const minTail = 5
	tail := TailSize(len(values))
	if tail < minTail {
		return math.NaN(), math.NaN()
	}
	sorted := Largest(values, tail+1)
	top := sorted[tail]
	var excess []float64
	for _, v := range sorted[1:] {
		if e := v/top - sorted[0]/top; e > 0 {
			excess = append(excess, e)
		}
	}
	sum := 0.0
	for _, v := range values {
		sum += v / top
	}
	for _, e := range excess {
		share += e / sum
	}
	switch {
	case len(excess) == 0 || excess[len(excess)-1] < 1e-12:
		return math.Inf(-1), share
	case len(excess) < minTail:
		return math.NaN(), share
	}
	return paretoShape(excess), share
}

// TailSize returns how many of n weights make up the tail that ParetoTail fits.
func TailSize(n int) int {
	return int(math.Ceil(min(0.2*float64(n), 3*math.Sqrt(float64(n)))))
}

// Largest returns the n ≥ 1 largest of at least n values, in ascending order. NaN is less than any
// number.
func Largest(values []float64, n int) []float64 {
	heap := slices.Sorted(slices.Values(values[:n])) // the least is first
	for _, v := range values[n:] {
		if !cmp.Less(heap[0], v) {
			continue
		}
		i := 0
		for c := 1; c < n; c = 2*i + 1 {
			if c+1 < n && cmp.Less(heap[c+1], heap[c]) {
				c++
			}
			if !cmp.Less(heap[c], v) {
				break
			}
			heap[i], i = heap[c], c
		}
		heap[i] = v
	}
	slices.Sort(heap)
	return heap
}

// ShapeText writes Pareto's k̂ for people. Weights that do not vary have none.
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
// ½ with the weight of ten observations, as Vehtari et al. do.
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
