package bench

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// confidence is the coverage of every interval in a report.
const confidence = 0.95

// medianInterval returns the confidence interval of the median by order statistics, which
// holds for any distribution. With fewer than six values there is none of 95 %, and the
// extremes are returned.
func medianInterval(x []float64) [2]float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n == 0 {
		return [2]float64{math.NaN(), math.NaN()}
	}
	// (s[k], s[n−1−k]) misses when at most k values fall on one side.
	k, below := 0, distuv.Binomial{N: float64(n), P: 0.5}
	for k+1 < n/2 && 2*below.CDF(float64(k+1)) <= 1-confidence {
		k++
	}
	return [2]float64{s[k], s[n-1-k]}
}

// ratioInterval returns a confidence interval for the factor by which b is larger than a,
// whose distributions have the same shape on a logarithmic scale. It is the Hodges–Lehmann
// interval, by the exact distribution of the Mann–Whitney statistic. ok is false if there
// are too few values for the confidence; the interval is then the widest that they allow.
func ratioInterval(a, b []float64) (interval [2]float64, ok bool) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return [2]float64{math.NaN(), math.NaN()}, false
	}
	ratios := make([]float64, 0, n*m)
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, y/x)
		}
	}
	slices.Sort(ratios)
	// k is the largest with P(U ≤ k) of at most half of 1 − confidence.
	probabilities := mannWhitney(n, m)
	k, tail := -1, 0.0
	for u, p := range probabilities {
		if tail += p; 2*tail > 1-confidence {
			break
		}
		k = u
	}
	if k < 0 {
		return [2]float64{ratios[0], ratios[len(ratios)-1]}, false
	}
	return [2]float64{ratios[k], ratios[len(ratios)-1-k]}, true
}

// mannWhitney returns the probabilities of the statistic U = 0 … n·m for two
// samples from the same continuous distribution.
func mannWhitney(n, m int) []float64 {
	// p[j][u] is the probability of U = u for i values of the one and j of the other sample.
	// The recursion is over the sample that the largest of all i+j values belongs to.
	p := make([][]float64, m+1)
	for j := range p {
		p[j] = []float64{1}
	}
	for i := 1; i <= n; i++ {
		next := make([][]float64, m+1)
		next[0] = []float64{1}
		for j := 1; j <= m; j++ {
			q := make([]float64, i*j+1)
			for u, x := range p[j] { // the one has the largest, which exceeds all j
				q[u+j] += x * float64(i) / float64(i+j)
			}
			for u, x := range next[j-1] {
				q[u] += x * float64(j) / float64(i+j)
			}
			next[j] = q
		}
		p = next
	}
	return p[m]
}
