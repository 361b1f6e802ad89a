package mmd

import "fmt"

// Naive returns the loss and sets grad to its surrogate gradient by the plain
// double sum over ordered pairs in float64, from the definition in the
// package's doc comment: the oracle of verification. s, t and grad are
// row-major [n][dim]; grad may be nil.
func Naive(k *Kernel, stat Statistic, s, t []float64, n, dim int, grad []float64) float64 {
	if len(s) != n*dim || len(t) != n*dim || grad != nil && len(grad) != n*dim {
		panic(fmt.Sprintf("mmd: %d pairs of dimension %d in slices of length %d, %d and %d", n, dim, len(s), len(t), len(grad)))
	}
	clear(grad)
	norm := pairNorm(stat, n)
	var loss float64
	for i := range n {
		ai, bi := s[i*dim:][:dim], t[i*dim:][:dim]
		for j := range n {
			if stat == U && i == j {
				continue
			}
			aj, bj := s[j*dim:][:dim], t[j*dim:][:dim]
			var xx, xy float64
			for c := range dim {
				xx += square(ai[c]-aj[c]) + square(bi[c]-bj[c])
				xy += square(ai[c]-bj[c]) + square(bi[c]-aj[c])
			}
			loss += 2 * norm * (k.Value(xx) - k.Value(xy))
			if grad == nil {
				continue
			}
			p, q := k.Derivative(xx), k.Derivative(xy)
			for c := range dim {
				grad[i*dim+c] += 8 * norm * (p*(ai[c]-aj[c]) - q*(ai[c]-bj[c]))
			}
		}
	}
	return loss
}

func square(x float64) float64 { return x * x }

// pairNorm returns one over the number of ordered pairs in the statistic.
func pairNorm(stat Statistic, n int) float64 {
	if stat == U {
		return 1 / (float64(n) * float64(n-1))
	}
	return 1 / (float64(n) * float64(n))
}
