package mmd

import "fmt"

// StationarityNaive returns the loss of Stationarity and sets grad to its
// gradient, without density weights, by the plain double sum over ordered pairs
// in float64: the oracle of verification. s, t and grad are row-major [n][dim];
// grad may be nil.
func StationarityNaive(k *Kernel, stat Statistic, s, t []float64, n, dim int, grad []float64) float64 {
	if len(s) != n*dim || len(t) != n*dim || grad != nil && len(grad) != n*dim {
		panic(fmt.Sprintf("mmd: %d states of dimension %d in slices of length %d, %d and %d", n, dim, len(s), len(t), len(grad)))
	}
	clear(grad)
	norm := pairNorm(stat, n)
	distance := func(a, b []float64) (sum float64) {
		for c := range a {
			sum += square(a[c] - b[c])
		}
		return sum
	}
	var loss float64
	for i := range n {
		ai, bi := s[i*dim:][:dim], t[i*dim:][:dim]
		for j := range n {
			if stat == U && i == j {
				continue
			}
			aj, bj := s[j*dim:][:dim], t[j*dim:][:dim]
			xx, xy := distance(ai, aj), distance(ai, bj)
			loss += norm * (k.Value(xx) - 2*k.Value(xy) + k.Value(distance(bi, bj)))
			if grad == nil {
				continue
			}
			p, q := k.Derivative(xx), k.Derivative(xy)
			for c := range dim {
				grad[i*dim+c] += 4 * norm * (p*(ai[c]-aj[c]) - q*(ai[c]-bj[c]))
			}
		}
	}
	return loss
}
